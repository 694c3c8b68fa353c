"""Between slots and the coefficients of the message polynomial (canonical embedding).

Slot j holds the message polynomial's value at zeta^(3^j), zeta = exp(i pi / N), as in SEAL (other
libraries generate with 5). For real slots z that gives

    m_i = (2 / N) sum_j z_j cos(pi i 3^j / N),

so coefficient 0 is the mean of all slots.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

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


def to_slots(coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients (..., N) -> real parts of the slots (..., N/2)."""
    n = coefficients.shape[-1]
    spectrum = np.fft.ifft(coefficients * np.conj(_twist(n)), axis=-1) * n
    slots: NDArray[np.float64] = spectrum.real[..., slot_exponents(n) // 2]
    return slots
