"""One message with everything a teacher needs to answer."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.errors import DataError
from securefair.exchange.binding import check_of

REQUEST_FORMAT = 13

Carried: TypeAlias = bytes | bytearray | memoryview
"""What a channel hands over."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A self-contained question: the spec, the student's public keys and its ciphertexts."""

    format: int
    spec: ExchangeSpec
    schedule: Schedule  # the student's plan, which the teacher verifies and does not search
    digest: bytes  # of the plan, so that a disagreement shows before any work
    seed: bytes  # public, of the projection's basis
    public_key: memoryview  # of the request's bytes: what is refused was not copied
    evaluation_keys: memoryview
    features: memoryview
    basis: memoryview
    predictions: memoryview
    check: bytes = b""  # of all the rest (`binding`); answers name their request by it

    def __repr__(self) -> str:
        """What it is, without its bytes."""
        spec = self.spec
        return f"Request({spec.samples} samples, release {spec.release})"


def encode_request(request: Request) -> bytes:
    """A request -> bytes, its check included."""
    return msgspec.msgpack.encode(msgspec.structs.replace(request, check=_check_of(request)))


def check_unchanged(request: Request) -> None:
    """Refuse a request that changed on its way.

    Raises:
        DataError: it is not as the student made it.
    """
    if request.check != _check_of(request):
        raise DataError("the request changed on its way", hint="Have the same bytes sent again")


def _check_of(request: Request) -> bytes:
    return check_of(msgspec.msgpack.encode(msgspec.structs.replace(request, check=b"")))


def check_bytes(given: object, what: str) -> None:
    """Refuse what is no bytes where bytes come from the other side.

    Raises:
        DataError: it is something else.
    """
    if not isinstance(given, bytes | bytearray | memoryview):
        raise DataError(
            f"{what} comes as bytes", where=what, found=type(given).__name__, expected="bytes"
        )


def check_seed(seed: object) -> None:
    """Refuse a public seed that is no bytes.

    Raises:
        DataError: it is something else.
    """
    if not isinstance(seed, bytes):
        raise DataError(
            "a public seed is bytes, the same on both sides",
            where="seed",
            found=type(seed).__name__,
            expected="bytes, such as b'2026'",
        )


def decode_request(request: Carried) -> Request:
    """Bytes -> a request.

    Raises:
        DataError: the bytes are no request.
    """
    check_bytes(request, "a request")
    try:
        found = msgspec.msgpack.decode(request, type=_Format).format
        if found != REQUEST_FORMAT:
            raise DataError("unknown request format", found=found, expected=REQUEST_FORMAT)
        return msgspec.msgpack.decode(request, type=Request)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError("the bytes are not a request", found=str(error)) from error


class _Format(msgspec.Struct):
    """What every format of requests has."""

    format: int
