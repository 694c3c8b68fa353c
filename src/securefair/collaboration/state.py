"""What a participant learns with, as bytes and back, without any code in the bytes.

That is numbers, arrays, tensors and training states, in frozen dataclasses and mappings. A fresh
one is the template that a snapshot is read into: structure, devices and models' shapes come from
there, numbers from the bytes. So reading a snapshot never runs anything.

Guarantee: a state that was written and read goes on exactly as the one that was written; every
float keeps its bits.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.errors import DataError, LocalProtocolError

S = TypeVar("S")

TENSOR, TRAIN_STATE = "tensor", "train_state"
"""Tags of what torch makes, whose parts are those of `torch_state`."""

KINDS = "fiub"
"""Kinds of numpy numbers that a snapshot holds."""


def encode_state(state: object) -> bytes:
    """A state as bytes.

    Raises:
        LocalProtocolError: a part of it is something else than the module says.
    """
    return msgspec.msgpack.encode(_encoded(state, "state"))


def decode_state(data: bytes, template: S) -> S:
    """The state that was written, in the structure of `template`, which is left as it was.

    Raises:
        DataError: the bytes are no snapshot of such a state.
    """
    try:
        restored: S = _decoded(msgspec.msgpack.decode(data, strict=True), template)
    except (
        msgspec.DecodeError,
        AttributeError,
        KeyError,
        IndexError,
        TypeError,
        ValueError,
    ) as error:
        raise DataError("this is no snapshot of such a state", found=str(error)) from error
    return restored


def _encoded(value: object, where: str) -> object:
    match value:
        case None | bool() | int() | float() | str() | bytes():
            return value
        case np.ndarray():
            return _array("array", value, where)
        case np.generic():
            return _encoded(value.item(), where)
        case Mapping():
            pairs = [[_encoded(k, where), _encoded(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return ["map", pairs]
        case list() | tuple():
            parts = [_encoded(part, f"{where}[{at}]") for at, part in enumerate(value)]
            return ["tuple" if isinstance(value, tuple) else "list", parts]
    if "torch" in sys.modules:  # nothing is of torch before somebody has loaded it
        from securefair.collaboration.torch_state import parts_of

        tag, *held = parts_of(value)
        if tag == TENSOR:
            return _array(tag, held[0], where)
        if tag == TRAIN_STATE:
            return [tag, *([_encoded(each, where) for each in part] for part in held)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        return ["fields", {n: _encoded(getattr(value, n), f"{where}.{n}") for n in names}]
    raise _not_storable(where, type(value).__name__)


def _decoded(data: Any, template: Any) -> Any:
    if not isinstance(data, list):
        return data
    tag, *rest = data
    match tag:
        case str() if tag == TENSOR:
            from securefair.collaboration.torch_state import tensor_of

            return tensor_of(_numbers(rest), template)
        case str() if tag == TRAIN_STATE:
            from securefair.collaboration.torch_state import train_state_of

            own, momentum = ([_decoded(part, None) for part in parts] for parts in rest)
            return train_state_of(own, momentum, template)
        case "array":
            return _numbers(rest)
        case "map":
            known = template if isinstance(template, Mapping) else {}
            return {k: _decoded(v, known.get(k)) for k, v in rest[0]}
        case "list" | "tuple":
            models = template if isinstance(template, list | tuple) else ()
            parts = [
                _decoded(part, models[at] if at < len(models) else None)
                for at, part in enumerate(rest[0])
            ]
            return tuple(parts) if tag == "tuple" else parts
        case "fields":
            values = {name: _decoded(v, getattr(template, name)) for name, v in rest[0].items()}
            return dataclasses.replace(template, **values)
    raise ValueError(f"unknown part {tag!r}")


def _array(tag: str, array: NDArray[np.generic], where: str) -> list[object]:
    if array.dtype.kind not in KINDS:
        raise _not_storable(where, str(array.dtype))
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return [tag, little.dtype.str, list(array.shape), little.tobytes()]


def _numbers(data: list[Any]) -> NDArray[np.generic]:
    dtype, shape, content = data
    kind = np.dtype(dtype)
    if kind.kind not in KINDS:
        raise ValueError(f"no numbers: {dtype}")
    return np.frombuffer(content, kind).reshape(shape).astype(kind.newbyteorder("="), copy=True)


def _not_storable(where: str, found: str) -> LocalProtocolError:
    return LocalProtocolError("a state holds what cannot be stored", where=where, found=found)
