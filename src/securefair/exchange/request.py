"""One message with everything a teacher needs to answer."""

from __future__ import annotations

import msgspec

from securefair.circuit.spec import ExchangeSpec
from securefair.errors import DataError

REQUEST_FORMAT = 1


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A self-contained question: the spec, the student's public keys and its ciphertexts."""

    format: int
    spec: ExchangeSpec
    digest: bytes  # of the plan, so that a disagreement shows before any work
    seed: bytes  # public, of the projection's basis
    public_key: bytes
    evaluation_keys: bytes
    features: bytes
    basis: bytes
    predictions: bytes


def decode_request(request: bytes) -> Request:
    """Bytes -> a request.

    Raises:
        DataError: the bytes are no request.
    """
    try:
        asked = msgspec.msgpack.decode(request, type=Request)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError("the bytes are not a request", found=str(error)) from error
    if asked.format != REQUEST_FORMAT:
        raise DataError("unknown request format", found=asked.format, expected=REQUEST_FORMAT)
    return asked
