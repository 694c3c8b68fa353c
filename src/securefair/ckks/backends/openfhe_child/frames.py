"""Frames between the openfhe backend and its child process, and what they may ask for.

A frame, both ways, is a header, the lengths of its parts and the parts; all integers are
little-endian:

    magic 4 bytes | operation or status u8 | number of parts u8 | length u64 each | parts

An array is two u32, rows and columns, and float64 values. Limits are checked before anything is
allocated.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Parts = list[bytes]

FRAME = struct.Struct("<4sBB")
LENGTH = struct.Struct("<Q")
MAGIC = b"SFO1"
MAX_PARTS = 4
MAX_FRAME = 1 << 31

GENERATE = struct.Struct("<IIBBd")
"""Slots, successive products, relinearisation key wanted, `Decryption`, noise bits."""
GENERATED = struct.Struct("<16sId")
"""Identifier of the keys, ring degree, log2 of the modulus."""
HANDLE = struct.Struct("<Q")
KEY_ID = struct.Struct("16s")
COUNT = struct.Struct("<I")
SIGN = struct.Struct("<b")
SHAPE = struct.Struct("<II")
REAL = struct.Struct("<d")


class Op(IntEnum):
    """What the parent may ask for."""

    GENERATE = 0
    ENCRYPT = 1
    LOAD = 2
    LINEAR = 3
    COMBINE = 4
    MULTIPLY = 5
    INNER = 6
    OUTER = 7
    RELINEARIZE = 8
    ADD_ENCRYPTED = 9
    EXTRACT = 10
    OPEN = 11
    MEASURE = 12
    FORGET = 13
    FORGET_KEYS = 14


class Status(IntEnum):
    """How an operation ended."""

    DONE = 0
    REFUSED = 1


class Decryption(IntEnum):
    """OpenFHE's ways to decrypt: its default, and the two passes of NOISE_FLOODING_DECRYPT."""

    DEFAULT = 0
    MEASURE = 1
    FLOOD = 2


def pack(code: int, parts: Sequence[bytes]) -> bytes:
    """A frame."""
    lengths = b"".join(LENGTH.pack(len(part)) for part in parts)
    return b"".join([FRAME.pack(MAGIC, code, len(parts)), lengths, *parts])


def read_frame(read: Callable[[int], bytes]) -> tuple[int, Parts]:
    """A frame from a function that returns exactly as many bytes as asked for.

    Raises:
        ValueError: not a frame, or one beyond the limits; nothing was allocated for it.
    """
    magic, code, count = FRAME.unpack(read(FRAME.size))
    if magic != MAGIC or count > MAX_PARTS:
        raise ValueError("not a frame")
    lengths = [LENGTH.unpack(read(LENGTH.size))[0] for _ in range(count)]
    if sum(lengths) > MAX_FRAME:
        raise ValueError(f"a frame of {sum(lengths)} bytes")
    return code, [read(length) for length in lengths]


def pack_array(values: Array) -> bytes:
    """A matrix as a part."""
    return SHAPE.pack(*values.shape) + np.ascontiguousarray(values, dtype="<f8").tobytes()


def unpack_array(part: bytes) -> Array:
    """The inverse of `pack_array`.

    Raises:
        ValueError: the length is not that of the shape.
    """
    rows, columns = SHAPE.unpack_from(part)
    values = np.frombuffer(part, dtype="<f8", offset=SHAPE.size)
    return values.reshape(rows, columns).astype(np.float64)
