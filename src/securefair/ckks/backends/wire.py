"""Uploads and answers as bytes of exactly the length that the plan foresees.

    key      b (limbs and special prime, N) as little-endian u32, seed of 64 bytes that gives a
    upload   d records, each c0 residues (limbs, N) as little-endian u32 and a seed of 64 bytes
             that expands to c1; so uploads can be joined and split at will
    answer   whole: residues (d, polys, limbs, N) as u32, NTT form
             coefficients: masks c1.. (d, polys - 1, limbs, N), NTT form, then the released
             coefficients of c0 (d, q, limbs), coefficient form

The length is checked before anything is allocated, residues against their primes before use.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.seal_bytes import SEED_BYTES, Seeds
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.tensor import CipherMeta
from securefair.errors import EncryptionError

Words = NDArray[np.uint32]
Bytes: TypeAlias = bytes | memoryview
WORD = 4


def upload_bytes(meta: CipherMeta) -> int:
    """Length of an upload."""
    return meta.count * (meta.limbs * meta.params.ring_degree * WORD + SEED_BYTES)


def answer_bytes(meta: CipherMeta, coefficients: int | None) -> int:
    """Length of an answer that releases that many coefficients (None: whole ciphertexts)."""
    polynomial = meta.limbs * meta.params.ring_degree * WORD
    if coefficients is None:
        return meta.count * meta.polys * polynomial
    return meta.count * ((meta.polys - 1) * polynomial + coefficients * meta.limbs * WORD)


def public_key_bytes(params: CkksParameters) -> int:
    """Length of a public key."""
    return (params.limbs + 1) * params.ring_degree * WORD + SEED_BYTES


def write_public_key(first: Words, seed: bytes) -> bytes:
    """b (limbs + 1, N) and the seed of a."""
    return first.astype("<u4").tobytes() + seed


def read_public_key(data: bytes, params: CkksParameters) -> tuple[Words, bytes]:
    """The inverse of `write_public_key`; residues are checked where they are used."""
    check_length("a public key", data, public_key_bytes(params))
    first = np.frombuffer(data[:-SEED_BYTES], dtype="<u4")
    return first.reshape(params.limbs + 1, params.ring_degree), data[-SEED_BYTES:]


def write_upload(first: Words, seeds: list[bytes]) -> bytes:
    """First polynomials (d, limbs, N) and their seeds."""
    rows = np.ascontiguousarray(first, dtype="<u4")
    return b"".join(
        part for row, seed in zip(rows, seeds, strict=True) for part in (row.data.cast("B"), seed)
    )


def blank_upload(meta: CipherMeta) -> tuple[NDArray[np.uint8], Words, Seeds]:
    """Records (d, bytes) of an upload to be filled, and in them the first polynomials and seeds."""
    records = np.empty((meta.count, upload_bytes(meta) // meta.count), dtype=np.uint8)
    return records, *_parts(records, meta)


def unchanging(data: Bytes) -> Bytes:
    """The same bytes, a copy of them where their owner could still change them."""
    owner = data.obj if isinstance(data, memoryview) else data
    return data if isinstance(owner, bytes) else bytes(data)


def split_upload(data: Bytes, meta: CipherMeta) -> tuple[Words, Seeds]:
    """First polynomials (d, limbs, N) and seeds (d, 64): views of an upload of the right length.

    Residues are not compared with their primes (`kernels.receive` does, as it copies them).
    """
    check_length("an upload", data, upload_bytes(meta))
    return _parts(np.frombuffer(data, dtype=np.uint8).reshape(meta.count, -1), meta)


def _parts(records: NDArray[np.uint8], meta: CipherMeta) -> tuple[Words, Seeds]:
    shape = (meta.count, meta.limbs, meta.params.ring_degree)
    return records[:, :-SEED_BYTES].view("<u4").reshape(shape), records[:, -SEED_BYTES:]


def read_upload(data: Bytes, meta: CipherMeta) -> tuple[Words, list[bytes]]:
    """The inverse of `write_upload`, checked."""
    first, seeds = split_upload(data, meta)
    check_residues("an upload", first, meta)
    return first, [seed.tobytes() for seed in seeds]


def write_answer(masks: Words, values: Words) -> bytes:
    """Masks (d, polys - 1, limbs, N) and released coefficients (d, q, limbs)."""
    return masks.astype("<u4").tobytes() + values.astype("<u4").tobytes()


def read_answer(data: bytes, meta: CipherMeta, coefficients: int) -> tuple[Words, Words]:
    """The inverse of `write_answer`, checked."""
    check_length("an answer", data, answer_bytes(meta, coefficients))
    n = meta.params.ring_degree
    words = np.frombuffer(data, dtype="<u4")
    split = meta.count * (meta.polys - 1) * meta.limbs * n
    masks = words[:split].reshape(meta.count, meta.polys - 1, meta.limbs, n)
    values = words[split:].reshape(meta.count, coefficients, meta.limbs)
    check_residues("an answer", masks, meta)
    check_residues("an answer", values.swapaxes(1, 2), meta)
    return masks, values


def read_whole(data: bytes, meta: CipherMeta) -> Words:
    """A whole answer: residues (d, polys, limbs, N)."""
    check_length("an answer", data, answer_bytes(meta, None))
    residues = np.frombuffer(data, dtype="<u4").reshape(meta.residue_shape)
    check_residues("an answer", residues, meta)
    return residues


def check_length(what: str, data: Bytes, expected: int) -> None:
    """Refuse anything but the planned number of bytes."""
    if len(data) != expected:
        raise EncryptionError(
            f"{what} has the wrong length",
            found=f"{len(data)} bytes",
            expected=f"{expected} bytes",
            hint="Both sides must use the same plan",
        )


def check_residues(what: str, residues: Words, meta: CipherMeta) -> None:
    """Refuse residues (..., limbs, N) that are not below their primes."""
    primes = np.array(meta.params.primes[: meta.limbs], dtype=np.uint32)
    largest = residues.max(axis=-1, initial=0).reshape(-1, meta.limbs).max(axis=0)
    if (largest >= primes).any():
        raise EncryptionError(
            f"{what} holds a residue that is not below its prime",
            hint="It was damaged on the way, or made under other parameters",
        )
