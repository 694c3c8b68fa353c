"""`securefair profile head`: what an exchange costs on this machine."""

from __future__ import annotations

from securefair.circuit.spec import ExchangeSpec
from securefair.config import defaults
from securefair.profiling.options import (
    DeviceOption,
    EngineOption,
    JsonOption,
    RepeatsOption,
    ThreadsOption,
    WarmOption,
    asking_for_spec,
)
from securefair.report.telling import say_json


@asking_for_spec
def head(
    spec: ExchangeSpec,
    backend: EngineOption = defaults.BACKEND,
    device: DeviceOption = defaults.PROCESSOR,
    threads: ThreadsOption = None,
    repeats: RepeatsOption = 5,
    warm: WarmOption = False,
    json: JsonOption = False,
) -> None:
    """One exchange from samples to opened answer: times, bytes, error, distance to the limits.

    Example: securefair profile head --features 512 --hidden 64 --classes 10 --release logits
    """
    from securefair.profiling.head import profile_head
    from securefair.profiling.tables import profile_table
    from securefair.report.screen import Screen

    measured = profile_head(
        spec, backend=backend, device=device, threads=threads, repeats=repeats, warm=warm
    )
    if json:
        say_json(measured)
    else:
        Screen().print(profile_table(measured))
