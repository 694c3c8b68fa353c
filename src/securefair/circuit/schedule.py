"""Which limbs and scales an exchange runs at; the planner searches over these."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from securefair.circuit.flooding import MAX_FLOODING_BITS
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends.wire import WORD
from securefair.ckks.interleaving import SHIFTED_AT_ONCE, suits
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.primes import MAX_LIMB_BITS
from securefair.ckks.rules import fresh
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.tensor import CipherMeta, Packing
from securefair.errors import PlanError

Pairs = Literal["none", "features"]
"""What shares a ciphertext: two features of a sample."""


class RescaleStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens to values before a step of a model.

    Attributes:
        relinearize: bring products back to two polynomials.
        limbs: then divide by the last primes until so many are left.
    """

    relinearize: bool
    limbs: int


class LayerSteps(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One map of a model.

    Attributes:
        linear: before the map.
        square: before its values are squared; None where they are not.
    """

    linear: RescaleStep
    square: RescaleStep | None


class Schedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scales and levels of one exchange.

    Attributes:
        ckks: parameters.
        feature_scale: log2 scale of the encrypted features.
        factor_scale: log2 scale of what logits are multiplied with (predictions or basis), 0 if
            nothing.
        product_limbs: limbs at which that product is taken.
        relinearize: bring answers back to two polynomials (needs a key from the student).
        flooding_bits: how far flooding exceeds the noise that it hides, log2: at least what the
            spec says.
        flooding_limbs: limbs at which answers are flooded.
        answer_limbs: limbs that travel.
        stages: one a map; none where no model is evaluated.
        pairs: what shares a slot (needs a conjugation key from the student).
        monomials: samples travel as products of their features, and the factor scale is that of
            the forms that they are multiplied with (`circuit.monomials`).
        parts: features beside each other in a ciphertext, where more than one are (needs a rotation
            key from the student, see `ckks.interleaving`).
    """

    ckks: CkksSpec
    feature_scale: float
    factor_scale: float
    product_limbs: int
    relinearize: bool
    flooding_bits: int
    flooding_limbs: int
    answer_limbs: int
    stages: tuple[LayerSteps, ...] = ()
    pairs: Pairs = "none"
    monomials: bool = False
    parts: int = 1


MAX_LOG2_SCALE = 128
"""Beyond what any encoding has; planning refuses earlier."""

MAX_HELD_BYTES = 1 << 30
"""Of what a teacher holds at once beside an upload: 1,000 hidden units of pairs are
0.4 GB at N = 8192 and six limbs.
Without either, values are used up one after the other."""

MAX_PARTS = 64
"""The noise of the key switches that separate hidden units grows with the square of it."""

MAX_FORMS = 4096
"""Each class is a ciphertext of the answer: more are cheaper with samples in slots."""


def check_schedule(spec: ExchangeSpec, schedule: Schedule) -> None:
    """Refuse a schedule that no planner makes, before anything is computed from it.

    Raises:
        PlanError: the number of limbs or stages does not fit, a scale is out of range, samples
            are to pair that fill one block, or a teacher would hold too much memory.
    """
    ckks = schedule.ckks
    cap = MAX_LOG_QP.get(ckks.ring_degree, 0)
    # Bits of primes are rounded up by less than one each.
    bits = sum(ckks.limb_bits[:cap]) + ckks.special_bits - len(ckks.limb_bits) - 1
    limbs = len(ckks.limb_bits)
    steps = [step for stage in schedule.stages for step in (stage.linear, stage.square) if step]
    fitting = _fit_monomials if schedule.monomials else _fit_layers
    scales = (schedule.feature_scale, schedule.factor_scale)
    holds = (
        1 <= limbs <= cap
        and all(1 <= each <= MAX_LIMB_BITS for each in (*ckks.limb_bits, ckks.special_bits))
        and bits <= cap
        and all(0 <= scale <= MAX_LOG2_SCALE for scale in scales)
        and spec.flooding_bits <= schedule.flooding_bits <= MAX_FLOODING_BITS
        and 1 <= schedule.answer_limbs <= schedule.flooding_limbs <= schedule.product_limbs <= limbs
        and all(1 <= step.limbs <= limbs for step in steps)
        and fitting(spec, schedule)
    )
    if not holds:
        raise PlanError("this schedule does not fit the spec", where="schedule")
    held = held_bytes(spec, schedule)
    if held > MAX_HELD_BYTES:
        raise PlanError(
            "a teacher would hold too much memory for this schedule",
            where="schedule",
            found=f"{held} bytes for {spec.samples} samples of {spec.features} features, "
            f"{spec.hidden} hidden units and {spec.classes} classes",
            expected=f"at most {MAX_HELD_BYTES} bytes",
            hint="Plan without pairs, or in a smaller ring",
        )


def held_bytes(spec: ExchangeSpec, schedule: Schedule) -> int:
    """Bytes that the teacher holds at once: hidden units of an upload block in pairs, or of
    features beside each other; 0 where there is neither."""
    n = schedule.ckks.ring_degree
    polynomial = len(schedule.ckks.limb_bits) * n * WORD
    if schedule.parts > 1:  # products, hidden units twice, transforms of a group, shifted features
        shifted = 2 * max(SHIFTED_AT_ONCE, schedule.parts)
        return (8 * spec.hidden + 16 * schedule.parts + shifted) * polynomial
    return 0 if schedule.pairs == "none" else 2 * spec.hidden * polynomial


def _fit_layers(spec: ExchangeSpec, schedule: Schedule) -> bool:
    return (
        len(schedule.stages) == len(spec.layers)
        and (schedule.pairs == "none" or spec.hidden > 0)
        and (schedule.parts == 1 or _fit_beside(spec, schedule))
        and all(
            (stage.square is not None) == (layer.summed > 0)
            for stage, layer in zip(schedule.stages, spec.layers, strict=True)
        )
    )


def _fit_monomials(spec: ExchangeSpec, schedule: Schedule) -> bool:
    return (
        travels_as_monomials(spec)
        and not schedule.stages
        and schedule.pairs == "none"
        and schedule.parts == 1
        and not schedule.relinearize
        and schedule.factor_scale.is_integer()
    )


def _fit_beside(spec: ExchangeSpec, schedule: Schedule) -> bool:
    n, parts = schedule.ckks.ring_degree, schedule.parts
    return (
        travels_beside(spec)
        and schedule.pairs == "none"
        and 1 < parts <= MAX_PARTS
        and suits(n, parts)
        and 2 * spec.samples * parts <= n
    )


def travels_beside(spec: ExchangeSpec) -> bool:
    """Whether features may travel beside each other: logits of a head with a square."""
    return spec.release == "logits" and not spec.network and spec.hidden > 0


def travels_as_monomials(spec: ExchangeSpec) -> bool:
    """Whether samples may travel as monomials: logits of a head, one a coefficient."""
    return spec.release == "logits" and not spec.network and spec.classes <= MAX_FORMS


def features_meta(
    params: CkksParameters, schedule: Schedule, count: int, bound: float
) -> CipherMeta:
    """Public facts of one upload block of encrypted features."""
    return fresh_features(
        params,
        count,
        bound,
        log2_scale=schedule.feature_scale,
        pairs=schedule.pairs,
        parts=schedule.parts,
    )


def fresh_features(
    params: CkksParameters,
    count: int,
    bound: float,
    *,
    log2_scale: float,
    pairs: Pairs = "none",
    parts: int = 1,
) -> CipherMeta:
    """Public facts of `count` encrypted features: by themselves, in pairs or beside each other."""
    together = parts if pairs == "none" else 2
    return fresh(
        params,
        count=-(-count // together),
        limbs=params.limbs,
        log2_scale=log2_scale,
        bound=bound if pairs == "none" else bound * math.sqrt(2),
        packing=PACKINGS[pairs] if parts == 1 else "coefficients",
        parts=parts,
    )


PACKINGS: dict[Pairs, Packing] = {
    "none": "slots",
    "features": "feature pairs",
}


def factors_meta(params: CkksParameters, schedule: Schedule, count: int) -> CipherMeta:
    """Public facts of one block of encrypted predictions or basis rows, at most 1 in size."""
    limbs, scale = schedule.product_limbs, schedule.factor_scale
    return fresh(params, count=count, limbs=limbs, log2_scale=scale, bound=1.0)
