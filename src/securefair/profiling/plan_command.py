"""`securefair plan`: what an exchange will look like, before anything is encrypted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.circuit.spec import ExchangeSpec
from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.profiling.options import JsonOption, asking_for_spec
from securefair.report.telling import say_json


@asking_for_spec
def plan(
    spec: ExchangeSpec,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Prices of `profile scale --out` (with securefair-lab); estimates a collaboration."
        ),
    ] = None,
    participants: Annotated[int, typer.Option(help="Of the collaboration to estimate.")] = 4,
    rounds: Annotated[int, typer.Option(help="Of the collaboration to estimate.")] = (
        defaults.ROUNDS
    ),
    forced_every: Annotated[
        int, typer.Option(help="Rounds between scorings.")
    ] = defaults.FORCED_EVERY,
    sharing: Annotated[
        float, typer.Option(help="Mean reputation; 1: everyone always answers.")
    ] = 1.0,
    estimate_security: Annotated[
        bool,
        typer.Option("--estimate", help="Bits of security by two cost models of lattice attacks."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Choose parameters for an exchange: ring, primes, scales, keys, bytes, work, error bound.

    Nothing is encrypted or measured. A spec that cannot be granted ends with the reason, and with
    what could be. With a cost model of this machine, the plan comes with what a whole collaboration
    of such exchanges costs a hospital: hours, bytes and memory.

    --estimate adds what the best-known kind of attack on the keys would take, by two cost models.
    It is an estimate; what a plan may use is decided by a published table for 128 bits.

    Example: securefair plan --features 512 --hidden 64 --classes 10 --release projection
    """
    import msgspec

    from securefair.circuit.planner import plan_exchange
    from securefair.profiling.plan_tables import estimate_table, plan_table
    from securefair.profiling.planned import report_plan
    from securefair.report.screen import Screen

    usual = (4, defaults.ROUNDS, defaults.FORCED_EVERY, 1.0)
    if model is None and (participants, rounds, forced_every, sharing) != usual:
        raise ConfigError(
            "only the estimate of a collaboration has these options",
            where="--participants, --rounds, --forced-every, --sharing",
            expected="--model beside them, a file of prices",
        )
    report = report_plan(plan_exchange(spec))
    cost = prices = None
    if model is not None:
        from securefair.profiling.cost_model import load_model
        from securefair.profiling.estimate import estimate

        prices = load_model(model)
        cost = estimate(
            plan_exchange(spec),
            prices,
            participants=participants,
            rounds=rounds,
            forced_every=forced_every,
            sharing=sharing,
        )
    security = None
    if estimate_security:
        from securefair.profiling.security_estimate import estimate_text, security_estimate

        security = security_estimate(plan_exchange(spec).params)
    if json:
        facts = msgspec.structs.asdict(report)
        facts |= {"estimate": cost} if cost else {}
        facts |= {"security_estimate": security} if security else {}
        say_json(facts)
        return
    Screen().print(plan_table(report))
    if security is not None:
        Screen().print(estimate_text(security))
    if cost is not None and prices is not None:
        Screen().print(estimate_table(cost, prices, spec))
