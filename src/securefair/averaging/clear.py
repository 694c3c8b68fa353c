"""The clear implementation: every sender sends w_j x_j as it is.

Neither private nor meant to be: it is the oracle that private sums are compared with, what an
averaging costs without privacy, and a fast stand-in for simulations.

    request       the weight as a little-endian double
    share  w_j x_j as float32, or float64 where the spec needs it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.averaging.interface import SumKeys
from securefair.averaging.messages import WEIGHT_BYTES
from securefair.averaging.spec import (
    SumPlan,
    SumSpec,
    check_precision,
    check_spec,
)
from securefair.averaging.streams import filled
from securefair.averaging.unkeyed import UnkeyedSums

ROUNDING = {4: 2.0**-24, 8: 2.0**-50}
"""Relative error of w_j x_j as it travels, by the bytes of a float; float64 products included."""


@dataclass(frozen=True, kw_only=True)
class ClearPlan(SumPlan):
    """Adds the bytes of a float."""

    float_bytes: int

    @property
    def format(self) -> tuple[int, ...]:
        """See `SumPlan`: bytes of a float."""
        return (self.float_bytes,)


class ClearSums(UnkeyedSums[ClearPlan]):
    """Sums in the open."""

    name: ClassVar[str] = "clear"
    means: ClassVar[str] = "averagings.clear.means"
    exposed: ClassVar[str] = "averagings.clear.exposed"

    def plan(self, spec: SumSpec) -> ClearPlan:
        """float32 unless the precision asks for more."""
        check_spec(spec)
        size = 4 if spec.precision >= 2 * ROUNDING[4] else 8
        plan = ClearPlan(
            averaging=self.name,
            spec=spec,
            error_bound=2 * ROUNDING[size] * spec.bound,
            public_key_bytes=0,
            request_bytes=WEIGHT_BYTES,
            share_bytes=size * spec.parameters,
            float_bytes=size,
        )
        check_precision(plan)
        return plan

    def word(self, plan: ClearPlan) -> str:
        """See `UnkeyedSums`: a float."""
        return f"<f{plan.float_bytes}"

    def weighed(
        self, plan: ClearPlan, part: NDArray[np.floating], weight: float
    ) -> NDArray[np.float64]:
        """See `UnkeyedSums`."""
        del plan
        return weight * part.astype(np.float64)

    def added(
        self, plan: ClearPlan, keys: SumKeys, messages: Sequence[bytes]
    ) -> NDArray[np.float64]:
        """Their sum."""
        del keys
        vectors = [np.frombuffer(message, dtype=self.word(plan)) for message in messages]
        return filled(
            plan.spec.parameters,
            np.float64,
            lambda part: np.add.reduce([one[part] for one in vectors], dtype=np.float64),
        )
