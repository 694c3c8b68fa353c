"""What participants say to each other.

Nobody's name is in a message: the sender is whom the channel authenticated. What travels as
`bytes` is opaque here (public keys, ciphertexts); the jobs that import, answer and open it check
its inside.

    Hello      protocol version, hash of every public constant of the collaboration, and what the
               sender promises to the patients behind its answers
    Keys       public key, evaluation keys                    once per key epoch
    Features   number of samples, E(x), and E(Phi) if any     once per data epoch
    Ask        a student's question to a teacher: about its samples (distillation), a direction
               (gossip), or for a part of a sum over several teachers
    Answer     what it asked for      |      Decline     the reason for none
    Reveal     the answers of all teachers of a sum are there: the student asks for the keys
    Key        what opens one of them
    Recover    keys of some do not come: the student asks the others for their parts of them
    Parts      these

An answer to a question for a sum is closed under a key of its own until all of them are there. So
nobody can choose its answer after it saw others, and of two sums that differ by a teacher one stays
shut. Where everybody is asked only if it shares, it says so before:

    Offer      whether the sender shares its model with the receiver this round
"""

from __future__ import annotations

import enum
import hashlib
from typing import Annotated, TypeAlias

import msgspec

from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.value import Value

PROTOCOL_VERSION = 15
"""What messages mean. How they are written is codec.FORMAT_VERSION."""

SINCE_0_3 = 15
"""Since then participants greet those alone whom they exchange with, others stand in for a key of a
sum that does not come, hospitals that add up fits say what leaves of trees are worth to each, and
projections tell the mean of several blocks of samples."""

OLDEST_PROTOCOL = 12
"""The oldest that is spoken, of 0.2.0: a project goes on in the version it was founded with."""

SPOKEN = frozenset({OLDEST_PROTOCOL, PROTOCOL_VERSION})
"""The versions of releases; no release spoke those between them."""

COLLABORATION_BYTES = 32
"""Length of the hash over the collaboration's public constants (a 256-bit hash)."""

ANSWER_KEY_BYTES = 32
"""Length of the key under which an answer is closed."""

PART_BYTES = 32
"""Length of a part of such a key."""

PART_ROOM = PART_BYTES + 2
"""Room for one in a message, its length prefix included."""

SALT_BYTES = 16
"""The last bytes of an answer whose key can be recovered. Whoever asks for parts of the key says
them."""

MAX_NAME_BYTES = 256
"""Room for one participant's name in a message, its length prefix included."""

_Part = Annotated[bytes, msgspec.Meta(min_length=PART_BYTES, max_length=PART_BYTES)]
_Salt = Annotated[bytes, msgspec.Meta(min_length=SALT_BYTES, max_length=SALT_BYTES)]
_Names = Annotated[tuple[str, ...], msgspec.Meta(max_length=1 << 12)]
_Counter = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
_Version = Annotated[int, msgspec.Meta(ge=0, le=2**16 - 1)]
_Digest = Annotated[
    bytes, msgspec.Meta(min_length=COLLABORATION_BYTES, max_length=COLLABORATION_BYTES)
]


class DeclineReason(enum.Enum):
    """Why a teacher does not answer."""

    NOT_SHARING = "not_sharing"
    """The sharing decision went against the student this round."""
    DISCLOSURE_LIMIT = "disclosure_limit"
    """One more answer would exceed what the teacher's ledger allows; or, said once, the student is
    offered the teacher's model no more."""
    STALE = "stale"
    """The teacher has begun a later round, so that its model of the asked one is gone; or it had
    another question of that round before, as of a student whose store was put back since."""
    FAILED = "failed"
    """The teacher could not import the student's upload, compute the answer or find its key."""


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


class Ask(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A student asks a teacher.

    `senders` are all teachers of the sum that the answer is to be a part of; none where it is
    opened by itself. `attempt` grows each time a sum is asked for again without a lost sender.
    `payload` is E(p) for the releases `loss` and `class_sums`, the encrypted direction for
    `alignment`, patients, keys and E(x) of a transfer, the weight in a sum of models, and empty
    where the features that were uploaded say it all. `key_epoch` is that of the uploaded keys under
    which the student can open an answer.
    """

    round: _Counter
    attempt: _Counter
    payload: bytes
    key_epoch: _Counter = 0
    senders: _Names = ()

    @property
    def summed(self) -> bool:
        """Whether the answer is to be a part of a sum."""
        return bool(self.senders)


class Answer(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The teacher's sanitised ciphertexts for one question; `summed`: closed, a part of a sum."""

    round: _Counter
    attempt: _Counter
    payload: bytes
    summed: bool = False


class Decline(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """There is no answer to this question, or no key of it any more.

    `senders` are those of a smaller sum that the teacher would answer for, itself among them; none
    where it would for no other.
    """

    round: _Counter
    attempt: _Counter
    reason: DeclineReason
    summed: bool = False
    senders: _Names = ()


class Reveal(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All answers of an attempt have arrived: the student asks for the keys."""

    round: _Counter
    attempt: _Counter


class Key(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The key of one answer; a teacher gives away one a student and round."""

    round: _Counter
    attempt: _Counter
    key: Annotated[bytes, msgspec.Meta(min_length=ANSWER_KEY_BYTES, max_length=ANSWER_KEY_BYTES)]


class Offer(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sender's sharing decision of one round: whether the receiver may have its model."""

    round: _Counter
    shares: bool


class Recover(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Keys of `lost` do not come: the student asks whoever gave its own for parts of theirs.

    `salts` are the ends of their answers, in the same order.
    """

    round: _Counter
    attempt: _Counter
    lost: _Names
    salts: Annotated[tuple[_Salt, ...], msgspec.Meta(max_length=1 << 12)]


class Parts(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A part of the key of each that was lost, in the order of `Recover.lost`."""

    round: _Counter
    attempt: _Counter
    parts: Annotated[tuple[_Part, ...], msgspec.Meta(min_length=1, max_length=1 << 12)]


Message: TypeAlias = (
    Hello | Keys | Features | Ask | Answer | Decline | Reveal | Key | Offer | Recover | Parts
)
"""The tagged union; the tag is the second byte of a frame (codec.TYPE_CODES)."""

MESSAGE_TYPES: tuple[type[Message], ...] = (
    Hello,
    Keys,
    Features,
    Ask,
    Answer,
    Decline,
    Reveal,
    Key,
    Offer,
    Recover,
    Parts,
)

UP: tuple[type[Message], ...] = (Ask, Reveal, Recover)
DOWN: tuple[type[Message], ...] = (Answer, Key, Offer, Parts)
"""What a student asks a teacher, and what comes back."""

REPLIES: tuple[type[Message], ...] = (Answer, Decline, Key, Parts)
"""What nobody sends unless it was asked: one for each of `UP`."""


def name_of(message_type: type[Message]) -> str:
    """The word for a message type in logs and in records.TrafficRow: "hello", "keys", ..."""
    return message_type.__name__.lower()


def fingerprint(message: Message) -> bytes:
    """256-bit hash of a message's content, kept where the message is too large to keep."""
    return hashlib.blake2b(msgspec.msgpack.encode(message), digest_size=32).digest()
