"""Options that ask for an exchange, the same for every command, and the spec that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from securefair.config import defaults

if TYPE_CHECKING:
    from securefair.circuit.spec import ExchangeSpec

FeaturesOption = Annotated[int, typer.Option(help="Width of a sample's feature vector.")]
HiddenOption = Annotated[int, typer.Option(help="Units of the quadratic layer; 0: linear head.")]
ClassesOption = Annotated[int, typer.Option(help="Width of the logits.")]
SamplesOption = Annotated[int, typer.Option(help="The student's samples in one exchange.")]
ReleaseOption = Annotated[
    str, typer.Option(help="What leaves the encryption: loss, class_sums, projection, logits.")
]
BasisOption = Annotated[
    str | None,
    typer.Option(help=f"Of a projection: public or student (default: {defaults.BASIS})."),
]
NumbersOption = Annotated[
    int | None,
    typer.Option("--q", help=f"Of a projection: numbers per class (default: {defaults.Q})."),
]
FloodingOption = Annotated[
    int, typer.Option(help="Bits by which flooding exceeds all noise that tells of the model.")
]
PrecisionOption = Annotated[
    float, typer.Option(help="Largest error by encryption of a released value, over its range.")
]
NormOption = Annotated[
    float | None,
    typer.Option(help="Largest Euclidean norm of a sample (default: sqrt of the features)."),
]
WeightBitsOption = Annotated[
    int, typer.Option(help="Bits of the largest weight: fewer need a smaller modulus.")
]
AnswersOption = Annotated[
    int, typer.Option(help="To one upload: how often seconds and bytes count in the choice.")
]
EngineOption = Annotated[str, typer.Option("--backend", help="rns, seal or clear (unencrypted).")]
ThreadsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Threads of all libraries together (default: all cores)."),
]
RepeatsOption = Annotated[int, typer.Option(min=1, help="Figures are medians of so many runs.")]
WarmOption = Annotated[
    bool,
    typer.Option(
        "--warm", help="Measure touched memory, not a fresh process as users meet it (default)."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

FEATURES, HIDDEN, CLASSES, SAMPLES = 512, 64, 10, 4096


def spec_of(
    *,
    features: int,
    hidden: int,
    classes: int,
    samples: int,
    release: str,
    basis: str | None,
    q: int | None,
    flooding_bits: int,
    precision: float,
    feature_norm: float | None,
    weight_bits: int = defaults.WEIGHT_BITS,
    answers: int = defaults.ANSWERS,
) -> ExchangeSpec:
    """The spec that options spell out; the planner judges it. None: the option was not given.

    Raises:
        ConfigError: an option of projections was given for another release.
    """
    from securefair.circuit.spec import ExchangeSpec, HeadBounds
    from securefair.errors import ConfigError
    from securefair.releases import exchanged_releases, release_of

    # Unknown ones are the planner's to refuse.
    others = [name for name in exchanged_releases() if not release_of(name).rows]
    for option, given in (("--basis", basis), ("--q", q)):
        if given is not None and release in others:
            raise ConfigError(
                "only a projection has this option",
                where=option,
                found=f"--release {release}",
                expected="--release projection",
            )
    return ExchangeSpec(
        features=features,
        hidden=hidden,
        classes=classes,
        samples=samples,
        release=release,
        basis=defaults.BASIS if basis is None else basis,
        q=defaults.Q if q is None else q,
        flooding_bits=flooding_bits,
        precision=precision,
        weight_bits=weight_bits,
        bounds=HeadBounds(feature_norm=feature_norm),
        answers=answers,
    )


def numbers_of(option: str, text: str) -> list[float]:
    """Numbers separated by commas.

    Raises:
        ConfigError: one of them is none.
    """
    from securefair.errors import ConfigError

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(
            "not a list of numbers", where=option, found=text, expected="such as 0,0.5,1"
        ) from None


def whole_numbers_of(option: str, text: str, *, exactly: int | None = None) -> list[int]:
    """Whole numbers separated by commas, so many of them if that is given.

    Raises:
        ConfigError: one of them is none, or there are more or fewer.
    """
    from securefair.errors import ConfigError

    numbers = numbers_of(option, text)
    whole = [round(number) for number in numbers if number == round(number)]
    if len(whole) < len(numbers) or exactly not in (None, len(whole)):
        raise ConfigError(
            "not a list of whole numbers",
            where=option,
            found=text,
            expected=f"{exactly} of them" if exactly else "such as 500,2000",
        )
    return whole
