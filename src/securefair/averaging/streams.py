"""Key streams as arrays, and work in chunks.

A stream is AES-256 in counter mode from zero: each key makes one stream, and any part of it can
be made on its own, so that chunks are independent and fit in a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from securefair.ckks.backends import kernels

CHUNK = 1 << 18
"""Parameters worked on at once: temporaries of a few megabytes, whatever the model's size."""

_BLOCK = 16  # bytes of an AES block


def key_stream(key: bytes, start: int, size: int) -> NDArray[np.uint8]:
    """Bytes start .. start + size of the stream; start is a multiple of 16."""
    counter = (start // _BLOCK).to_bytes(_BLOCK, "big")
    out = np.zeros(size + _BLOCK - 1, dtype=np.uint8)
    encryptor = Cipher(algorithms.AES256(key), modes.CTR(counter)).encryptor()
    # In place: the zeros are overwritten by what they are encrypted to.
    encryptor.update_into(out[:size].data, out.data)
    return out[:size]


def crypt(data: bytes, key: bytes) -> bytes:
    """Data under the whole stream of a key: encrypts, and decrypts again."""
    return Cipher(algorithms.AES256(key), modes.CTR(bytes(_BLOCK))).encryptor().update(data)


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
