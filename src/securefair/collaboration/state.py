"""What a participant learns with, as bytes and back, without any code in the bytes.

That is numbers, arrays, tensors and training states, in frozen dataclasses and mappings. A fresh
one is the template that a snapshot is read into: structure, devices and models' shapes come from
there, numbers from the bytes. So reading a snapshot never runs anything.

Guarantee: a state that was written and read goes on exactly as the one that was written; every
float keeps its bits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from securefair.errors import DataError, LocalProtocolError
from securefair.model.training import TrainState

S = TypeVar("S")

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
        case TrainState():
            return ["train_state", *_encoded_train_state(value)]
        case torch.Tensor():
            return _array("tensor", value.detach().cpu().numpy(), where)
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
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        return ["fields", {n: _encoded(getattr(value, n), f"{where}.{n}") for n in names}]
    raise _not_storable(where, type(value).__name__)


def _decoded(data: Any, template: Any) -> Any:
    if not isinstance(data, list):
        return data
    tag, *rest = data
    match tag:
        case "train_state":
            return _decoded_train_state(rest, template)
        case "tensor":
            tensor = torch.from_numpy(_numbers(rest))
            return tensor.to(template.device) if isinstance(template, torch.Tensor) else tensor
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


def _encoded_train_state(train_state: TrainState) -> tuple[object, object]:
    """Parameters in the model's order, and the momentum of each; None before the first step."""
    return (
        [_encoded(parameter, "parameter") for parameter in train_state.model.parameters()],
        [_encoded(each, "momentum") for each in train_state.momentum],
    )


def _decoded_train_state(data: list[Any], template: object) -> TrainState:
    if not isinstance(template, TrainState):
        raise ValueError("a training state has no counterpart")
    train_state = template.copy()
    values, momentum = ([_decoded(part, None) for part in parts] for parts in data)
    parameters = list(train_state.model.parameters())
    with torch.no_grad():
        for parameter, value in zip(parameters, values, strict=True):
            if parameter.shape != value.shape or parameter.dtype != value.dtype:
                raise ValueError(f"a parameter of shape {tuple(value.shape)} does not fit")
            parameter.copy_(value)
    if len(momentum) != len(parameters):
        raise ValueError(f"momentum of {len(momentum)} parameters does not fit")
    train_state.momentum[:] = momentum
    return train_state


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
