"""The states of a participant, and the table of every transition between them.

Two rules (after h11): which state follows which event is in this file, and this file knows
nothing of what a transition does. Code elsewhere finds out what happened (an Event), from the
message and from what it remembers of a peer, and asks the table for the next state. An event that
a state has no row for cannot happen there.

Five small machines run side by side. One per participant:

    ROUND          the round it is in
    PREPARATION    something of its own that must be computed before it can be sent (its keys and
                   features, once a key; its questions, once a round if they say anything)

and three per peer:

    ADMISSION      what the peer has sent to introduce itself
    ASKING         this participant as student: its question of this round to that teacher
    SERVING        this participant as teacher: that student's question of one round

Questions whose answers are opened by themselves and questions for a sum go through the same two.
Where models are averaged there may be one of each to the same teacher in a round.
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
    HELLO_SUFFICES = "Hello agrees, and nobody uploads anything"
    HELLO_DIFFERS = "Hello differs"
    UPLOADED = "Keys and Features are both there"
    IMPORTED = "import done"
    IMPORT_FAILED = "import failed"
    RENEWED = "Keys of a higher epoch"

    CHOSEN = "to be asked this round"
    NOTHING = "nothing to ask"
    ASK_SENT = "Ask sent"
    CANNOT_ASK = "own preparation failed or peer refused"
    ANSWERED = "Answer, to be opened by itself"
    ANSWERED_CLOSED = "Answer, closed"
    REVEAL_SENT = "Reveal sent"
    KEY = "Key"
    RECALLED = "others asked for its key"
    RECOVER_SENT = "Recover sent"
    PARTS = "Parts"
    DECLINED = "Decline"
    ANSWER_OPENED = "opened"
    OPEN_FAILED = "could not be opened"

    KEEP = "Ask, of a later round or without all keys"
    SHARE = "Ask, and the decision is to answer"
    REFUSE = "Ask, and the decision is to decline"
    COMPUTED = "answer computed"
    COMPUTE_FAILED = "no answer"
    REVEALED = "Reveal"

    ADAPTED = "own step done, links decided"
    LINKED = "enough senders"
    ALONE = "too few senders"
    LOST = "a sender is lost, enough are left"
    ALL_OPEN = "all answers and keys are there"
    COMBINED = "combined"
    COMBINE_FAILED = "could not be combined"


class RoundState(enum.Enum):
    """Where this participant is in its round."""

    IDLE = "between rounds"
    EXCHANGING = "exchanging"
    STEPPING = "stepping"
    LINKING = "waiting for offers or introductions"
    SUMMING = "asking for a sum"
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
    """This participant's question of the current round to one teacher."""

    NOT_ASKED = "not asked"
    WAITING = "waiting to ask"
    ASKED = "asked"
    CLOSED = "closed answer there"
    REVEALING = "asked for the key"
    RECALLED = "others asked for its key"
    RECOVERING = "asked for parts of keys"
    OPENING = "opening"
    OPENED = "opened"
    DECLINED = "declined"
    FAILED = "failed"
    MISSED = "missed"


class ServingState(enum.Enum):
    """One student's question of one round to this participant as its teacher."""

    NOT_ASKED = "not asked"
    KEPT = "kept"
    COMPUTING = "computing"
    ANSWERED = "answered"
    REVEALED = "key given away"
    DECLINED = "declined"


S = TypeVar("S", bound=enum.Enum)


@dataclass(frozen=True)
class TransitionTable(Generic[S]):
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


ROUND = TransitionTable(
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
            Event.LINKED: RoundState.SUMMING,
            Event.ALONE: RoundState.IDLE,
        },
        RoundState.SUMMING: {
            Event.LOST: RoundState.SUMMING,
            Event.ALL_OPEN: RoundState.COMBINING,
            Event.ALONE: RoundState.IDLE,
        },
        RoundState.COMBINING: {
            Event.COMBINED: RoundState.IDLE,
            Event.COMBINE_FAILED: RoundState.IDLE,
            Event.EXPIRED: RoundState.COMBINING,
        },
    },
)

PREPARATION = TransitionTable(
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

ADMISSION = TransitionTable(
    "admission",
    AdmissionState.STRANGER,
    {
        AdmissionState.STRANGER: {
            Event.HELLO: AdmissionState.GREETED,
            Event.HELLO_SUFFICES: AdmissionState.ADMITTED,
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

ASKING = TransitionTable(
    "asking",
    AskingState.NOT_ASKED,
    {
        AskingState.NOT_ASKED: {Event.CHOSEN: AskingState.WAITING},
        AskingState.WAITING: {
            Event.NOTHING: AskingState.NOT_ASKED,
            Event.ASK_SENT: AskingState.ASKED,
            Event.CANNOT_ASK: AskingState.FAILED,
            Event.EXPIRED: AskingState.MISSED,
        },
        AskingState.ASKED: {
            Event.ANSWERED: AskingState.OPENING,
            Event.ANSWERED_CLOSED: AskingState.CLOSED,
            Event.DECLINED: AskingState.DECLINED,
            Event.CANNOT_ASK: AskingState.FAILED,
            Event.EXPIRED: AskingState.MISSED,
        },
        # Only of a sum, once all answers are closed: nobody then chooses its own after others'.
        AskingState.CLOSED: {Event.REVEAL_SENT: AskingState.REVEALING},
        AskingState.REVEALING: {
            Event.KEY: AskingState.OPENING,
            Event.DECLINED: AskingState.DECLINED,
            Event.EXPIRED: AskingState.MISSED,
        },
        AskingState.OPENING: {
            Event.ANSWER_OPENED: AskingState.OPENED,
            Event.OPEN_FAILED: AskingState.FAILED,
            Event.EXPIRED: AskingState.MISSED,
            Event.RECOVER_SENT: AskingState.RECOVERING,
        },
        # Only of a sum of which all answers are there and some keys do not come.
        AskingState.MISSED: {Event.RECALLED: AskingState.RECALLED},
        AskingState.DECLINED: {Event.RECALLED: AskingState.RECALLED},
        AskingState.RECALLED: {Event.KEY: AskingState.OPENING},
        AskingState.RECOVERING: {
            Event.PARTS: AskingState.OPENING,
            Event.DECLINED: AskingState.DECLINED,
            Event.EXPIRED: AskingState.MISSED,
        },
    },
)

SERVING = TransitionTable(
    "serving",
    ServingState.NOT_ASKED,
    {
        ServingState.NOT_ASKED: {
            Event.KEEP: ServingState.KEPT,
            Event.SHARE: ServingState.COMPUTING,
            Event.REFUSE: ServingState.DECLINED,
        },
        # A sum may be asked for again with fewer senders until its key was given away.
        ServingState.KEPT: {
            Event.KEEP: ServingState.KEPT,
            Event.SHARE: ServingState.COMPUTING,
            Event.REFUSE: ServingState.DECLINED,
        },
        ServingState.COMPUTING: {
            Event.KEEP: ServingState.KEPT,
            Event.SHARE: ServingState.COMPUTING,
            Event.COMPUTED: ServingState.ANSWERED,
            Event.COMPUTE_FAILED: ServingState.DECLINED,
        },
        ServingState.ANSWERED: {
            Event.KEEP: ServingState.KEPT,
            Event.SHARE: ServingState.COMPUTING,
            Event.REVEALED: ServingState.REVEALED,
        },
        ServingState.DECLINED: {
            Event.KEEP: ServingState.KEPT,
            Event.SHARE: ServingState.COMPUTING,
        },
    },
)
