"""What participants say to each other.

Nobody's name is in a message: the sender is whom the channel authenticated. What travels as
`bytes` is opaque here (public keys, ciphertexts); the jobs that import, answer and open it check
its inside.

    Hello      protocol version, hash of every public constant of the collaboration, and what the
               sender promises to the patients behind its answers
    Keys       public key, evaluation keys                    once per key epoch
    Features   number of samples, E(x), and E(Phi) if any     once per data epoch
    Query      a student's question to a teacher              once per round and teacher
    Answer     the released ciphertexts     |     Decline     the reason for none

In gossip a query carries E(direction) instead of E(p), and models are averaged besides:

    Offer                whether the sender shares its model with the receiver this round
    ShareRequest         the receiver asks a sender for its share of a sum
    Share                the share, closed      |     Refusal     the reason for none
    ShareReveal          everybody's share has arrived: the receiver asks for the key
    ShareKey             what opens one share
"""

from __future__ import annotations

import enum
import hashlib
from typing import Annotated, TypeAlias

import msgspec

from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.value import Value

PROTOCOL_VERSION = 11
"""What messages mean. How they are written is codec.FORMAT_VERSION."""

COLLABORATION_BYTES = 32
"""Length of the hash over the collaboration's public constants (a 256-bit hash)."""

SHARE_KEY_BYTES = 32
"""Length of the key under which a share is closed."""

MAX_NAME_BYTES = 256
"""Room for one participant's name in a message, its length prefix included."""

_Names = Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=1 << 12)]
_Counter = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
_Version = Annotated[int, msgspec.Meta(ge=0, le=2**16 - 1)]
_Digest = Annotated[
    bytes, msgspec.Meta(min_length=COLLABORATION_BYTES, max_length=COLLABORATION_BYTES)
]


class DeclineReason(enum.Enum):
    """Why a teacher does not answer a query."""

    NOT_SHARING = "not_sharing"
    """The sharing decision went against the student this round."""
    DISCLOSURE_LIMIT = "disclosure_limit"
    """One more answer would exceed what the teacher's ledger allows."""
    STALE = "stale"
    """The teacher has begun a later round; its model of the asked round is gone."""
    FAILED = "failed"
    """The teacher could not import the student's upload or compute the answer."""


class Hello(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """First message to every peer, and a reminder that the peer's upload has not arrived."""

    protocol_version: _Version
    collaboration: _Digest
    guarantee: StatedGuarantee | None = None  # to the patients behind its answers; None: none


class Keys(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A participant's public material: the encryption key and exactly the Plan's evaluation keys.

    In gossip the second are the keys of its private sums.
    """

    key_epoch: _Counter
    public_key: bytes
    evaluation_keys: bytes


class Features(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A student's encrypted features of `samples` samples, and its encrypted basis or nothing."""

    data_epoch: _Counter
    samples: _Positive
    payload: bytes
    basis: bytes


class Query(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A student asks a teacher for its released numbers.

    `exchange` counts the queries of this student to this teacher, from 0. `predictions` is E(p)
    for the releases `loss` and `class_sums`, the encrypted direction for `alignment`, empty for
    all others. `key_epoch` is that of the keys under which the student can open an answer.
    """

    round: _Counter
    exchange: _Counter
    predictions: bytes
    key_epoch: _Counter = 0


class Answer(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The teacher's sanitised ciphertexts for one query."""

    round: _Counter
    exchange: _Counter
    payload: bytes


class Decline(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The teacher will not answer this query, and has computed nothing."""

    round: _Counter
    exchange: _Counter
    reason: DeclineReason


class Offer(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sender's sharing decision of one round: whether the receiver may have its model."""

    round: _Counter
    shares: bool


class ShareRequest(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A receiver asks a sender for its share of the weighted sum over `senders`.

    `attempt` grows each time the sum is repeated without a lost sender. `request` holds the weight,
    in the form of the agreed averaging.
    """

    round: _Counter
    attempt: _Counter
    senders: _Names
    request: bytes


class Share(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A sender's share of a sum, closed under a key of its own."""

    round: _Counter
    attempt: _Counter
    payload: bytes


class Refusal(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sender has no share for this attempt, or has lost its key."""

    round: _Counter
    attempt: _Counter
    reason: DeclineReason


class ShareReveal(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All shares of an attempt have arrived: the receiver asks for the keys."""

    round: _Counter
    attempt: _Counter


class ShareKey(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The key of one share; a sender gives away one a receiver and round."""

    round: _Counter
    attempt: _Counter
    key: Annotated[bytes, msgspec.Meta(min_length=SHARE_KEY_BYTES, max_length=SHARE_KEY_BYTES)]


Message: TypeAlias = (
    Hello
    | Keys
    | Features
    | Query
    | Answer
    | Decline
    | Offer
    | ShareRequest
    | Share
    | Refusal
    | ShareReveal
    | ShareKey
)
"""The tagged union; the tag is the second byte of a frame (codec.TYPE_CODES)."""

MESSAGE_TYPES: tuple[type[Message], ...] = (
    Hello,
    Keys,
    Features,
    Query,
    Answer,
    Decline,
    Offer,
    ShareRequest,
    Share,
    Refusal,
    ShareReveal,
    ShareKey,
)


def name_of(message_type: type[Message]) -> str:
    """The word for a message type in logs and in records.TrafficRow: "hello", "keys", ..."""
    return message_type.__name__.lower()


def fingerprint(message: Message) -> bytes:
    """256-bit hash of a message's content, kept where the message is too large to keep."""
    return hashlib.blake2b(msgspec.msgpack.encode(message), digest_size=32).digest()
