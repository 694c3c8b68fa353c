"""What flows back: which opened values every message may depend on, and in how many bits.

Whatever a participant sends after it has opened something is a function of what it opened. This
table says so for every field of every message, by the role that sends it. A field that is not here
is a mistake that a test finds; the page docs/threat-model.md shows the table.

Bits are an upper bound for one message, of what its *recipient*, or whoever made the opened value,
can learn of opened values. They say nothing of what a participant tells of data that it did not
open: a sharing decision is a bit about a reputation whether or not anybody aimed at it.

The machine charges them to the peer's account (`Ledger.with_bits`), whether a message leaves or
its absence tells as much. Everybody renews its keys after `MachineSettings.key_rounds`, in which
they cannot exceed `key_bits`: a public schedule, so that new keys tell nothing themselves. In
gossip the weight that a sender is told follows from the levels of its own alignments, and from
nothing else (`worth.mixing.attractions`). So an alignment is charged once, when it is opened, to
the neighbour that it is with; where senders see each other's weights, to all of them. An offer is
charged by itself: the best aligned neighbour sets its scale. It is charged to its receiver. The
other senders to that receiver see it too, by whom it asks: that bit is not charged to them.

    INDEPENDENT   nothing opened can change it: fixed before, or drawn fresh
    CONTROL       a choice among few: log2 of their number is charged
    ENCRYPTED     a ciphertext that its recipient cannot read; the length is public and fixed
    LEARNT        computed by a model that may have learnt from opened values. No number of bits is
                  given: the page states clipping, the account where there is noise, and attacks
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass

from securefair.protocol.messages import (
    Answer,
    Ask,
    Decline,
    DeclineReason,
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


QUERY_BITS = 1.0
"""Whether a teacher is asked. All queries between two forced rounds follow from one reputation, so
that they tell no more than the first of them."""

OFFER_BITS = 1.0
"""Whether a neighbour shares its model, or answers; each round until its sums are spent."""

OPENED_REASONS = frozenset(DeclineReason) - {DeclineReason.STALE}
"""What opened values may have a part in: all but the order of rounds."""

REPLY_BITS = math.log2(1 + len(OPENED_REASONS))
"""An answer, or one of these reasons for none."""


def alignment_bits(levels: int) -> float:
    """Most that all later messages tell of one opened alignment: its level, or that it was none."""
    return math.log2(levels + 1)


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
