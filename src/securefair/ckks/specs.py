"""Public facts of what a teacher multiplies ciphertexts with: nothing of the values themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AffineSpec:
    """Public facts of a private affine map: nothing here depends on the weights themselves.

    Attributes:
        inputs, outputs: shape (outputs, inputs) of the weights.
        log2_scale: weights are integers, value = integer / 2^log2_scale.
        max_integer: bound on |integer weight|.
        l1, l2: bounds on a row's norms, in value units.
        bound: declared bound on |output| for every honest sample.
    """

    inputs: int
    outputs: int
    log2_scale: int
    max_integer: int
    l1: float
    l2: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class PolynomialSpec:
    """Public facts of the private polynomials that an inner product multiplies with.

    Attributes:
        count: how many, one a ciphertext.
        log2_scale: coefficients are integers, value = integer / 2^log2_scale.
        l2: bound on the Euclidean norm of all values together.
        bound: declared bound on |sum of the products|, in every coefficient.
    """

    count: int
    log2_scale: int
    l2: float
    bound: float

    def integer_norm(self, ring_degree: int) -> float:
        """Bound on the norm of the integers: rounding moves each of them by up to a half."""
        return self.l2 * 2.0**self.log2_scale + math.sqrt(self.count * ring_degree) / 2


@dataclass(frozen=True, kw_only=True)
class FactorSpec:
    """Public facts of private polynomials that one ciphertext is multiplied with, each by itself.

    Attributes:
        count: how many; as many ciphertexts come of it.
        log2_scale: coefficients are integers, value = integer / 2^log2_scale.
        largest: bound on |coefficient value|.
        bound: declared bound on |coefficient| of the products.
    """

    count: int
    log2_scale: int
    largest: float
    bound: float

    @property
    def max_integer(self) -> float:
        """Bound on the integers: rounding moves each of them by up to a half."""
        return self.largest * 2.0**self.log2_scale + 0.5
