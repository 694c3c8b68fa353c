"""Values as integers modulo a power of two: the format of `masked` and `crypten`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.averaging.gathering import WEIGHT_TOLERANCE
from securefair.averaging.spec import SumPlan, SumSpec

FLOAT_ERROR = 2.0**-50
"""Relative error of w_j x_j in float64, and of reading the sum as one."""


@dataclass(frozen=True)
class FixedPoint:
    """Integers modulo 2^word_bits; a value v is round(v 2^log2_scale).

    Attributes:
        word_bits: 32 or 64.
        log2_scale: k.
    """

    word_bits: int
    log2_scale: int

    @classmethod
    def largest(cls, spec: SumSpec, word_bits: int) -> FixedPoint:
        """The finest format of that size in which no sum of a spec wraps around."""
        # Sums lie within [-2^(bits - 1), 2^(bits - 1)); rounding adds half a step a sender.
        room = 2.0 ** (word_bits - 1) - spec.senders
        return cls(word_bits, math.floor(math.log2(room / (spec.bound * (1 + WEIGHT_TOLERANCE)))))

    @property
    def word(self) -> np.dtype[np.unsignedinteger]:
        """Little-endian words of that size, which wrap around."""
        return np.dtype(f"<u{self.word_bytes}")

    @property
    def word_bytes(self) -> int:
        """Bytes of a word."""
        return self.word_bits // 8

    def error_bound(self, spec: SumSpec) -> float:
        """No coordinate of a sum is further off."""
        return spec.senders / 2 * 2.0**-self.log2_scale + spec.bound * FLOAT_ERROR

    def encode(self, values: NDArray[np.floating], weight: float) -> NDArray[np.unsignedinteger]:
        """Words of weight * values."""
        fixed = values.astype(np.float64)
        fixed *= weight * 2.0**self.log2_scale
        np.rint(fixed, out=fixed)
        return fixed.astype(f"<i{self.word_bytes}").view(self.word)

    def decode(self, words: NDArray[np.unsignedinteger], out: NDArray[np.float64]) -> None:
        """Values of words, into `out`."""
        np.multiply(words.view(f"<i{self.word_bytes}"), 2.0**-self.log2_scale, out=out)


@dataclass(frozen=True, kw_only=True)
class FixedPlan(SumPlan):
    """Adds the format of words."""

    fixed: FixedPoint

    @property
    def format(self) -> tuple[int, ...]:
        """See `SumPlan`: bits of a word, and of its fraction."""
        return self.fixed.word_bits, self.fixed.log2_scale
