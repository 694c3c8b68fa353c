"""The states of a participant, and the table of every transition between them.

Two rules (after h11): which state follows which event is in this file, and this file knows
nothing of what a transition does. Code elsewhere finds out what happened (an Event), from the
message and from what it remembers of a peer, and asks the table for the next state. An event that
a state has no row for cannot happen there.

Five small machines run side by side. One per participant:

    ROUND          the round it is in
    PREPARATION    something of its own that must be computed before it can be sent (its keys and
                   features, once a key; its encrypted predictions, once a round if the release
                   asks)

and three per peer:

    ADMISSION      what the peer has sent to introduce itself
    ASKING         this participant as student: its exchange of this round with that teacher
    SERVING        this participant as teacher: that student's exchange of one round

Where sums are opened (gossip, transfer), two more per peer:

    RECEIVING      this participant as receiver: that sender's share of the sum of this round
    SENDING        this participant as sender: its share of that receiver's sum of one round
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from securefair.errors import LocalProtocolError


class Event(enum.Enum):
    """What happened, as far as any state cares."""

    BEGIN = "begin"
    SETTLED = "nothing awaited, nothing unfinished"
    EXPIRED = "deadline expired"
    STEPPED = "step done"
    STEP_FAILED = "step failed"

    SPENT = "another term of the schedule of keys"
    START = "job started"
    DONE = "job done"
    FAILED = "job failed"

    HELLO = "Hello agrees"
    HELLO_DIFFERS = "Hello differs"
    UPLOADED = "Keys and Features are both there"
    IMPORTED = "import done"
    IMPORT_FAILED = "import failed"
    RENEWED = "Keys of a higher epoch"

    CHOSEN = "to be asked this round"
    QUERY_SENT = "Query sent"
    CANNOT_ASK = "own preparation failed or peer refused"
    ANSWERED = "Answer"
    DECLINED = "Decline"
    ANSWER_OPENED = "opened"
    OPEN_FAILED = "could not be opened"

    KEEP = "Query too early or upload not imported yet"
    SHARE = "Query, and the decision is to answer"
    REFUSE = "Query, and the decision is to decline"
    COMPUTED = "answer computed"
    COMPUTE_FAILED = "answer failed"

    ADAPTED = "own step done, links decided"
    LINKED = "enough senders"
    ALONE = "too few senders"
    LOST = "a sender is lost, enough are left"
    SHARES_OPEN = "all shares and keys are there"
    COMBINED = "combined"
    COMBINE_FAILED = "could not be combined"

    SHARE_REQUEST = "ShareRequest"
    SHARE_REQUEST_EARLY = "ShareRequest, a sender unknown"
    SHARE_GIVEN = "Share"
    KEY_ASKED = "ShareReveal"
    KEY = "ShareKey"
    SHARE_REFUSED = "Refusal"
    SHARE_FAILED = "share failed"


class RoundState(enum.Enum):
    """Where this participant is in its round."""

    IDLE = "between rounds"
    EXCHANGING = "exchanging"
    STEPPING = "stepping"
    LINKING = "waiting for offers"
    RECEIVING = "receiving shares"
    COMBINING = "combining"


class PreparationState(enum.Enum):
    """Whether something that this participant must compute before sending is there."""

    ABSENT = "absent"
    RUNNING = "running"
    READY = "ready"


class AdmissionState(enum.Enum):
    """How far a peer has come in introducing itself."""

    STRANGER = "stranger"
    GREETED = "greeted"
    IMPORTING = "importing"
    ADMITTED = "admitted"
    REFUSED = "refused"


class AskingState(enum.Enum):
    """This participant's exchange of the current round with one teacher."""

    NOT_ASKED = "not asked"
    WAITING = "waiting to ask"
    ASKED = "asked"
    OPENING = "opening"
    OPENED = "opened"
    DECLINED = "declined"
    FAILED = "failed"
    MISSED = "missed"


class ServingState(enum.Enum):
    """One student's exchange of one round with this participant as its teacher."""

    NOT_QUERIED = "not queried"
    KEPT = "kept"
    COMPUTING = "computing"
    ANSWERED = "answered"
    DECLINED = "declined"


