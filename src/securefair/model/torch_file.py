"""Tensors out of PyTorch's older weight files, without running what is in them.

Such a file is a pickle, which may call any function while it is read. Here its operations are
walked and only those of a dictionary of tensors are understood; a function is a name that is
compared with known ones, and never called:

    pickles    magic number, version, machine, {name: tensor}, names of the storages
    storages   in that order: count as little-endian i64, then the values as little-endian floats

Source: torch/serialization.py (`_legacy_save`); pickletools for the operations.
"""

from __future__ import annotations

import io
import pickletools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from securefair.errors import ModelError

MAGIC = 0x1950A86A20F9469CFC6C
_PICKLES = 5
_DTYPES: dict[str, np.dtype[Any]] = {
    "torch FloatStorage": np.dtype("<f4"),
    "torch DoubleStorage": np.dtype("<f8"),
    "torch LongStorage": np.dtype("<i8"),
}
Values = NDArray[np.generic]

_DICTIONARY, _TENSOR = "collections OrderedDict", "torch._utils _rebuild_tensor_v2"
_IGNORED = {"PROTO", "FRAME"}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "BINSTRING"}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass(frozen=True)
class _Name:
    """A function or class that the file names; it is only compared."""

    name: str


@dataclass(frozen=True)
class _Stored:
    """A tensor, before its storage was read: where it lies, its shape and strides in values."""

    dtype: np.dtype[Any]
    key: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


_MARK = _Name("mark")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file that `torch.save` wrote in its older format.

    Raises:
        ModelError: it is no such file, or holds anything but a dictionary of tensors.
    """
    stream = io.BytesIO(path.read_bytes())
    try:
        magic, _, _, found, keys = (_Reader().read(stream) for _ in range(_PICKLES))
        if magic != MAGIC or not isinstance(found, dict) or not isinstance(keys, list):
            raise ValueError("no dictionary of tensors")
        dtypes = {each.key: each.dtype for each in found.values() if isinstance(each, _Stored)}
        storages = {key: _storage(stream, dtypes[key]) for key in keys}
        return {name: _tensor(each, storages) for name, each in found.items()}
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ModelError(
            "this is not a file of tensors", where=str(path), found=str(error)
        ) from error


class _Reader:
    """A stack machine for the few operations of a pickled dictionary of tensors."""

    def __init__(self) -> None:
        self._stack: list[object] = []
        self._memo: dict[int, object] = {}

    def read(self, stream: io.BytesIO) -> object:
        """The value of the next pickle; the stream stands behind it afterwards."""
        for operation, argument, _ in pickletools.genops(stream):
            if operation.name == "STOP":
                return self._stack.pop()
            self._run(operation.name, argument)
        raise ValueError("a pickle has no end")

    def _run(self, name: str, argument: object) -> None:
        stack = self._stack
        if name in _IGNORED:
            return
        if name in _VALUES:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            size = _TUPLES[name]
            parts = tuple(stack[len(stack) - size :])
            stack[len(stack) - size :] = [parts]
        elif name in ("BINPUT", "LONG_BINPUT") and isinstance(argument, int):
            self._memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET") and isinstance(argument, int):
            stack.append(self._memo[argument])
        elif name == "GLOBAL":
            stack.append(_Name(str(argument)))
        else:
            self._build(name)

    def _build(self, name: str) -> None:
        stack = self._stack
        match name:
            case "MARK":
                stack.append(_MARK)
            case "EMPTY_DICT":
                stack.append({})
            case "EMPTY_LIST":
                stack.append([])
            case "TUPLE":
                stack.append(tuple(self._marked()))
            case "SETITEM":
                value, key = stack.pop(), stack.pop()
                self._dictionary()[key] = value
            case "SETITEMS":
                pairs = self._marked()
                self._dictionary().update(zip(pairs[::2], pairs[1::2], strict=True))
            case "APPENDS":
                values, last = self._marked(), stack[-1]
                if not isinstance(last, list):
                    raise ValueError("no list")
                last.extend(values)
            case "BINPERSID" | "BUILD":
                state = stack.pop()
                if name == "BINPERSID":
                    stack.append(state)  # else: metadata of an ordered dictionary
            case "REDUCE":
                arguments, function = stack.pop(), stack.pop()
                stack.append(_called(function, arguments))
            case _:
                raise ValueError(f"operation {name}")

    def _marked(self) -> list[object]:
        at = max(place for place, value in enumerate(self._stack) if value is _MARK)
        values = self._stack[at + 1 :]
        del self._stack[at:]
        return values

    def _dictionary(self) -> dict[object, object]:
        last = self._stack[-1]
        if not isinstance(last, dict):
            raise ValueError("no dictionary")
        return last


def _called(function: object, arguments: object) -> object:
    """What a known function would give."""
    if function == _Name(_DICTIONARY) and arguments == ():
        return {}
    if function == _Name(_TENSOR) and isinstance(arguments, tuple):
        storage, offset, shape, strides = arguments[:4]
        return _Stored(_DTYPES[storage[1].name], storage[2], offset, shape, strides)
    raise ValueError(f"a call of {getattr(function, 'name', function)}")


def _storage(stream: io.BytesIO, dtype: np.dtype[Any]) -> Values:
    count = int.from_bytes(stream.read(8), "little", signed=True)
    data = stream.read(max(0, count) * dtype.itemsize)
    values = np.frombuffer(data, dtype=dtype)
    if len(values) != count:
        raise ValueError("a storage is cut off")
    return values


def _tensor(stored: object, storages: dict[str, Values]) -> Tensor:
    if not isinstance(stored, _Stored):
        raise ValueError("something else than a tensor")
    values = storages[stored.key]
    last = stored.offset + sum(
        (size - 1) * stride for size, stride in zip(stored.shape, stored.strides, strict=True)
    )
    negative = min((stored.offset, *stored.shape, *stored.strides)) < 0
    if negative or (0 not in stored.shape and last >= len(values)):
        raise ValueError("a tensor lies outside its storage")
    whole = torch.from_numpy(values.copy())
    return whole.as_strided(stored.shape, stored.strides, stored.offset).clone()
