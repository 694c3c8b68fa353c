"""`securefair profile ...`: what things cost on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from securefair.profiling import options
from securefair.profiling.options import (
    BasisOption,
    ClassesOption,
    FeaturesOption,
    FloodingOption,
    HiddenOption,
    JsonOption,
    NormOption,
    NumbersOption,
    PrecisionOption,
    ReleaseOption,
    SamplesOption,
)

app = typer.Typer(
    name="profile",
    help="Measure on this machine what an exchange costs.",
    no_args_is_help=True,
)

ThreadsOption = Annotated[
    int | None, typer.Option(help="Threads of all libraries together (default: all cores).")
]
RepeatsOption = Annotated[int, typer.Option(min=1, help="Figures are medians of so many runs.")]
EngineOption = Annotated[str, typer.Option("--backend", help="rns, seal or clear (unencrypted).")]


@app.callback()
def profile() -> None:
    """Keeps `head` a command of its own while it is the only one."""


@app.command()
def head(
    features: FeaturesOption = options.FEATURES,
    hidden: HiddenOption = options.HIDDEN,
    classes: ClassesOption = options.CLASSES,
    samples: SamplesOption = options.SAMPLES,
    release: ReleaseOption = options.RELEASE,
    basis: BasisOption = options.BASIS,
    q: NumbersOption = options.NUMBERS,
    flooding_bits: FloodingOption = options.FLOODING_BITS,
    precision: PrecisionOption = options.PRECISION,
    feature_norm: NormOption = None,
    backend: EngineOption = "rns",
    threads: ThreadsOption = None,
    repeats: RepeatsOption = 5,
    json: JsonOption = False,
) -> None:
    """One exchange from samples to opened answer: times, bytes, error, distance to the limits.

    Example: securefair profile head --features 512 --hidden 64 --classes 10 --release logits
    """
    import msgspec
    from rich.console import Console

    from securefair.profiling.head import profile_head
    from securefair.profiling.tables import profile_table

    wish = options.wish_of(
        features=features,
        hidden=hidden,
        classes=classes,
        samples=samples,
        release=release,
        basis=basis,
        q=q,
        flooding_bits=flooding_bits,
        precision=precision,
        feature_norm=feature_norm,
    )
    measured = profile_head(wish, backend=backend, threads=threads, repeats=repeats)
    if json:
        typer.echo(msgspec.json.encode(measured).decode())
    else:
        Console().print(profile_table(measured))
