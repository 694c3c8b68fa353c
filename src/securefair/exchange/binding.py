"""What binds an answer to its request, and tells that bytes changed on their way.

    answer  =  check of the request (16)  |  check of both (16)  |  what the teacher computed

A check is a BLAKE2b digest without a key. It finds accidents: a flipped bit, an answer that is late
or another's. It authenticates nobody, since whoever changes bytes can compute it anew: that is the
channel's part. Sites send what a teacher computed in signed envelopes, by round and attempt.
"""

from __future__ import annotations

import hashlib

from securefair.errors import EncryptionError

CHECK_BYTES = 16
"""128 bits: no accident ever gives the same check."""

BOUND_BYTES = 2 * CHECK_BYTES
"""By which an answer is longer than what the teacher computed."""


def check_of(*parts: bytes | memoryview) -> bytes:
    """The check of parts in this order, 16 bytes."""
    found = hashlib.blake2b(digest_size=CHECK_BYTES)
    for part in parts:
        found.update(part)
    return found.digest()


def bind(request: bytes, computed: bytes) -> bytes:
    """An answer, from the check of its request and what was computed."""
    return request + check_of(request, computed) + computed


def unbind(request: bytes, answer: bytes | bytearray | memoryview) -> bytes:
    """What was computed, of an answer to the request with this check.

    Raises:
        EncryptionError: it answers another request, or it changed on its way.
    """
    named, check = answer[:CHECK_BYTES], answer[CHECK_BYTES:BOUND_BYTES]
    computed = bytes(answer[BOUND_BYTES:])
    if check != check_of(bytes(named), computed):
        raise EncryptionError(
            "an answer changed on its way",
            hint="Have the same bytes sent again: a new answer is charged anew",
        )
    if named != request:
        raise EncryptionError(
            "this answers another request",
            hint="A student opens answers to its last request only, and after rotate to none",
        )
    return computed
