"""Which limbs and scales an exchange runs at; the planner searches over these."""

from __future__ import annotations

import msgspec

from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.rules import fresh
from securefair.ckks.tensor import CipherMeta

FIRST = "alone"
"""The packing of every model and release: the first of the register."""


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
            nothing; or of the forms that monomials are multiplied with.
        product_limbs: limbs at which that product is taken.
        relinearize: bring answers back to two polynomials (needs a key from the student).
        flooding_bits: how far flooding exceeds the noise that it hides, log2: at least what the
            spec says.
        flooding_limbs: limbs at which answers are flooded.
        answer_limbs: limbs that travel.
        stages: one a map; none where no model is evaluated.
        packing: how samples travel, a name of the register (`circuit.packings`).
        parts: features beside each other in a ciphertext, k: then values are polynomials in X^k.
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
    packing: str = FIRST
    parts: int = 1


def factors_meta(params: CkksParameters, schedule: Schedule, count: int) -> CipherMeta:
    """Public facts of one block of encrypted predictions or basis rows, at most 1 in size."""
    limbs, scale = schedule.product_limbs, schedule.factor_scale
    return fresh(params, count=count, limbs=limbs, log2_scale=scale, bound=1.0)
