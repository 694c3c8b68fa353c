"""SEAL 4's serialised objects as residues: the only place that knows its byte layout.

    header          <HBBBBHQ  magic 0xA15E, header size 16, version 4.3, compression, 0, size
    body            zstd when compression = 2, plain when 0
      ciphertext    parms id (32), is_ntt (1), <QQQdQ size, N, limbs, scale, correction factor,
                    array (its own header, <Q count, residues as little-endian u64)
      seeded        the array holds only the first polynomial; then the generator: header,
                    type (1), seed (64)
      plaintext     parms id (32), <Qd coefficient count, scale, array

Reading and writing are public; whoever holds a decrypted plaintext is at home.

SEAL loads `Written` bytes and no others: what a peer sent is read here, its residues are compared
with their primes, and what SEAL gets is written anew (docs/decisions/0018).
"""

from __future__ import annotations

import os
import struct
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import zstandard
from numpy.typing import NDArray

from securefair.errors import EncryptionError

Residues = NDArray[np.uint64]
Seeds = NDArray[np.uint8]
Bytes = bytes | memoryview

_HEADER = struct.Struct("<HBBBBHQ")
_MAGIC, _VERSION = 0xA15E, (4, 3)
_PLAIN, _ZSTD = 0, 2
_CIPHERTEXT = struct.Struct("<32sBQQQdQ")
_PLAINTEXT = struct.Struct("<32sQd")
_COUNT = struct.Struct("<Q")
GENERATOR_BYTES = _HEADER.size + 1 + 64
SEED_BYTES = 64
_BLAKE2XB = 1
_PIECE = 1 << 20
_WINDOW = 1 << 23
"""SEAL's own windows have 2 MiB; a frame of a few bytes could ask for 128."""
MAX_BODY_BYTES = 1 << 29
"""No object that the security table allows is larger; what decompresses to more is an attack."""


class Written(bytes):
    """A SEAL object that this module wrote, from residues below their primes."""


class Savable(Protocol):
    """Any SEAL object."""

    def save(self, path: str) -> None:
        """Write the serialised object to a file."""


class Pipe:
    """An anonymous in-memory file: SEAL's Python surface reads and writes paths only.

    A fork shares it: what one process writes the other could read, and two answers would be
    masked by one encryption of zero. So it serves only the process that made it. It is emptied
    after every use: what passes may be a secret key, and the system frees a file's pages.

    Attributes:
        process: id of that process.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self._descriptor = os.memfd_create("securefair")
        self.path = f"/proc/self/fd/{self._descriptor}"
        weakref.finalize(self, os.close, self._descriptor)

    def body(self, obj: Savable) -> bytes:
        """The decompressed body of a SEAL object."""
        return unwrap(self.serialized(obj))

    def serialized(self, obj: Savable) -> bytes:
        """The object as SEAL writes it."""
        with self._emptied():
            obj.save(self.path)
            return os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)

    @contextmanager
    def offered(self, data: Written) -> Iterator[str]:
        """A path from which SEAL can load `data`."""
        with self._emptied():
            os.pwrite(self._descriptor, data, 0)
            yield self.path

    @contextmanager
    def _emptied(self) -> Iterator[None]:
        try:
            yield
        finally:
            os.ftruncate(self._descriptor, 0)


_PIPES = threading.local()


def own_pipe() -> Pipe:
    """This thread's pipe in this process: what one writes, no other may read."""
    pipe: Pipe | None = getattr(_PIPES, "pipe", None)
    if pipe is None or pipe.process != os.getpid():  # forked
        _PIPES.pipe = pipe = Pipe()
    return pipe


def unwrap(data: bytes) -> bytes:
    """Header off, decompressed; of objects that SEAL wrote in this process.

    Raises:
        EncryptionError: not a SEAL object, or one that decompresses to more than MAX_BODY_BYTES.
    """
    if len(data) < _HEADER.size:
        raise EncryptionError("a SEAL object is truncated", found=f"{len(data)} bytes")
    magic, size, *version, compression, _, total = _HEADER.unpack_from(data)
    if (magic, size, tuple(version), total) != (_MAGIC, _HEADER.size, _VERSION, len(data)):
        raise EncryptionError("these bytes are not a SEAL 4.3 object")
    body = data[_HEADER.size :]
    if compression == _PLAIN:
        return body
    return _inflated(body)


def _inflated(body: bytes) -> bytes:
    pieces, size = [], 0
    try:
        reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(body)
        while piece := reader.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_BODY_BYTES:
                raise EncryptionError(
                    "a SEAL object is too large", expected=f"at most {MAX_BODY_BYTES} bytes"
                )
    except zstandard.ZstdError as error:
        raise EncryptionError("a SEAL object cannot be decompressed", found=str(error)) from error
    return b"".join(pieces)


def wrapped(body: list[Bytes]) -> list[Bytes]:
    """Header on, of pieces that are not copied; uncompressed, since SEAL loads that fifteen times
    faster than it writes zstd."""
    total = _HEADER.size + sum(len(piece) for piece in body)
    return [_HEADER.pack(_MAGIC, _HEADER.size, *_VERSION, _PLAIN, 0, total), *body]


def check_residues(what: str, residues: Residues, primes: Sequence[int]) -> None:
    """Refuse residues (..., limbs, N) that are not below their primes.

    Raises:
        EncryptionError: one is not, or there is not one limb a prime.
    """
    limbs = residues.shape[-2]
    largest = residues.max(axis=-1, initial=0).reshape(-1, limbs)
    if limbs != len(primes) or (largest >= np.array(primes, dtype=np.uint64)).any():
        raise EncryptionError(
            f"{what} holds a residue that is not below its prime",
            hint="It was damaged on the way, or made under other parameters",
        )


