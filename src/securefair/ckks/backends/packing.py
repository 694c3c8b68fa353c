"""Residues without the bits that are always zero: how uploads travel.

A residue below a prime of w bits takes w bits. 512 residues of one limb are one block of 16 w words
of 32 bits, little-endian. Residue 16 r + l stands in lane l: words l, l + 16, l + 32, .. of a block
are one string of bits, lowest first, in which it has bits r w to (r + 1) w. So 16 residues are
shifted alike by one instruction, and a width of 32 is the plain words.

This is the definition, in numpy; `kernels` does the same where the native module is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

BLOCK, LANES = 512, 16
"""Residues of a block, of which so many are shifted alike."""

WORD_BITS = 32

Words = NDArray[np.uint32]
Bytes = NDArray[np.uint8]


def _widths(primes: Sequence[int]) -> tuple[int, ...]:
    """Bits of a residue of each limb."""
    return tuple(prime.bit_length() for prime in primes)


def packed_bytes(primes: Sequence[int], ring_degree: int) -> int:
    """Bytes of one polynomial; N is a multiple of 512."""
    return sum(_widths(primes)) * ring_degree // 8


def pack(residues: Words, primes: Sequence[int]) -> Bytes:
    """Residues (d, limbs, N), each below its prime -> bytes (d, `packed_bytes`)."""
    count, _, n = residues.shape
    parts = []
    for limb, width in enumerate(_widths(primes)):
        rows = residues[:, limb].reshape(count, n // BLOCK, BLOCK // LANES, LANES)
        words = np.zeros((count, n // BLOCK, width, LANES), dtype="<u4")
        for row, word, shift in _places(width):
            words[:, :, word] |= rows[:, :, row] << np.uint32(shift)
            if shift + width > WORD_BITS:
                words[:, :, word + 1] |= rows[:, :, row] >> np.uint32(WORD_BITS - shift)
        parts.append(words.reshape(count, width * n // WORD_BITS).view(np.uint8))
    return np.concatenate(parts, axis=1)


def unpack(data: Bytes, primes: Sequence[int], ring_degree: int) -> Words:
    """The inverse of `pack`; residues are below 2^w, not yet compared with their primes."""
    count, start = len(data), 0
    residues = np.empty((count, len(primes), ring_degree), dtype=np.uint32)
    for limb, width in enumerate(_widths(primes)):
        end = start + width * ring_degree // 8
        words = np.ascontiguousarray(data[:, start:end]).view("<u4")
        words = words.reshape(count, ring_degree // BLOCK, width, LANES)
        rows = residues[:, limb].reshape(count, ring_degree // BLOCK, BLOCK // LANES, LANES)
        mask = np.uint32((1 << width) - 1)
        for row, word, shift in _places(width):
            value = words[:, :, word] >> np.uint32(shift)
            if shift + width > WORD_BITS:
                value = value | (words[:, :, word + 1] << np.uint32(WORD_BITS - shift))
            rows[:, :, row] = value & mask
        start = end
    return residues


def _places(width: int) -> Iterator[tuple[int, int, int]]:
    """For each row of a block, the word that it begins in, and the bit."""
    for row in range(BLOCK // LANES):
        yield row, *divmod(row * width, WORD_BITS)
