"""A machine's memory as bytes and back, so that a participant goes on where its process ended.

The structure is that of the classes (`turn.Memory` and what is in it): every object is a list of
its class's name and its fields, in order. Large byte strings stand apart, by their hash: keys and
uploads of megabytes stay the same while kilobytes change with every input.

Guarantee: a memory that was written and read is equal to the one that was written, every float to
its last bit. Reading runs no code of the bytes.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from securefair.errors import LocalProtocolError
from securefair.protocol.messages import MESSAGE_TYPES
from securefair.protocol.turn import Memory

APART_BYTES = 512
"""Longer byte strings stand apart."""

_Load = Callable[[bytes], bytes]
_Reader = Callable[[Any, _Load], Any]

_AS_THEY_ARE = frozenset((type(None), bool, int, float, str))
_APART = 1  # code of msgpack's extension
_NOTHING: Mapping[bytes, bytes] = types.MappingProxyType({})
_NAMED = {kind.__name__: kind for kind in MESSAGE_TYPES}


def encode_memory(
    memory: Memory, before: Mapping[bytes, bytes] = _NOTHING
) -> tuple[bytes, dict[bytes, bytes]]:
    """A memory without its large byte strings, and these by their hash.

    Args:
        memory: of a machine.
        before: byte strings that stood apart the last time, by their hash: those that are still
            the same objects are not hashed again.
    """
    apart = _Apart({id(value): digest for digest, value in before.items()})
    return msgspec.msgpack.encode(_plain(memory, apart)), apart.found


@dataclasses.dataclass
class _Apart:
    """Large byte strings by their hash, and the hashes of objects that are known."""

    known: Mapping[int, bytes]
    found: dict[bytes, bytes] = dataclasses.field(default_factory=dict)

    def hash_of(self, value: bytes) -> bytes:
        digest = self.known.get(id(value)) or hashlib.sha256(value).digest()
        self.found[digest] = value
        return digest


def decode_memory(data: bytes, load: _Load) -> Memory:
    """The memory that was written.

    Args:
        data: what `encode_memory` gave.
        load: a large byte string, by its hash.

    Raises:
        LocalProtocolError: it is no memory of this version.
    """
    try:
        memory = _object(msgspec.msgpack.decode(data), Memory, load)
    except (msgspec.DecodeError, TypeError, ValueError, LookupError) as error:
        raise LocalProtocolError(
            "what was stored is no memory of this version", where="memory", found=str(error)
        ) from error
    if not isinstance(memory, Memory):
        raise LocalProtocolError("what was stored is no memory", found=type(memory).__name__)
    return memory


def _plain(value: object, apart: _Apart) -> object:
    kind: Any = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if (fields := _fields(kind)) is not None:
        return [kind.__name__, *_all_plain([getattr(value, name) for name in fields], apart)]
    match value:
        case enum.Enum():  # before the numbers and texts that some of them are
            return value.name
        case int() | float() | str():
            return value
        case tuple():
            return _all_plain(value, apart)
        case bytes():
            if len(value) <= APART_BYTES:
                return value
            return msgspec.msgpack.Ext(_APART, apart.hash_of(value))
        case type():
            return value.__name__
        case Mapping():
            return [[_plain(key, apart), _plain(one, apart)] for key, one in value.items()]
    raise LocalProtocolError("a memory holds what cannot be stored", found=kind.__name__)


def _all_plain(values: Iterable[object], apart: _Apart) -> list[object]:
    """Most values are numbers and texts: no call for each of them."""
    return [one if type(one) in _AS_THEY_ARE else _plain(one, apart) for one in values]


@cache
def _fields(kind: type) -> tuple[str, ...] | None:
    """Of a class of objects; None of anything else."""
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_fields__
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return None


@cache
def _readers(kind: type) -> tuple[tuple[str, _Reader], ...]:
    """Of the fields of a class of objects, in order."""
    return tuple((name, _reader(hint)) for name, hint in typing.get_type_hints(kind).items())


@cache
def _reader(hint: Any) -> _Reader:
    """What reads values of an annotated type; TypeError, ValueError, LookupError: they do not fit.

    Annotations are looked through once, not at each of the thousands of values of a memory.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _reader_of_union(arguments)
    if origin is type:
        return lambda data, _: _NAMED[data]
    if origin is not None and issubclass(origin, Mapping):
        key, value = (_reader(argument) for argument in arguments)
        return lambda data, load: {key(k, load): value(v, load) for k, v in data}
    if origin is tuple:
        return _reader_of_tuple(arguments)
    if issubclass(hint, enum.Enum):
        return lambda data, _: hint[data]
    if issubclass(hint, msgspec.Struct) or dataclasses.is_dataclass(hint):
        return lambda data, load: _object(data, hint, load)
    return lambda data, load: data if type(data) is hint else _other(data, hint, load)


def _reader_of_union(kinds: tuple[Any, ...]) -> _Reader:
    others = [kind for kind in kinds if kind is not type(None)]
    named = {kind.__name__: kind for kind in others if isinstance(kind, type)}
    only = _reader(others[0]) if len(others) == 1 else None

    def read(data: Any, load: _Load) -> Any:
        if data is None:
            if len(others) == len(kinds):
                raise TypeError("nothing where something is needed")
            return None
        return _object(data, named[data[0]], load) if only is None else only(data, load)

    return read


def _reader_of_tuple(kinds: tuple[Any, ...]) -> _Reader:
    if kinds[-1] is Ellipsis:
        each = _reader(kinds[0])
        return lambda data, load: tuple([each(one, load) for one in data])
    parts = [_reader(kind) for kind in kinds]
    return lambda data, load: tuple(
        [part(one, load) for part, one in zip(parts, data, strict=True)]
    )


def _other(data: Any, hint: Any, load: _Load) -> Any:
    """A value whose type is not the annotated one, as some are written."""
    if isinstance(data, msgspec.msgpack.Ext):
        found = load(bytes(data.data))
        if hint is not bytes or hashlib.sha256(found).digest() != bytes(data.data):
            raise ValueError("a byte string is not what was written")
        return found
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    raise TypeError(f"{type(data).__name__} in the place of {hint.__name__}")


def _object(data: Any, kind: Any, load: _Load) -> Any:
    """Fields that a class has got since stand at its end, and begin at their defaults."""
    name, *values = data
    readers = _readers(kind)
    if name != kind.__name__ or len(values) > len(readers):
        raise TypeError(f"{name} of {len(values)} fields in the place of {kind.__name__}")
    parts = {
        field: read(value, load) for (field, read), value in zip(readers, values, strict=False)
    }
    return kind(**parts)
