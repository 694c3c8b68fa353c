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
    digits = drawn.reshape(words, -1, shape[-1])
    top = np.uint32((1 << (bits - _WORD * (words - 1))) - 1)
    residues = np.empty((*shape[:-1], len(primes), shape[-1]), dtype=np.int64)
    # Row by row: temporaries of one row stay in the cache.
    for row, out in enumerate(residues.reshape(-1, len(primes), shape[-1])):
        own = digits[:, row].astype(np.uint64)
        own[-1] &= top
        for limb, p in enumerate(primes.tolist()):
            out[limb] = _reduced(own, p, p - pow(2, log2_amplitude, p))
    return residues


def _reduced(digits: NDArray[np.uint64], p: int, offset: int) -> NDArray[np.uint64]:
    """Integers of 32-bit digits, least significant first, plus an offset from 1 to p, modulo p.

    By quotients: numpy divides by one number with SIMD, and takes remainders one by one. Digits
    are multiplied by their place modulo p first, so that few divisions are needed.
    """
    prime, below = np.uint64(p), (1 << _WORD) + p
    value: NDArray[np.uint64] = digits[0] + np.uint64(offset)
    for k, digit in enumerate(digits[1:], start=1):
        place = pow(2, _WORD * k, p)
        added = int(digit.max(initial=0)) * place
        if below + added >= 1 << 64:
            value -= value // prime * prime
            below = p
        value += digit * np.uint64(place)
        below += added
    value -= value // prime * prime
    return value
