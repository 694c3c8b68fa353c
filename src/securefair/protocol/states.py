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

Where models are averaged (gossip), two more per peer:

    GATHERING      this participant as receiver: that sender's part in the sum of this round
    CONTRIBUTING   this participant as sender: its part in that receiver's sum of one round
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

    SPENT = "keys have told as much as they may"
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
    GATHERED = "all parts and keys are there"
    COMBINED = "combined"
    COMBINE_FAILED = "could not be combined"

    GATHER = "ShareRequest"
    GATHER_EARLY = "ShareRequest, a sender unknown"
    SEALED = "Share"
    KEY_ASKED = "ShareReveal"
    KEY = "ShareKey"
    WITHHELD = "Refusal"
    SEALING_FAILED = "contribution failed"


class RoundState(enum.Enum):
    """Where this participant is in its round."""

    IDLE = "between rounds"
    EXCHANGING = "exchanging"
    STEPPING = "stepping"
    LINKING = "waiting for offers"
    GATHERING = "gathering models"
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


class GatheringState(enum.Enum):
    """One sender's part in this participant's sum of the current round."""

    UNLINKED = "not asked"
    ASKED = "asked"
    SEALED = "sealed part there"
    REVEALING = "asked for the key"
    OPEN = "key there"
    LOST = "lost"


class ContributingState(enum.Enum):
    """This participant's part in one receiver's sum of one round."""

    NOT_ASKED = "not asked"
    WAITING = "waiting for keys"
    SEALING = "sealing"
    SEALED = "sealed part sent"
    REVEALED = "key given away"
    WITHHELD = "withheld"


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
            Event.LINKED: RoundState.GATHERING,
            Event.ALONE: RoundState.IDLE,
        },
        RoundState.GATHERING: {
            Event.LOST: RoundState.GATHERING,
            Event.GATHERED: RoundState.COMBINING,
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


GATHERING = Table(
    "gathering",
    GatheringState.UNLINKED,
    {
        GatheringState.UNLINKED: {Event.GATHER: GatheringState.ASKED},
        GatheringState.ASKED: {
            Event.SEALED: GatheringState.SEALED,
            Event.WITHHELD: GatheringState.LOST,
            Event.EXPIRED: GatheringState.LOST,
        },
        GatheringState.SEALED: {Event.KEY_ASKED: GatheringState.REVEALING},
        GatheringState.REVEALING: {
            Event.KEY: GatheringState.OPEN,
            Event.WITHHELD: GatheringState.LOST,
            Event.EXPIRED: GatheringState.LOST,
        },
    },
)

CONTRIBUTING = Table(
    "contributing",
    ContributingState.NOT_ASKED,
    {
        ContributingState.NOT_ASKED: {
            Event.GATHER: ContributingState.SEALING,
            Event.GATHER_EARLY: ContributingState.WAITING,
        },
        ContributingState.WAITING: {
            Event.IMPORTED: ContributingState.SEALING,
            Event.GATHER: ContributingState.SEALING,  # a later attempt with fewer senders
            Event.GATHER_EARLY: ContributingState.WAITING,
        },
        ContributingState.SEALING: {
            Event.SEALED: ContributingState.SEALED,
            Event.SEALING_FAILED: ContributingState.WITHHELD,
            Event.GATHER: ContributingState.SEALING,
            Event.GATHER_EARLY: ContributingState.WAITING,
        },
        ContributingState.SEALED: {
            Event.GATHER: ContributingState.SEALING,
            Event.GATHER_EARLY: ContributingState.WAITING,
            Event.KEY_ASKED: ContributingState.REVEALED,
        },
        ContributingState.WITHHELD: {
            Event.GATHER: ContributingState.SEALING,
            Event.GATHER_EARLY: ContributingState.WAITING,
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
