"""`securefair profile scale`: how cost grows, and prices to foretell it by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from securefair.config import defaults
from securefair.profiling import options
from securefair.profiling.options import (
    BasisOption,
    ClassesOption,
    EngineOption,
    FloodingOption,
    ForceOption,
    HiddenOption,
    JsonOption,
    PrecisionOption,
    ReleaseOption,
)
from securefair.report import say_json
from securefair_lab.profiling.numbers import whole_numbers_of

if TYPE_CHECKING:
    from securefair.circuit import ExchangeSpec
    from securefair.profiling import CostModel, TransferProfile
    from securefair_lab.profiling.scale import ScaleProfile

ROUNDS, TRANSFER = "rounds", "transfer"
SIZES = {
    ROUNDS: {"samples": "500,2000,5000,9000", "features": "16,64,160", "participants": "2,3,4",
             "held_out": "7000,100"},
    TRANSFER: {"samples": "60", "features": "32", "participants": "4,6,8,10", "held_out": "12"},
}  # fmt: skip
"""What is measured where nothing is asked for."""

OWN = {
    ROUNDS: ("hidden", "release", "basis", "flooding_bits", "precision"),
    TRANSFER: ("peers",),
}
"""Options that only one of them reads."""


def scale(
    context: typer.Context,
    of: Annotated[
        str,
        typer.Option(help="rounds: exchanges, which are repeated; transfer: whole transfers."),
    ] = ROUNDS,
    hidden: HiddenOption = defaults.HIDDEN,
    classes: ClassesOption = 2,
    release: ReleaseOption = defaults.RELEASE,
    basis: BasisOption = None,
    q: Annotated[
        int | None,
        typer.Option(
            "--q",
            help=f"Numbers per class; {defaults.Q} in rounds, {defaults.TRANSFER_Q} in a transfer.",
        ),
    ] = None,
    flooding_bits: FloodingOption = defaults.FLOODING_BITS,
    precision: PrecisionOption = defaults.PRECISION,
    samples: Annotated[
        str,
        typer.Option(help="Samples of the grid, separated by commas; of a transfer one number."),
    ] = "",
    features: Annotated[
        str,
        typer.Option(help="Features of the grid, separated by commas; of a transfer one number."),
    ] = "",
    participants: Annotated[
        str, typer.Option(help="Sizes of whole collaborations, separated by commas.")
    ] = "",
    held_out: Annotated[
        str,
        typer.Option(
            help="Samples and features of the exchange to predict; participants of the transfer."
        ),
    ] = "",
    peers: Annotated[
        int, typer.Option(min=3, help="Others in a group of a transfer, or more.")
    ] = defaults.PEERS,
    backend: EngineOption = defaults.BACKEND,
    repeats: Annotated[int, typer.Option(min=1, help="How often everything is measured.")] = 3,
    out: Annotated[
        Path | None,
        typer.Option(help="File of prices for `securefair check` and `securefair plan`."),
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Time, bytes and memory over samples, features and participants, and a model of them.

    Seconds are those of one core. --of transfer measures small transfers with hospitals of one
    size, foretells a larger one and measures that as well; release, basis, precision, flooding and
    hidden units are a transfer's own, and options that ask for others are refused.

    Example: securefair profile scale --hidden 16 --classes 2 --out cost.json
    """
    from rich.progress import Progress

    from securefair.errors import ConfigError
    from securefair.profiling import TransferProfile
    from securefair.report import Screen, check_new_file, write_json
    from securefair_lab.profiling.scale_table import scale_table, transfer_table

    if of not in SIZES:
        raise ConfigError("unknown", where="--of", found=of, expected=" or ".join(SIZES))
    _refuse_options_of_the_other(of, context)
    if out is not None:
        check_new_file(out, force=force, endings=(".json",))
    given = {"samples": samples, "features": features, "participants": participants}
    given |= {"held_out": held_out}
    sizes = {name: value or SIZES[of][name] for name, value in given.items()}
    prices: CostModel | TransferProfile
    with Progress(console=Screen(err=True), transient=True) as bar:
        shown = bar.add_task("Measuring", total=None)

        def on_point() -> None:
            bar.advance(shown)

        measured: ScaleProfile | TransferProfile
        if of == TRANSFER:
            measured = _transfers(
                sizes,
                classes,
                defaults.TRANSFER_Q if q is None else q,
                peers,
                backend,
                repeats,
                on_point,
            )
        else:
            spec = options.spec_of(
                features=1,
                hidden=hidden,
                classes=classes,
                samples=2,
                release=release,
                basis=basis,
                q=q,
                flooding_bits=flooding_bits,
                precision=precision,
                feature_norm=None,
            )
            measured = _exchanges(sizes, spec, backend, repeats, on_point)
    if isinstance(measured, TransferProfile):
        prices, table = measured, transfer_table(measured)
    else:
        prices, table = measured.model, scale_table(measured)
    if out is not None:
        write_json(out, prices)
    if json:
        say_json(measured)
    else:
        Screen().print(table)


def _refuse_options_of_the_other(of: str, context: typer.Context) -> None:
    """Whoever gave one would take the figures for what was asked."""
    from securefair.errors import ConfigError

    for other, names in OWN.items():
        for name in names:
            source = context.get_parameter_source(name)
            if other != of and source is not None and source.name == "COMMANDLINE":
                raise ConfigError(
                    "has no meaning here",
                    where="--" + name.replace("_", "-"),
                    found=f"--of {of}",
                    expected=f"--of {other}",
                )


def _exchanges(
    sizes: dict[str, str],
    spec: ExchangeSpec,
    backend: str,
    repeats: int,
    on_point: Callable[[], None],
) -> ScaleProfile:
    from securefair_lab.profiling.scale import profile_scale

    last = whole_numbers_of("--held-out", sizes["held_out"], exactly=2)
    return profile_scale(
        spec,
        samples=whole_numbers_of("--samples", sizes["samples"]),
        features=whole_numbers_of("--features", sizes["features"]),
        participants=whole_numbers_of("--participants", sizes["participants"]),
        held_out=(last[0], last[1]),
        backend=backend,
        repeats=repeats,
        on_point=on_point,
    )


def _transfers(
    sizes: dict[str, str],
    classes: int,
    q: int,
    peers: int,
    backend: str,
    repeats: int,
    on_point: Callable[[], None],
) -> TransferProfile:
    from securefair_lab.profiling.scale_transfer import profile_transfer

    return profile_transfer(
        patients=whole_numbers_of("--samples", sizes["samples"], exactly=1)[0],
        features=whole_numbers_of("--features", sizes["features"], exactly=1)[0],
        participants=whole_numbers_of("--participants", sizes["participants"]),
        held_out=whole_numbers_of("--held-out", sizes["held_out"], exactly=1)[0],
        classes=classes,
        q=q,
        peers=peers,
        backend=backend,
        repeats=repeats,
        on_point=on_point,
    )
