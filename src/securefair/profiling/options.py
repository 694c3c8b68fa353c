"""Options that ask for an exchange, the same for every command, and the spec that they make."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from securefair.circuit.spec import ExchangeSpec
from securefair.config import defaults
from securefair.config.describing import expectation, node_at
from securefair.errors import ConfigError


def _key(dotted: str, *names: str, default: object = None) -> Any:
    """An option that means what a key of a configuration means.

    Args:
        dotted: the key.
        names: names of the option, where they are not the argument's.
        default: what holds without it, where None stands for that.
    """
    place = tuple(dotted.split("."))
    accepts = f"{expectation(place)}{'' if default is None else f'; default: {default}'}"
    return typer.Option(*names, help=f"{(node_at(place) or {})['description']} ({accepts}).")


def _check_range(dotted: str, value: float) -> None:
    """Refuse what a configuration refuses, although a planner would find a plan for it.

    Raises:
        ConfigError: out of the range that the option's help says.
    """
    place = tuple(dotted.split("."))
    node = node_at(place) or {}
    if not node["minimum" if "minimum" in node else "exclusiveMinimum"] <= value <= node["maximum"]:
        raise ConfigError("out of range", where=place[-1], found=value, expected=expectation(place))


FeaturesOption = Annotated[int, typer.Option(help="Width of a sample's feature vector.")]
HiddenOption = Annotated[int, typer.Option(help="Units of the quadratic layer; 0: linear head.")]
ClassesOption = Annotated[int, typer.Option(help="Width of the logits.")]
SamplesOption = Annotated[int, typer.Option(help="The student's samples in one exchange.")]
ReleaseOption = Annotated[str, _key("distillation.release")]
BasisOption = Annotated[str | None, _key("distillation.basis", default=defaults.BASIS)]
NumbersOption = Annotated[int | None, _key("distillation.q", "--q", default=defaults.Q)]
FloodingOption = Annotated[int, _key("encryption.flooding_bits")]
PrecisionOption = Annotated[float, _key("encryption.precision")]
NormOption = Annotated[
    float | None,
    typer.Option(help="Largest Euclidean norm of a sample (default: sqrt of the features)."),
]
WeightBitsOption = Annotated[int, _key("model.weight_bits")]
AnswersOption = Annotated[
    int, typer.Option(help="To one upload: how often seconds and bytes count in the choice.")
]
EngineOption = Annotated[str, _key("encryption.backend", "--backend")]
DeviceOption = Annotated[str, _key("encryption.device", "--device")]
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
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace the file if it is there already.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

FEATURES, HIDDEN, CLASSES, SAMPLES = 512, 64, 10, 4096


def spec_of(
    *,
    features: FeaturesOption = FEATURES,
    hidden: HiddenOption = HIDDEN,
    classes: ClassesOption = CLASSES,
    samples: SamplesOption = SAMPLES,
    release: ReleaseOption = defaults.RELEASE,
    basis: BasisOption = None,
    q: NumbersOption = None,
    flooding_bits: FloodingOption = defaults.FLOODING_BITS,
    precision: PrecisionOption = defaults.PRECISION,
    feature_norm: NormOption = None,
    weight_bits: WeightBitsOption = defaults.WEIGHT_BITS,
    answers: AnswersOption = defaults.ANSWERS,
) -> ExchangeSpec:
    """The spec that options spell out; the planner judges it. None: the option was not given.

    Raises:
        ConfigError: an option of projections was given for another release.
    """
    from securefair.circuit.spec import HeadBounds
    from securefair.releases import exchanged_releases, release_of

    _check_range("encryption.flooding_bits", flooding_bits)
    _check_range("encryption.precision", precision)
    _check_range("model.weight_bits", weight_bits)
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


def asking_for_spec(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of `spec_of` in the place of its first argument, the spec."""
    asked, own = _options(spec_of), _options(command)[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        spec = spec_of(**{one.name: given.pop(one.name) for one in asked})
        command(spec, **given)

    every = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (*asked, *own)]
    run.__dict__["__signature__"] = Signature(every)
    run.__annotations__ = {one.name: one.annotation for one in every}
    return run


def _options(function: Callable[..., object]) -> list[Parameter]:
    return list(signature(function, eval_str=True).parameters.values())
