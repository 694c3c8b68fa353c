"""`securefair profile head`: what an exchange costs on this machine."""

from __future__ import annotations

from securefair.config import defaults
from securefair.profiling import options
from securefair.profiling.options import (
    AnswersOption,
    BasisOption,
    ClassesOption,
    EngineOption,
    FeaturesOption,
    FloodingOption,
    HiddenOption,
    JsonOption,
    NormOption,
    NumbersOption,
    PrecisionOption,
    ReleaseOption,
    RepeatsOption,
    SamplesOption,
    ThreadsOption,
    WarmOption,
    WeightBitsOption,
)
from securefair.report.telling import say_json


def head(
    features: FeaturesOption = options.FEATURES,
    hidden: HiddenOption = options.HIDDEN,
    classes: ClassesOption = options.CLASSES,
    samples: SamplesOption = options.SAMPLES,
    release: ReleaseOption = defaults.RELEASE,
    basis: BasisOption = None,
    q: NumbersOption = None,
    flooding_bits: FloodingOption = defaults.FLOODING_BITS,
    precision: PrecisionOption = defaults.PRECISION,
    feature_norm: NormOption = None,
    weight_bits: WeightBitsOption = defaults.WEIGHT_BITS,
    answers: AnswersOption = defaults.ANSWERS,
    backend: EngineOption = defaults.BACKEND,
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

    spec = options.spec_of(
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
        weight_bits=weight_bits,
        answers=answers,
    )
    measured = profile_head(spec, backend=backend, threads=threads, repeats=repeats, warm=warm)
    if json:
        say_json(measured)
    else:
        Screen().print(profile_table(measured))
