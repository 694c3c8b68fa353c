"""Between slots and the coefficients of the message polynomial (canonical embedding).

Slot j holds the message polynomial's value at zeta^(3^j), zeta = exp(i pi / N), as in SEAL (other
libraries generate with 5). For real slots z that gives

    m_i = (2 / N) sum_j z_j cos(pi i 3^j / N),

so coefficient 0 is the mean of all slots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

SLOT_GENERATOR = 3
"""Generates, with -1, the odd residues mod 2N; SEAL 4 numbers the slots by its powers."""


@cache
def slot_exponents(ring_degree: int) -> NDArray[np.int64]:
    """3^j mod 2N for j = 0 .. N/2 - 1."""
    exponents = np.empty(ring_degree // 2, dtype=np.int64)
    value = 1
    for j in range(len(exponents)):
        exponents[j] = value
        value = value * SLOT_GENERATOR % (2 * ring_degree)
    exponents.flags.writeable = False
    return exponents


@cache
def _twist(ring_degree: int) -> NDArray[np.complex128]:
    twist: NDArray[np.complex128] = np.exp(-1j * np.pi * np.arange(ring_degree) / ring_degree)
    twist.flags.writeable = False
    return twist


def to_coefficients(slots: NDArray[np.float64], ring_degree: int) -> NDArray[np.float64]:
    """Real slots (..., n <= N/2), the rest zero, -> coefficients (..., N)."""
    n = ring_degree
    position = slot_exponents(n)[: slots.shape[-1]] // 2  # exponent 2t + 1 sits at t
    values = np.zeros((*slots.shape[:-1], n))
    values[..., position] = slots
    values[..., n - 1 - position] = slots  # complex conjugate roots carry the same real value
    spectrum = np.fft.fft(values, axis=-1)
    coefficients: NDArray[np.float64] = (spectrum * _twist(n)).real / n
    return coefficients


def to_integers(values: NDArray[np.float64], log2_scale: float, width: int) -> Integers:
    """Values (d, n <= width) -> rounded integers (d, width), zero beyond n; below 2^63 in size."""
    integers = np.zeros((len(values), width), dtype=np.int64)
    integers[:, : values.shape[1]] = np.rint(values * 2.0**log2_scale)
    return integers


def coefficient_residues(
    values: NDArray[np.float64], log2_scale: float, width: int, primes: Sequence[int]
) -> Integers:
    """Values (d, n <= width) at a scale -> residues (d, limbs, width) of the nearest integers.

    Of integers beyond 62 bits, where a double has no digits left, the lowest bits are zeros.
    """
    largest = float(np.abs(values).max(initial=1.0))
    shift = max(0, math.ceil(log2_scale + math.log2(largest)) - 62)
    integers = to_integers(values, log2_scale - shift, width)
    moduli = np.array(primes, dtype=np.int64)[:, None]
    powers = np.array([[pow(2, shift, p)] for p in primes], dtype=np.int64)
    residues: Integers = integers[:, None] % moduli
    return residues * powers % moduli if shift else residues


def reversed_integers(values: NDArray[np.float64], log2_scale: float, width: int) -> Integers:
    """The polynomials whose products with values in coefficients are inner products there.

    With p_0 = b_0 and p_(N-i) = -b_i the constant coefficient of m p modulo X^N + 1 is
    sum_i m_i b_i.
    """
    given = values.shape[1]  # often few: all others are zeros
    integers = to_integers(values, log2_scale, given)
    turned = np.zeros((len(values), width), dtype=np.int64)
    turned[:, 0] = integers[:, 0]
    turned[:, 1:][:, ::-1][:, : given - 1] = -integers[:, 1:]
    return turned


def negacyclic_product(
    left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Products (d, N) of polynomials modulo X^N + 1, through their values at the odd roots."""
    n = left.shape[-1]
    return _from_roots(at_roots(left) * at_roots(right), n)


def negacyclic_inner(
    left: NDArray[np.complex128], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The sum (1, N) of `negacyclic_product`, which costs one way back.

    Args:
        left: polynomials (d, N), as `at_roots` has them.
        right: polynomials (d, N).
    """
    values = np.einsum("dn,dn->n", left, at_roots(right))
    return _from_roots(values[None], right.shape[-1])


def at_roots(polynomials: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Real polynomials (d, N) -> values (d, N/2) at every second odd root; conjugates the rest.

    There X^(N/2) is i: with real polynomials a + X^(N/2) b one has the complex a + i b.
    """
    first, second = np.split(polynomials, 2, axis=-1)
    half = first.shape[-1]
    return np.fft.ifft((first + 1j * second) * _half_twist(half), axis=-1)


def _from_roots(values: NDArray[np.complex128], n: int) -> NDArray[np.float64]:
    """The way back from `at_roots`, of a product of two: each went with a factor 2 / N."""
    mixed = np.fft.fft(values, axis=-1) * np.conj(_half_twist(n // 2)) * (n // 2)
    return np.concatenate([mixed.real, mixed.imag], axis=-1)


@cache
def _half_twist(half: int) -> NDArray[np.complex128]:
    """exp(i pi j / N) for j = 0 .. N/2 - 1: to the roots exp(i pi (4 k + 1) / N)."""
    twist: NDArray[np.complex128] = np.exp(0.5j * np.pi * np.arange(half) / half)
    twist.flags.writeable = False
    return twist


def to_slots(coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients (..., N) -> real parts of the slots (..., N/2)."""
    n = coefficients.shape[-1]
    spectrum = np.fft.ifft(coefficients * np.conj(_twist(n)), axis=-1) * n
    slots: NDArray[np.float64] = spectrum.real[..., slot_exponents(n) // 2]
    return slots
