"""Bytes <-> messages: strict, bounded, and canonical.

A frame is

    byte 0      FORMAT_VERSION
    byte 1      the message type (TYPE_CODES)
    byte 2...   the message's fields in order, one msgpack array

Whatever `decode` is fed, it returns a message or raises RemoteProtocolError. The length is
checked against the type's limit before the body is looked at, so a sender can make the receiver
hold no more memory than the Plan provides for. Every message has exactly one encoding: a body
that spells the same fields in another way (long integers, trailing bytes) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

import msgspec

from securefair.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from securefair.protocol.messages import (
    MESSAGE_TYPES,
    Answer,
    Ask,
    Decline,
    Features,
    Hello,
    Key,
    Keys,
    Message,
    Offer,
    Parts,
    Recover,
    Reveal,
    name_of,
)

FORMAT_VERSION = 1

TYPE_CODES: Mapping[type[Message], int] = {
    Hello: 1,
    Keys: 2,
    Features: 3,
    Offer: 7,
    Ask: 13,
    Answer: 14,
    Decline: 15,
    Reveal: 16,
    Key: 17,
    Recover: 18,
    Parts: 19,
}
"""The tag of each message type on the wire; a code is never given to another type."""

HEADER_BYTES = 2
FRAMING_BYTES = 64
"""Room for the header, integers, enums and length prefixes: 59 bytes at most (Hello)."""

_TYPES = {code: message_type for message_type, code in TYPE_CODES.items()}
_DECODERS = {kind: msgspec.msgpack.Decoder(kind) for kind in MESSAGE_TYPES}
_encode_body = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Most bytes of every opaque field, as the agreed Plan computes them.

    Fields that a collaboration does not use (a basis, a question) have limit 0. `names` is room for
    the names of all senders of a sum together, in a question or a decline; `parts` for all parts of
    keys in one message.

    Raises:
        ConfigError: a limit is negative.
    """

    public_key: int
    evaluation_keys: int
    features: int
    basis: int
    question: int
    answer: int
    names: int = 0
    parts: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value < 0:
                raise ConfigError(
                    "a size limit is negative", where=field.name, found=value, expected=">= 0 bytes"
                )

    def of_fields(self, kind: type[Message]) -> Mapping[str, int]:
        """Most bytes of each opaque field of one message type; empty where it has none."""
        if kind is Keys:
            return {"public_key": self.public_key, "evaluation_keys": self.evaluation_keys}
        if kind is Features:
            return {"payload": self.features, "basis": self.basis}
        if kind is Ask:
            return {"payload": self.question}
        return {"payload": self.answer} if kind is Answer else {}

    def of_frame(self, kind: type[Message]) -> int:
        """Most bytes of a whole frame of one message type."""
        lists = {
            Ask: self.names,
            Decline: self.names,
            Recover: self.names + self.parts,  # a salt is shorter than a part
            Parts: self.parts,
        }
        return FRAMING_BYTES + lists.get(kind, 0) + sum(self.of_fields(kind).values())

    @property
    def largest_frame(self) -> int:
        """Most bytes of any frame: what a channel may read before it hands over to `decode`."""
        return max(self.of_frame(kind) for kind in MESSAGE_TYPES)


class _FormatError(Exception):
    """Internal: why a frame is refused; becomes a remote or a local fault."""

    def __init__(self, problem: str, *, where: str, found: object, expected: object) -> None:
        self.problem = problem
        self.where = where
        self.found = found
        self.expected = expected
        super().__init__(problem)


def encode(message: Message, limits: Limits) -> bytes:
    """Write a message as a frame that `decode` with the same limits accepts.

    Raises:
        LocalProtocolError: the message breaks its schema or a limit.
    """
    header = bytes((FORMAT_VERSION, TYPE_CODES[type(message)]))
    frame = header + _encode_body(message)
    try:
        _parse(frame, limits)
    except _FormatError as fault:
        raise LocalProtocolError(
            fault.problem, where=fault.where, found=fault.found, expected=fault.expected
        ) from fault
    return frame


def decode(frame: bytes, *, sender: str, limits: Limits) -> Message:
    """Read a frame that the channel received from `sender`.

    Raises:
        RemoteProtocolError: anything at all is wrong; `culprit` is the sender.
    """
    try:
        return _parse(frame, limits)
    except _FormatError as fault:
        raise RemoteProtocolError(
            fault.problem,
            culprit=sender,
            where=fault.where,
            found=fault.found,
            expected=fault.expected,
        ) from fault


def kind_of(frame: bytes) -> str:
    """The message type's word by the header alone, for byte counters; "unknown" if it has none."""
    if len(frame) < HEADER_BYTES or frame[0] != FORMAT_VERSION or frame[1] not in _TYPES:
        return "unknown"
    return name_of(_TYPES[frame[1]])


def _parse(frame: bytes, limits: Limits) -> Message:
    if len(frame) < HEADER_BYTES:
        raise _FormatError(
            "a frame is too short",
            where="header",
            found=f"{len(frame)} bytes",
            expected=f"at least {HEADER_BYTES} bytes",
        )
    if frame[0] != FORMAT_VERSION:
        raise _FormatError(
            "the frame has another format version",
            where="header",
            found=frame[0],
            expected=FORMAT_VERSION,
        )
    if frame[1] not in _TYPES:
        raise _FormatError(
            "unknown message type",
            where="header",
            found=frame[1],
            expected=f"one of {sorted(_TYPES)}",
        )
    kind = _TYPES[frame[1]]
    word = name_of(kind)
    if len(frame) > limits.of_frame(kind):
        raise _FormatError(
            "the message is too long",
            where=word,
            found=f"{len(frame)} bytes",
            expected=f"at most {limits.of_frame(kind)} bytes",
        )
    message = _read_body(frame, kind)
    for field, limit in limits.of_fields(kind).items():
        size = len(getattr(message, field))
        if size > limit:
            raise _FormatError(
                "a field is too long",
                where=f"{word}.{field}",
                found=f"{size} bytes",
                expected=f"at most {limit} bytes",
            )
    return message


def _read_body(frame: bytes, kind: type[Message]) -> Message:
    body = memoryview(frame)[HEADER_BYTES:]
    word = name_of(kind)
    expected = f"{word} as {', '.join(kind.__struct_fields__)}"
    try:
        message = _DECODERS[kind].decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise _FormatError(
            "the message breaks its schema",
            where=_place(str(fault), kind),
            found=str(fault),
            expected=expected,
        ) from fault
    if _encode_body(message) != body:
        raise _FormatError(
            "the message is not in its canonical encoding",
            where=word,
            found=f"{len(body)} bytes",
            expected=f"the shortest encoding of {expected}",
        )
    return message


def _place(fault: str, kind: type[Message]) -> str:
    """Name the field that msgspec's `$[2]` is about."""
    index = re.search(r"\$\[(\d+)\]", fault)
    if index is None:
        return name_of(kind)
    return f"{name_of(kind)}.{kind.__struct_fields__[int(index[1])]}"
