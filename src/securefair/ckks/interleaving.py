"""Features of few samples beside each other in one ciphertext: polynomials in Y = X^k.

Polynomials in Y are a ring of their own, of degree n = N / k, with n / 2 slots. Every polynomial is
sum_f X^f p_f(Y), f < k, for exactly one choice of p_f. So one ciphertext holds k features, each of
n / 2 samples: coefficient f + k i is coefficient i of p_f. Times a weight and X^-f every feature
brings its p_f to the part without X, where a hidden unit h(Y) is their sum.

The automorphism g: X -> X^(2n + 1) keeps Y and takes X to X w, with w = X^(2n) of order k. The sum
of all its powers leaves k times the part without X. Of k units y_u at once that takes 2 (k - 1) key
switches with one key:

    T_j = sum_u w^(-ju) X^u y_u / k        (a Fourier transform; g keeps w)
    z = T_0 + g(T_1 + g(T_2 + ..))         = sum_u X^u h_u(Y)
    k h_u = X^-u sum_j w^(-ju) g^j(z)      (another one)

A polynomial in Y has its n / 2 values in the N / 2 slots of the large ring, k times one after the
other. So from h_u on all is as with samples in slots, and only every k-th coefficient counts.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.basis import bit_reversal
from securefair.ckks.encoding import to_coefficients, to_slots

Array = NDArray[np.float64]

SHIFTED_AT_ONCE = 128
"""Features that come to the part without X together: enough for a product of matrices to pay, and
some 50 MB."""


def element(ring_degree: int, parts: int) -> int:
    """2n + 1, the Galois element of g."""
    return 2 * ring_degree // parts + 1


def suits(ring_degree: int, parts: int) -> bool:
    """Whether g keeps w: parts a power of two whose square is at most 2N."""
    return parts > 0 and parts & (parts - 1) == 0 and parts * parts <= 2 * ring_degree


def interleave(values: Array, parts: int, ring_degree: int) -> Array:
    """Features by samples (d, n / 2) -> coefficients (ceil(d / parts), N)."""
    short = ring_degree // parts
    rows = np.zeros((-(-len(values) // parts) * parts, values.shape[1]))
    rows[: len(values)] = values
    polynomials = to_coefficients(rows, short).reshape(-1, parts, short)
    return np.ascontiguousarray(polynomials.swapaxes(1, 2)).reshape(-1, ring_degree)


def separate(coefficients: Array, parts: int) -> Array:
    """The inverse: coefficients (count, N) -> features by samples (count parts, n / 2)."""
    short = coefficients.shape[1] // parts
    polynomials = coefficients.reshape(-1, short, parts).swapaxes(1, 2)
    return to_slots(polynomials.reshape(-1, short))


def released(ring_degree: int, parts: int) -> NDArray[np.int64]:
    """Coefficients (n,) of a polynomial in Y; all others hold noise."""
    return np.arange(0, ring_degree, parts, dtype=np.int64)


@cache
def places_under(ring_degree: int, element: int) -> NDArray[np.int64]:
    """Places (N,) of a transformed row from which that of its polynomial at X^element is read.

    In SEAL's transformed order place i holds the value at psi^(2 bitreverse(i) + 1).
    """
    n = ring_degree
    exponents = 2 * bit_reversal(n) + 1
    place = np.empty(2 * n, dtype=np.int64)
    place[exponents] = np.arange(n)
    places: NDArray[np.int64] = place[exponents * element % (2 * n)]
    places.flags.writeable = False
    return places
