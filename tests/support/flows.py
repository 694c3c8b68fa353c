"""What flows back: which opened values whatever leaves may depend on, and in how many bits.

docs/threat-model.md shows these tables. A field that is in none of them is a mistake that a test
finds. What the bits are, and to whom they are charged: see `securefair.protocol.flows`.

    INDEPENDENT   nothing opened can change it: fixed before, or drawn fresh
    CONTROL       a choice among few: log2 of their number is charged
    ENCRYPTED     a ciphertext that its recipient cannot read; the length is public and fixed
    LEARNT        computed by a model that may have learnt from opened values. No number of bits is
                  given: the page states clipping, the account where there is noise, and attacks

Messages travel in envelopes, beside notices; receipts come back. Nothing in these depends on what
was opened but by the messages that there are: how many leave, and of what kind, is in the table of
messages. Files leave a site only by its operator's hand.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from securefair.protocol.flows import OFFER_BITS, QUERY_BITS, REPLY_BITS
from securefair.protocol.messages import (
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
)


class Dependence(enum.Enum):
    """How a field may depend on opened values."""

    INDEPENDENT = "nothing opened"
    CONTROL = "a choice among few"
    ENCRYPTED = "a ciphertext that its recipient cannot open"
    LEARNT = "a model that may have learnt from opened values"


@dataclass(frozen=True)
class Flow:
    """One field of one message.

    Attributes:
        message, field: which.
        role: of whoever sends it.
        dependence: on opened values.
        opened: which values; empty where the field is independent of all.
        bits: at most, in one message; None where they cannot be counted (`Dependence.LEARNT`), or
            follow from an agreement (`per_level`).
        per_level: the bits are `alignment_bits` of the levels that were agreed on.
    """

    message: type[Message]
    field: str
    role: str
    dependence: Dependence
    opened: str = ""
    bits: float | None = 0.0
    per_level: bool = False


STUDENT, TEACHER, EVERYBODY = "student", "teacher", "both"


def _independent(message: type[Message], role: str, *fields: str) -> tuple[Flow, ...]:
    return tuple(Flow(message, field, role, Dependence.INDEPENDENT) for field in fields)


FLOWS: tuple[Flow, ...] = (
    *_independent(Hello, EVERYBODY, "protocol_version", "collaboration", "guarantee"),
    # New ones follow a public schedule.
    *_independent(Keys, STUDENT, "key_epoch", "public_key", "evaluation_keys"),
    *_independent(Features, STUDENT, "data_epoch", "samples"),
    Flow(Features, "payload", STUDENT, Dependence.ENCRYPTED),
    Flow(Features, "basis", STUDENT, Dependence.ENCRYPTED),
    *_independent(Ask, STUDENT, "attempt", "key_epoch"),
    # That there is a question tells that the student's reputation of the teacher is not 0.
    Flow(Ask, "round", STUDENT, Dependence.CONTROL, "reputation of the teacher", QUERY_BITS),
    # Who is asked for a sum follows from offers and from who was lost, and where nobody offers from
    # who is there: nothing that the student opened.
    Flow(
        Ask,
        "senders",
        STUDENT,
        Dependence.CONTROL,
        "offers of the other senders, each a bit of its alignments, charged to the student only",
        OFFER_BITS,
    ),
    Flow(Ask, "payload", STUDENT, Dependence.ENCRYPTED, "the own model's predictions"),
    Flow(
        Ask,
        "payload",
        STUDENT,
        Dependence.CONTROL,
        "in a sum of models, alignment with its recipient; with `gossip.max_share` with every "
        "sender",
        None,
        per_level=True,
    ),
    *_independent(Answer, TEACHER, "round", "attempt", "summed"),
    Flow(Answer, "payload", TEACHER, Dependence.LEARNT, "answers to own questions, sums", None),
    # Which sum it gave others is known to all of that sum; whose keys it refused follows from them.
    *_independent(Decline, TEACHER, "round", "attempt", "summed", "senders"),
    # A model that has learnt may have grown beyond the bounds that were agreed: it then fails. For
    # a sum the reason tells nothing opened: the question cannot be used, or the round is over.
    Flow(
        Decline,
        "reason",
        TEACHER,
        Dependence.CONTROL,
        "reputation of the student, and whether the own model may answer",
        REPLY_BITS,
    ),
    *_independent(Reveal, STUDENT, "round", "attempt"),
    *_independent(Key, TEACHER, "round", "attempt", "key"),
    *_independent(Offer, TEACHER, "round"),
    Flow(Offer, "shares", TEACHER, Dependence.CONTROL, "alignment with all neighbours", OFFER_BITS),
    # Who is lost is who gave no key; salts are ends of their answers.
    *_independent(Recover, STUDENT, "round", "attempt", "lost", "salts"),
    *_independent(Parts, TEACHER, "round", "attempt", "parts"),
)
"""Every field of every message, in the order of `MESSAGE_TYPES`."""

MISSING: Mapping[type[Message], str] = {
    Hello: "nothing",
    Keys: "nothing",
    Features: "nothing",
    Ask: "the same bit",  # of a sum nothing: it follows from offers, and no weight is 0
    Answer: "is a decline",
    Decline: "is an answer",
    Reveal: "nothing",
    Key: "is a decline",
    # A step beyond the range is not taken, and the model of before is offered.
    Offer: "nothing",
    Recover: "nothing",
    Parts: "is a decline",
}
"""What it tells of opened values that a message is not sent where one could be."""

NOTHING = "nothing opened"

COUNTED = "the messages that were sent, each counted in its row"

BESIDE: Mapping[str, Mapping[str, str]] = {
    "header of an envelope": {
        "project": NOTHING,
        "sender": NOTHING,
        "recipient": NOTHING,
        "epoch": NOTHING,
        "sequence": COUNTED,
        "round": NOTHING,
        "sent": "when it leaves: see below",
        "expires": NOTHING,
        # One row a round, whatever happened in it, with a random number in it (`notes`).
        "audit_count": NOTHING,
        "audit_head": "all of a round, under a hash with 16 random bytes",
        "length": COUNTED,
    },
    "notice": {"ready": NOTHING, "leaves": NOTHING},
    "receipt": {
        "nonce": NOTHING,
        "project": NOTHING,
        "by": NOTHING,
        "to": NOTHING,
        "fate": NOTHING,  # refused are envelopes, before anything in them is opened
        "epoch": NOTHING,
        "expected": NOTHING,
        "newest": NOTHING,  # the recipient's own envelopes
        "before": NOTHING,
    },
}
"""By what leaves, its fields: of `envelope.Header`, `notices.Notice` and `receipts.Receipt`."""

FILES: Mapping[str, str] = {
    "models": "a model that has learnt from opened values, and its scores",
    "report.html": "own scores, reputations of peers, what was received and let out",
    "report.md": "the same",
    "rounds.jsonl": "the same by round, reputations as they are",
    "validation.html": "what peers' models said of own patients, as scores",
    "validation.json": "the same",
    "description.html": "sums over all hospitals",
    "description.csv": "the same",
    "description.json": "the same",
    "status.json": "rounds, and peers as the site sees them",
}
"""What `securefair site export` writes, none of it rounded. Whoever gets a file gets that."""
