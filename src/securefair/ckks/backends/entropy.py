"""Flooding noise from the operating system's generator."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

_WORD = 32


def uniform_residues(
    log2_amplitude: int, shape: tuple[int, ...], primes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Integers uniform in [-A, A), A = 2^log2_amplitude, modulo every prime.

    A power of two needs no rejection: the bits of the generator are the integer.

    Returns:
        Residues (*shape[:-1], limbs, shape[-1]); the same integer under each prime.

    Raises:
        ValueError: the amplitude is below 1.
    """
    if log2_amplitude < 0:
        raise ValueError(f"2^{log2_amplitude} is no amplitude of integers")
    bits = log2_amplitude + 1
    words = -(-bits // _WORD)
    drawn = np.frombuffer(os.urandom(4 * words * int(np.prod(shape))), dtype=np.uint32)
    digits = drawn.reshape(words, *shape[:-1], 1, shape[-1]).astype(np.int64)
    digits[-1] &= (1 << (bits - _WORD * (words - 1))) - 1
    residues = np.zeros((*shape[:-1], len(primes), shape[-1]), dtype=np.int64)
    column = primes[:, None]
    for digit in digits[::-1]:  # Horner, most significant word first; stays below 2^63
        residues = ((residues << _WORD) % column + digit) % column
    offset = np.array([pow(2, log2_amplitude, int(p)) for p in primes])[:, None]
    shifted: NDArray[np.int64] = (residues - offset) % column
    return shifted
