"""What sites tell each other besides their machines' messages, and how the two are told apart.

A frame is one byte for its kind, and the content: a message of the protocol, or a notice. Notices
hold a round's number and nothing that depends on data, models or answers.
"""

from __future__ import annotations

import enum
import sys

import msgspec

from securefair.errors import RemoteProtocolError

MAX_NOTICE_BYTES = 64


class NoticeKind(enum.IntEnum):
    """First byte of a frame."""

    MESSAGE = 1
    NOTICE = 2


class Notice(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sender has ended all rounds before `ready`, and may begin that one; or it leaves."""

    ready: int
    leaves: bool = False


def message_frame(data: bytes) -> bytes:
    """A message of the protocol, as it goes into an envelope."""
    return bytes([NoticeKind.MESSAGE]) + data


def notice_frame(notice: Notice) -> bytes:
    """A notice, as it goes into an envelope."""
    return bytes([NoticeKind.NOTICE]) + msgspec.msgpack.encode(notice)


def read_frame(frame: bytes, *, sender: str, rounds: int) -> bytes | Notice:
    """The message's bytes, or a notice.

    Args:
        frame: as it came out of an envelope.
        sender: who sealed it.
        rounds: of the collaboration.

    Raises:
        RemoteProtocolError: it is neither.
    """
    if frame[:1] == bytes([NoticeKind.MESSAGE]):
        return frame[1:]
    if frame[:1] == bytes([NoticeKind.NOTICE]) and len(frame) <= MAX_NOTICE_BYTES:
        try:
            notice = msgspec.msgpack.decode(frame[1:], type=Notice)
        except msgspec.DecodeError as error:
            raise RemoteProtocolError(
                "sent a notice that cannot be read", culprit=sender, found=str(error)
            ) from error
        if 0 <= notice.ready <= rounds:
            return notice
    raise RemoteProtocolError(
        "sent a frame of no known kind", culprit=sender, found=f"{len(frame)} bytes"
    )


def is_farewell(frame: bytes) -> bool:
    """Whether a frame is a notice by which its sender leaves."""
    try:
        content = read_frame(frame, sender="", rounds=sys.maxsize)
    except RemoteProtocolError:
        return False
    return isinstance(content, Notice) and content.leaves
