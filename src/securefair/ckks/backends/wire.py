"""Uploads and answers as bytes of exactly the length that the plan foresees.

    key      b (limbs and special prime, N) as little-endian u32, seed of 64 bytes that gives a
    upload   d records, each c0 residues (limbs, N) in as many bits as their primes have
             (`packing`) and a seed of 64 bytes that expands to c1; so uploads can be joined and
             split at will
    switch   a switching key for ciphertexts of at most l limbs: l such records, one a digit,
             under the first l primes and the special one
    answer   whole: residues (d, polys, limbs, N) as u32, NTT form
             coefficients: masks c1.. (d, polys - 1, limbs, N), NTT form, then the released
             coefficients of c0 (d, q, limbs), coefficient form

The length is checked before anything is allocated, residues against their primes before use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.packing import pack, packed_bytes, unpack
from securefair.ckks.backends.seal_bytes import SEED_BYTES, Seeds
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.tensor import CipherMeta
from securefair.errors import EncryptionError

Words = NDArray[np.uint32]
Packed = NDArray[np.uint8]
Bytes: TypeAlias = bytes | memoryview
WORD = 4


def upload_bytes(meta: CipherMeta) -> int:
    """Length of an upload."""
    return meta.count * (packed_bytes(_primes(meta), meta.params.ring_degree) + SEED_BYTES)


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


def check_public_key(data: bytes, params: CkksParameters) -> None:
    """Refuse what is no public key of these parameters.

    Raises:
        EncryptionError: it has another length, or a residue is not below its prime.
    """
    first, _ = read_public_key(data, params)
    check_below("a public key", first[None], _key_primes(params, params.limbs))


def read_public_key(data: bytes, params: CkksParameters) -> tuple[Words, bytes]:
    """The inverse of `write_public_key`; its length is checked, its residues are not."""
    check_length("a public key", data, public_key_bytes(params))
    first = np.frombuffer(data[:-SEED_BYTES], dtype="<u4")
    return first.reshape(params.limbs + 1, params.ring_degree), data[-SEED_BYTES:]


def switching_key_bytes(params: CkksParameters, limbs: int) -> int:
    """Length of a switching key for ciphertexts of at most that many limbs; 0 for none."""
    return limbs * (packed_bytes(_key_primes(params, limbs), params.ring_degree) + SEED_BYTES)


def split_switching_key(data: Bytes, params: CkksParameters) -> tuple[Packed, Seeds, int]:
    """Packed first polynomials (l, bytes), seeds (l, 64) and l; residues are not yet compared.

    Raises:
        EncryptionError: no switching key of these parameters has that length.
    """
    lengths = [switching_key_bytes(params, limbs) for limbs in range(1, params.limbs + 1)]
    if len(data) not in lengths:
        raise EncryptionError(
            "an evaluation key has the wrong length",
            found=f"{len(data)} bytes",
            expected=f"{', '.join(map(str, lengths))} bytes",
            hint="It was made under other parameters, or by another version of securefair",
        )
    limbs = lengths.index(len(data)) + 1
    records = np.frombuffer(data, dtype=np.uint8).reshape(limbs, -1)
    return records[:, :-SEED_BYTES], records[:, -SEED_BYTES:], limbs


def read_switching_key(data: Bytes, params: CkksParameters) -> tuple[Words, Seeds]:
    """First polynomials (l, l + 1, N) and seeds (l, 64), checked."""
    packed, seeds, limbs = split_switching_key(data, params)
    primes = _key_primes(params, limbs)
    first = unpack(packed, primes, params.ring_degree)
    check_below("an evaluation key", first, primes)
    return first, seeds


def write_upload(first: Words, seeds: Sequence[bytes], primes: Sequence[int]) -> bytes:
    """First polynomials (d, limbs, N), each below its prime, and their seeds."""
    return join_upload(pack(first, primes), np.frombuffer(b"".join(seeds), dtype=np.uint8))


def join_upload(packed: Packed, seeds: Seeds) -> bytes:
    """Packed first polynomials (d, bytes) and their seeds (d, 64)."""
    rows = seeds.reshape(len(packed), SEED_BYTES)
    return np.concatenate([packed, rows], axis=1).tobytes()


def unchanging(data: Bytes) -> Bytes:
    """The same bytes, a copy of them where their owner could still change them."""
    owner = data.obj if isinstance(data, memoryview) else data
    return data if isinstance(owner, bytes) else bytes(data)


def split_upload(data: Bytes, meta: CipherMeta) -> tuple[Packed, Seeds]:
    """Packed first polynomials (d, bytes) and seeds (d, 64): views of an upload.

    Residues are not compared with their primes (`kernels.receive` does, as it copies them).
    """
    check_length("an upload", data, upload_bytes(meta))
    records = np.frombuffer(data, dtype=np.uint8).reshape(meta.count, -1)
    return records[:, :-SEED_BYTES], records[:, -SEED_BYTES:]


def read_upload(data: Bytes, meta: CipherMeta) -> tuple[Words, list[bytes]]:
    """The inverse of `write_upload`, checked."""
    packed, seeds = split_upload(data, meta)
    first = unpack(packed, _primes(meta), meta.params.ring_degree)
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
    """Refuse residues (..., limbs, N) of ciphertexts that are not below their primes."""
    check_below(what, residues, _primes(meta))


def check_below(what: str, residues: Words, primes: Sequence[int]) -> None:
    """Refuse residues (..., limbs, N) that are not below the primes of their limbs."""
    largest = residues.max(axis=-1, initial=0).reshape(-1, len(primes)).max(axis=0)
    if (largest >= np.array(primes, dtype=np.uint32)).any():
        raise EncryptionError(
            f"{what} holds a residue that is not below its prime",
            hint="It was damaged on the way, or made under other parameters",
        )


def _key_primes(params: CkksParameters, limbs: int) -> tuple[int, ...]:
    return (*params.primes[:limbs], params.special_prime)


def _primes(meta: CipherMeta) -> tuple[int, ...]:
    return meta.params.primes[: meta.limbs]