@contextmanager
def _parsing(what: str) -> Iterator[None]:
    try:
        yield
    except (struct.error, ValueError, OverflowError) as error:
        raise EncryptionError(f"{what} is malformed", found=str(error)) from error


def _array(values: Residues) -> list[Bytes]:
    raw = np.ascontiguousarray(values, dtype="<u8").reshape(-1).view(np.uint8)
    return wrapped([_COUNT.pack(values.size), raw.data])


def _values(body: bytes, offset: int) -> tuple[Residues, int]:
    start = offset + _HEADER.size + _COUNT.size
    (count,) = _COUNT.unpack_from(body, offset + _HEADER.size)
    end = start + 8 * count
    return np.frombuffer(body[start:end], dtype="<u8"), end


def write_ciphertext(
    residues: Residues,
    parms_id: bytes,
    primes: Sequence[int],
    *,
    ntt: bool = True,
    seed: bytes = b"",
) -> Written:
    """Residues (polys, limbs, N) under their primes as a loadable ciphertext of scale 1.

    With a seed, the residues are the first polynomial (1, limbs, N) and SEAL expands the second.

    Raises:
        EncryptionError: a residue is not below its prime.
    """
    return Written(b"".join(_ciphertext(residues, parms_id, primes, ntt=ntt, seed=seed)))


def _ciphertext(
    residues: Residues, parms_id: bytes, primes: Sequence[int], *, ntt: bool = True, seed: bytes
) -> list[Bytes]:
    check_residues("a ciphertext", residues, primes)
    polys, limbs, n = residues.shape
    facts = _CIPHERTEXT.pack(parms_id, ntt, polys + bool(seed), n, limbs, 1.0, 1)
    generator = wrapped([bytes([_BLAKE2XB]), seed]) if seed else []
    return wrapped([facts, *_array(residues), *generator])


def read_ciphertext(body: bytes) -> tuple[Residues, bytes]:
    """Residues (polys, limbs, N), or for a seeded ciphertext (1, limbs, N) and its seed."""
    with _parsing("a ciphertext"):
        _, _, polys, n, limbs, _, _ = _CIPHERTEXT.unpack_from(body)
        values, end = _values(body, _CIPHERTEXT.size)
        seed = body[end + _HEADER.size + 1 :]
        return values.reshape(polys - bool(seed), limbs, n), seed


def read_plaintext(body: bytes, ring_degree: int) -> Residues:
    """Residues (limbs, N) of a decrypted plaintext, in NTT form."""
    with _parsing("a plaintext"):
        values, _ = _values(body, _PLAINTEXT.size)
        return values.reshape(-1, ring_degree)


def write_plaintext(residues: Residues, parms_id: bytes, primes: Sequence[int]) -> Written:
    """Residues (limbs, N) in NTT form as a loadable plaintext; a secret key is one.

    Raises:
        EncryptionError: a residue is not below its prime.
    """
    check_residues("a plaintext", residues, primes)
    facts = _PLAINTEXT.pack(parms_id, residues.size, 1.0)
    return Written(b"".join(wrapped([facts, *_array(residues)])))


def write_seeded_key(
    first: Residues, seeds: Seeds, parms_id: bytes, primes: Sequence[int], *, place: int = 0
) -> Written:
    """First polynomials (digits, limbs, N) and seeds (digits, 64) as a loadable switching key.

    Args:
        first, seeds, parms_id, primes: parts of the key.
        place: where the key stands in SEAL's list, which holds no other: 0 of relinearisation keys
            for s^2, (e - 1) / 2 of Galois keys for the element e.

    Raises:
        EncryptionError: a residue is not below its prime.
    """
    body: list[Bytes] = [_key_start(parms_id, place, len(first), place + 1)]
    for residues, seed in zip(first, seeds, strict=True):
        body += _ciphertext(residues[None], parms_id, primes, seed=seed.tobytes())
    return Written(b"".join(wrapped(body)))


def _key_start(parms_id: bytes, place: int, digits: int, places: int) -> bytes:
    counts = bytes(_COUNT.size * place) + _COUNT.pack(digits)
    return struct.pack("<32sQ", parms_id, places) + counts


def read_seeded_key(
    body: bytes,
    parms_id: bytes,
    primes: Sequence[int],
    shape: tuple[int, int, int],
    *,
    place: int = 0,
) -> tuple[Residues, Seeds]:
    """First polynomials (digits, limbs, N) and seeds (digits, 64) of a key at a place, which SEAL
    has made here.

    Raises:
        EncryptionError: it holds another number of residues, or no seeds.
    """
    digits, limbs, n = shape
    places = n if place else 1  # SEAL makes room for every element
    start = _key_start(parms_id, place, digits, places)
    rest = bytes(_COUNT.size * (places - place - 1))
    zeros = np.zeros((1, limbs, n), np.uint64)
    blank = write_ciphertext(zeros, parms_id, primes, seed=bytes(SEED_BYTES))
    expected = len(start) + digits * len(blank) + len(rest)
    if len(body) != expected or not (body.startswith(start) and body.endswith(rest)):
        raise EncryptionError(
            "a seeded key for one switch alone is expected", found=f"{len(body)} bytes"
        )
    each = np.frombuffer(body, np.uint8, digits * len(blank), offset=len(start))
    each = each.reshape(digits, len(blank))
    end = len(blank) - GENERATOR_BYTES
    first = each[:, end - 8 * limbs * n : end].copy().view("<u8").reshape(shape)
    seeds = each[:, -SEED_BYTES:].copy()
    return first, seeds