class ReceivingState(enum.Enum):
    """One sender's share of this participant's sum of the current round."""

    UNLINKED = "not asked"
    ASKED = "asked"
    CLOSED = "closed share there"
    REVEALING = "asked for the key"
    OPEN = "key there"
    LOST = "lost"


class SendingState(enum.Enum):
    """This participant's share of one receiver's sum of one round."""

    NOT_ASKED = "not asked"
    WAITING = "waiting for keys"
    MAKING = "making the share"
    SENT = "closed share sent"
    REVEALED = "key given away"
    REFUSED = "refused"


S = TypeVar("S", bound=enum.Enum)


@dataclass(frozen=True)
class Table(Generic[S]):
    """The transitions of one small machine; a state without rows is final."""

    name: str
    initial: S
    rows: Mapping[S, Mapping[Event, S]]

    def next(self, state: S, event: Event) -> S:
        """The state after `event`.

        Raises:
            LocalProtocolError: the table has no such row. Callers check what peers send before
                they make an event of it, so this is a fault of this participant.
        """
        following = self.rows.get(state, {}).get(event)
        if following is None:
            raise LocalProtocolError(
                f"{self.name}: this cannot happen while it is {state.value}",
                found=event.value,
                expected=[event.value for event in self.rows.get(state, {})] or "nothing",
            )
        return following

    def transitions(self) -> Iterator[tuple[S, Event, S]]:
        """Every (state, event, next state), in the order of the table."""
        for state, row in self.rows.items():
            for event, following in row.items():
                yield state, event, following


ROUND = Table(
    "round",
    RoundState.IDLE,
    {
        RoundState.IDLE: {
            Event.BEGIN: RoundState.EXCHANGING,
            Event.EXPIRED: RoundState.IDLE,  # the round ended before its deadline
        },
        RoundState.EXCHANGING: {
            Event.SETTLED: RoundState.STEPPING,
            Event.EXPIRED: RoundState.STEPPING,
        },
        RoundState.STEPPING: {
            Event.STEPPED: RoundState.IDLE,
            Event.STEP_FAILED: RoundState.IDLE,
            Event.ADAPTED: RoundState.LINKING,
            Event.EXPIRED: RoundState.STEPPING,
        },
        # What is not there at a deadline decides between these, so that it is no event of its own.
        RoundState.LINKING: {
            Event.LINKED: RoundState.RECEIVING,
            Event.ALONE: RoundState.IDLE,
        },
        RoundState.RECEIVING: {
            Event.LOST: RoundState.RECEIVING,
            Event.SHARES_OPEN: RoundState.COMBINING,
            Event.ALONE: RoundState.IDLE,
        },
        RoundState.COMBINING: {
            Event.COMBINED: RoundState.IDLE,
            Event.COMBINE_FAILED: RoundState.IDLE,
            Event.EXPIRED: RoundState.COMBINING,
        },
    },
)

PREPARATION = Table(
    "preparation",
    PreparationState.ABSENT,
    {
        PreparationState.ABSENT: {Event.START: PreparationState.RUNNING},
        PreparationState.RUNNING: {
            Event.DONE: PreparationState.READY,
            Event.FAILED: PreparationState.ABSENT,  # tried again in the next round
        },
        PreparationState.READY: {Event.SPENT: PreparationState.ABSENT},
    },
)

ADMISSION = Table(
    "admission",
    AdmissionState.STRANGER,
    {
        AdmissionState.STRANGER: {
            Event.HELLO: AdmissionState.GREETED,
            Event.HELLO_DIFFERS: AdmissionState.REFUSED,
        },
        AdmissionState.GREETED: {
            Event.UPLOADED: AdmissionState.IMPORTING,
            Event.RENEWED: AdmissionState.GREETED,
        },
        AdmissionState.IMPORTING: {
            Event.IMPORTED: AdmissionState.ADMITTED,
            Event.IMPORT_FAILED: AdmissionState.REFUSED,
            Event.RENEWED: AdmissionState.GREETED,  # the import of the old ones has ended
        },
        AdmissionState.ADMITTED: {Event.RENEWED: AdmissionState.GREETED},
    },
)

