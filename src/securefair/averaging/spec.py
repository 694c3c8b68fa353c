"""What is agreed before any sum: sizes, range and precision, and what a plan makes of them."""

from __future__ import annotations

import hashlib
import math
import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.errors import ModelError, PlanError

MAX_PARAMETERS, MAX_SENDERS = 1 << 28, 1 << 12
MAX_BOUND = 2.0**40
CLEAR_BYTES = 4
"""What a parameter takes when a model is sent in the clear: float32."""


WHOLE = ("parameters", "senders", "flooding_bits")
"""Fields of a spec that are whole numbers."""


class SumSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the participants agree on before any sum.

    Attributes:
        parameters: length of everyone's parameter vector.
        senders: most senders of one sum, at least 2.
        bound: largest |parameter|; a vector beyond it is refused before anything is sent.
        precision: largest error of a coordinate of a sum, over the bound.
        flooding_bits: of `ckks`: statistical hiding of noise that depends on parameters.
        max_share: of `masked`: every sender is shown all weights of the sum and refuses if one
            of them exceeds this share of their total, below 1; None: each sees its own weight
            only. Weights may be 0, so a receiver that has ceil(1 / max_share) - 1 senders on its
            side can still give all weight to them and one more, and take that one's model out.
    """

    parameters: int
    senders: int
    bound: float = defaults.BOUND
    precision: float = defaults.SUM_PRECISION
    flooding_bits: int = defaults.SUM_FLOODING_BITS
    max_share: float | None = None

    def __post_init__(self) -> None:
        """Make int of other whole numbers, such as numpy's; what is none stays (`check_spec`)."""
        for field in WHOLE:
            value = getattr(self, field)
            if type(value) is not int and isinstance(value, Integral):
                msgspec.structs.force_setattr(self, field, operator.index(value))


@dataclass(frozen=True, kw_only=True)
class SumPlan(ABC):
    """The public facts of every sum under one spec; implementations add their formats.

    Attributes:
        averaging: name of the implementation.
        spec: what was asked for.
        error_bound: no coordinate of a sum of honest shares is further off.
        public_key_bytes: of `SumKeys.public`, once per collaboration.
        request_bytes: receiver -> sender, once a sum, at most.
        share_bytes: sender -> receiver, once a sum.
    """

    averaging: str
    spec: SumSpec
    error_bound: float
    public_key_bytes: int
    request_bytes: int
    share_bytes: int

    @property
    def clear_bytes(self) -> int:
        """What sending the model in the clear would take."""
        return CLEAR_BYTES * self.spec.parameters

    @property
    @abstractmethod
    def format(self) -> tuple[int, ...]:
        """What turns parameters into bytes: integers that differ wherever two formats do."""

    @property
    def digest(self) -> bytes:
        """32 bytes on which all participants must agree.

        The format follows from the spec by one version of this code; by two it may differ, at one
        size of a share, and sums of both would be wrong without a sign of it.
        """
        facts = msgspec.json.encode((self.averaging, self.spec, self.share_bytes, self.format))
        return hashlib.sha256(b"securefair sum plan\0" + facts).digest()


def check_spec(spec: SumSpec) -> None:
    """Refuse what no implementation could grant.

    Raises:
        PlanError: names the field.
    """
    for where, value, least, most in (
        ("parameters", spec.parameters, 1, MAX_PARAMETERS),
        ("senders", spec.senders, defaults.MIN_SENDERS, MAX_SENDERS),
        ("bound", spec.bound, 1 / MAX_BOUND, MAX_BOUND),
        ("precision", spec.precision, 2.0**-48, 0.5),
        ("flooding_bits", spec.flooding_bits, 0, defaults.MAX_FLOODING_BITS),
    ):
        if not isinstance(value, Integral if where in WHOLE else Real):
            kind = "a whole number" if where in WHOLE else "a number"
            raise PlanError(f"this is not {kind}", where=where, found=repr(value))
        if not least <= value <= most:  # NaN is not within
            raise PlanError("out of range", where=where, found=value, expected=f"{least} to {most}")
    if spec.max_share is not None and not 1 / spec.senders <= spec.max_share < 1:
        raise PlanError(
            "out of range",
            where="max_share",
            found=spec.max_share,
            expected=f"1 / {spec.senders} (senders) or more, below 1",
        )


def check_precision(plan: SumPlan) -> None:
    """Refuse a plan that does not grant its spec.

    Raises:
        PlanError: the hint names the nearest precision.
    """
    reached = plan.error_bound / plan.spec.bound
    if reached > plan.spec.precision:
        raise PlanError(
            f"averaging {plan.averaging} is not that precise",
            where="precision",
            found=f"{plan.spec.precision:.3g}",
            expected=f"at least {reached:.3g}",
        )


def check_vector(plan: SumPlan, vector: NDArray[np.floating]) -> None:
    """Refuse what would be cut or wrap around, before anything of it is sent.

    Raises:
        ModelError: another shape or type, not finite, or beyond the bound.
    """
    if not isinstance(vector, np.ndarray):
        raise ModelError(
            "the parameters are no array",
            found=type(vector).__name__,
            expected=f"an array of floats ({plan.spec.parameters},)",
        )
    if vector.ndim != 1 or len(vector) != plan.spec.parameters or vector.dtype.kind != "f":
        raise ModelError(
            "the parameters differ from the plan in number or type",
            found=f"{vector.dtype} {vector.shape}",
            expected=f"floats ({plan.spec.parameters},)",
            hint="All participants must share one architecture",
        )
    largest = largest_magnitude(vector)
    if not math.isfinite(largest):
        raise ModelError("a parameter is not finite", hint="The training diverged")
    if largest > plan.spec.bound:
        raise ModelError(
            "a parameter exceeds the planned range",
            found=f"{largest:.6g}",
            expected=f"at most {plan.spec.bound:g} in magnitude",
            hint="Plan with a larger bound, or train with more weight decay",
        )


def largest_magnitude(vector: NDArray[np.floating]) -> float:
    """max |x_i|; NaN if any is NaN."""
    return float(max(abs(vector.max()), abs(vector.min())))
