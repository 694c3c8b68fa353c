"""Ciphertexts under X -> X^t without a key switch: how N products are made of 2 sqrt(N) numbers.

Values x_i as coefficients of X^i, times values y_j of Y(X^t), give x_i y_j as coefficients of
X^(i + t j). With i and j below `width` all of these are different, and below N. So a ciphertext of
each holds all products of two pieces of a sample. The turned one is made of the one that is there,
(a, b) -> (a(X^t), b(X^t)), and belongs to the key s' = s(X^t), which whoever has s has. A product
of both has four polynomials, of 1, s, s' and s s'.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.basis import bit_reversal

Indices = NDArray[np.int64]


@cache
def turn(ring_degree: int) -> int:
    """t: odd, so that X -> X^t is an automorphism."""
    return width(ring_degree) | 1


@cache
def width(ring_degree: int) -> int:
    """Values of a piece: as many as leave their products apart."""
    n = isqrt(ring_degree)
    while ((n | 1) + 1) * (n - 1) >= ring_degree:
        n -= 1
    return n


def turned_coefficients(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients (..., N) of polynomials -> those of them at X^t; X^N is -1."""
    n = values.shape[-1]
    places = turn(n) * np.arange(n) % (2 * n)
    turned = np.empty_like(values)
    turned[..., places % n] = np.where(places < n, values, -values)
    return turned


def turned_places(ring_degree: int, *, back: bool = False) -> Indices:
    """Places (N,) of a transformed row from which the turned one is read; `back` undoes it."""
    t = turn(ring_degree)
    return places_under(ring_degree, pow(t, -1, 2 * ring_degree) if back else t)


@cache
def places_under(ring_degree: int, element: int) -> Indices:
    """Places (N,) of a transformed row from which that of its polynomial at X^element is read.

    In SEAL's transformed order place i holds the value at psi^(2 bitreverse(i) + 1).
    """
    n = ring_degree
    exponents = 2 * bit_reversal(n) + 1
    place = np.empty(2 * n, dtype=np.int64)
    place[exponents] = np.arange(n)
    places: Indices = place[exponents * element % (2 * n)]
    places.flags.writeable = False
    return places


@dataclass(frozen=True)
class MaskedPlace:
    """Where sanitising adds an encryption of zero.

    Attributes:
        polys: both polynomials of a ciphertext.
        turned: it is turned first, and so belongs to s'.
    """

    polys: slice
    turned: bool = False


def masked_places(polys: int) -> tuple[MaskedPlace, ...]:
    """Where encryptions of zero mask all polynomials but the first, each with a mask of its own."""
    if polys == 4:  # of 1, s, s', s s'
        first, last = MaskedPlace(slice(0, 2)), MaskedPlace(slice(2, 4))
        return first, MaskedPlace(slice(0, 3, 2), turned=True), last
    return tuple(MaskedPlace(slice(shift, shift + 2)) for shift in range(polys - 1))