ASKING = Table(
    "asking",
    AskingState.NOT_ASKED,
    {
        AskingState.NOT_ASKED: {Event.CHOSEN: AskingState.WAITING},
        AskingState.WAITING: {
            Event.QUERY_SENT: AskingState.ASKED,
            Event.CANNOT_ASK: AskingState.FAILED,
            Event.EXPIRED: AskingState.MISSED,
        },
        AskingState.ASKED: {
            Event.ANSWERED: AskingState.OPENING,
            Event.DECLINED: AskingState.DECLINED,
            Event.CANNOT_ASK: AskingState.FAILED,
            Event.EXPIRED: AskingState.MISSED,
        },
        AskingState.OPENING: {
            Event.ANSWER_OPENED: AskingState.OPENED,
            Event.OPEN_FAILED: AskingState.FAILED,
            Event.EXPIRED: AskingState.MISSED,
        },
    },
)

SERVING = Table(
    "serving",
    ServingState.NOT_QUERIED,
    {
        ServingState.NOT_QUERIED: {
            Event.KEEP: ServingState.KEPT,
            Event.SHARE: ServingState.COMPUTING,
            Event.REFUSE: ServingState.DECLINED,
        },
        ServingState.KEPT: {
            Event.SHARE: ServingState.COMPUTING,
            Event.REFUSE: ServingState.DECLINED,
        },
        ServingState.COMPUTING: {
            Event.COMPUTED: ServingState.ANSWERED,
            Event.COMPUTE_FAILED: ServingState.DECLINED,
        },
    },
)


RECEIVING = Table(
    "receiving",
    ReceivingState.UNLINKED,
    {
        ReceivingState.UNLINKED: {Event.SHARE_REQUEST: ReceivingState.ASKED},
        ReceivingState.ASKED: {
            Event.SHARE_GIVEN: ReceivingState.CLOSED,
            Event.SHARE_REFUSED: ReceivingState.LOST,
            Event.EXPIRED: ReceivingState.LOST,
        },
        ReceivingState.CLOSED: {Event.KEY_ASKED: ReceivingState.REVEALING},
        ReceivingState.REVEALING: {
            Event.KEY: ReceivingState.OPEN,
            Event.SHARE_REFUSED: ReceivingState.LOST,
            Event.EXPIRED: ReceivingState.LOST,
        },
    },
)

SENDING = Table(
    "sending",
    SendingState.NOT_ASKED,
    {
        SendingState.NOT_ASKED: {
            Event.SHARE_REQUEST: SendingState.MAKING,
            Event.SHARE_REQUEST_EARLY: SendingState.WAITING,
        },
        SendingState.WAITING: {
            Event.IMPORTED: SendingState.MAKING,
            Event.SHARE_REQUEST: SendingState.MAKING,  # a later attempt with fewer senders
            Event.SHARE_REQUEST_EARLY: SendingState.WAITING,
        },
        SendingState.MAKING: {
            Event.SHARE_GIVEN: SendingState.SENT,
            Event.SHARE_FAILED: SendingState.REFUSED,
            Event.SHARE_REQUEST: SendingState.MAKING,
            Event.SHARE_REQUEST_EARLY: SendingState.WAITING,
        },
        SendingState.SENT: {
            Event.SHARE_REQUEST: SendingState.MAKING,
            Event.SHARE_REQUEST_EARLY: SendingState.WAITING,
            Event.KEY_ASKED: SendingState.REVEALED,
        },
        SendingState.REFUSED: {
            Event.SHARE_REQUEST: SendingState.MAKING,
            Event.SHARE_REQUEST_EARLY: SendingState.WAITING,
        },
    },
)


def mermaid(table: Table[S]) -> str:
    """The table as a Mermaid state diagram, one line a transition.

    docs/protocol-states.md holds these texts, and a test compares them with the tables.
    """
    names = {state: state.name.lower() for state in type(table.initial)}
    lines = ["stateDiagram-v2", f"    [*] --> {names[table.initial]}"]
    lines += [
        f"    {names[state]} --> {names[following]}: {event.value}"
        for state, event, following in table.transitions()
    ]
    lines += [f"    {names[state]} --> [*]" for state in names if state not in table.rows]
    return "\n".join(lines)
