"""Key streams as arrays, and work in chunks.

A stream is AES-256 in counter mode from zero: each key makes one stream, and any part of it can
be made on its own, so that chunks are independent and fit in a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import DTypeLike, NDArray

from securefair.ckks.backends import kernels

CHUNK = 1 << 18
"""Parameters worked on at once: temporaries of a few megabytes, whatever the model's size."""

_BLOCK = 16  # bytes of an AES block
_WORD_BITS, _WORD_BYTES = 32, 4


def key_stream(key: bytes, start: int, size: int, *, lane: int = 0) -> NDArray[np.uint8]:
    """Bytes start .. start + size of one lane of the key's stream; start is a multiple of 16.

    Lanes are separate streams: upper halves of the counter, of which no lower half reaches 2^64.
    """
    counter = (lane << 64 | start // _BLOCK).to_bytes(_BLOCK, "big")
    out = np.zeros(size + _BLOCK - 1, dtype=np.uint8)
    encryptor = Cipher(algorithms.AES256(key), modes.CTR(counter)).encryptor()
    # In place: the zeros are overwritten by what they are encrypted to.
    encryptor.update_into(out[:size].data, out.data)
    return out[:size]


def largest_multiple(prime: int) -> int:
    """The largest multiple of a prime below 2^32 or at it: words below it are uniform modulo it."""
    return (1 << _WORD_BITS) // prime * prime


def uniform_words(key: bytes, lane: int, prime: int, count: int) -> NDArray[np.uint32]:
    """`count` words below `largest_multiple(prime)`, uniform there, from one lane of a stream.

    Words from that multiple on are replaced by what follows in the lane (rejection sampling), so
    that residues modulo the prime are exactly uniform if the stream is.
    """
    limit = largest_multiple(prime)
    # Twice what is expected to be rejected, and some: once in 2^60 streams more is drawn.
    spare = count * 2 * ((1 << _WORD_BITS) - limit) // (1 << _WORD_BITS) + 64
    while True:
        drawn = key_stream(key, 0, _WORD_BYTES * (count + spare), lane=lane).view("<u4")
        words, rest = drawn[:count], drawn[count:]
        rejected = np.flatnonzero(words >= limit)
        rest = rest[rest < limit]
        if len(rest) >= len(rejected):
            words[rejected] = rest[: len(rejected)]
            return words
        spare *= 2


def crypt(data: bytes, key: bytes) -> bytes:
    """Data under the whole stream of a key: encrypts, and decrypts again."""
    return Cipher(algorithms.AES256(key), modes.CTR(bytes(_BLOCK))).encryptor().update(data)


def filled(length: int, dtype: DTypeLike, values: Callable[[slice], NDArray[Any]]) -> NDArray[Any]:
    """An array (length,) of what `values` says of each slice of it, see `in_chunks`."""
    out = np.empty(length, dtype)

    def fill(part: slice) -> None:
        out[part] = values(part)

    in_chunks(length, fill)
    return out


def in_chunks(length: int, work: Callable[[slice], None]) -> None:
    """Call `work` with slices that cover 0 .. length, on the threads that kernels may use."""
    slices = [slice(at, min(at + CHUNK, length)) for at in range(0, length, CHUNK)]
    threads = min(kernels.describe().threads, len(slices))
    if threads < 2:
        for part in slices:
            work(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, slices):  # raises what a chunk raised
            pass
