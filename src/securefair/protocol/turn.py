"""What a machine remembers, and one turn: the handling of one input.

The memory is immutable. A turn starts from it, collects the next memory and the effects, and is
committed only when the input was handled to its end; whatever is raised on the way leaves the
machine as it was. That is how "an unexpected message changes no state" is kept: handlers raise
RemoteProtocolError, and the turn is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from securefair.errors import LocalProtocolError
from securefair.protocol.effects import Effect, Run, Send
from securefair.protocol.jobs import RESULT_OF, Job, JobResult, Prepared, key_of
from securefair.protocol.ledger import Ledger
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
    Parts,
    Recover,
)
from securefair.protocol.settings import MachineSettings
from securefair.protocol.states import (
    ADMISSION,
    ASKING,
    PREPARATION,
    ROUND,
    SERVING,
    AdmissionState,
    AskingState,
    Event,
    PreparationState,
    RoundState,
    ServingState,
)


@dataclass(frozen=True)
class Introduction:
    """What a peer has sent to introduce itself, and what has been sent to it.

    `greeted` says that this participant has said Hello to it, which it may hear of before it begins
    a round itself.

    `keys` and `features` are held until they are imported, their fingerprints for as long as the
    keys last; `samples` and `data_epoch` are those of the features, `key_epoch` of the keys.
    """

    state: AdmissionState = ADMISSION.initial
    greeted: bool = False
    hello: Hello | None = None
    keys: Keys | None = None
    features: Features | None = None
    fingerprints: Mapping[type[Message], bytes] = field(default_factory=dict)
    samples: int = 0
    data_epoch: int = 0
    key_epoch: int = 0
    upload_sent: bool = False
    upload_repeated_in: int | None = None  # round
    renewals: tuple[int, int] = (-1, 0)  # the last round in which its keys changed, and how often


@dataclass(frozen=True)
class Asking:
    """This participant as student: its question of the current round to one teacher.

    `parts` are the teacher's, of the keys of those that are lost. `doubtful`: a statistical test
    refused its answer.
    """

    state: AskingState = ASKING.initial
    reply: Answer | Decline | None = None
    key: Key | None = None
    parts: Parts | None = None
    doubtful: bool = False


@dataclass(frozen=True)
class Serving:
    """This participant as teacher: one student's question of one round, in its last attempt.

    `recalled` asked for its `parts` of the keys of others. A key, or parts, that could not be made
    are a decline. `forgotten`: the student began anew since, and does not remember that it asked.
    """

    asked: Ask
    state: ServingState = SERVING.initial
    reply: Answer | Decline | None = None
    key: Key | Decline | None = None
    recalled: Recover | None = None
    parts: Parts | Decline | None = None
    forgotten: bool = False


@dataclass(frozen=True)
class Peer:
    """All that is remembered of one peer.

    `asking` is the question whose answer is opened by itself; that for a sum is in `Sum`. `serving`
    is by round, and by whether it is for a sum: the current round, the last `keep_rounds`, and
    one later round whose question came early. `away` is what the host said last. `offers` counts
    the rounds in which it offered its model, the last of them `offered_in`; `offered` those in
    which it was told so of the own one. Both count to the end once a budget is said to be used up.
    """

    introduction: Introduction = field(default_factory=Introduction)
    reputation: float | None = None
    asking: Asking = field(default_factory=Asking)
    serving: Mapping[tuple[int, bool], Serving] = field(default_factory=dict)
    away: bool = False
    offers: int = 0
    offered_in: int = -1
    offered: int = 0


@dataclass(frozen=True)
class Upload:
    """This participant's own keys and features, kept to be sent again to who lost them.

    `renewal` counts the keys that were made anew after the first, `since` is the round in which the
    present ones were begun.
    """

    state: PreparationState = PREPARATION.initial
    prepared: Prepared | None = None
    renewal: int = 0
    since: int = 0


@dataclass(frozen=True)
class OwnQuestions:
    """What each teacher is asked in the current round, where questions say anything."""

    state: PreparationState = PREPARATION.initial
    payloads: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Sum:
    """This participant as student: the sum of the current round, in its last attempt."""

    attempt: int
    teachers: Mapping[str, Asking]
    recalled: tuple[str, ...] = ()  # of whose keys parts are asked for


@dataclass(frozen=True)
class Averaging:
    """What is remembered of sums.

    `offers` are the neighbours' decisions by round and neighbour, `offered` the own; both of the
    rounds that are kept, `offers` also of rounds to come. `declined` are those
    asked for a sum that said why not. `problem` says why the own step failed in this round.
    """

    offers: Mapping[int, Mapping[str, bool]] = field(default_factory=dict)
    offered: Mapping[int, Mapping[str, bool]] = field(default_factory=dict)
    sum: Sum | None = None
    lost: tuple[str, ...] = ()
    declined: Mapping[str, DeclineReason] = field(default_factory=dict)
    combined: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class Memory:
    """Everything a machine knows between two inputs; `first` is the round that it began first."""

    ledger: Ledger
    peers: Mapping[str, Peer]
    round: int = -1
    state: RoundState = ROUND.initial
    coins: Mapping[str, float] = field(default_factory=dict)
    teacher_version: int = 0
    upload: Upload = field(default_factory=Upload)
    questions: OwnQuestions = field(default_factory=OwnQuestions)
    running: Mapping[tuple[str, str, int], Job] = field(default_factory=dict)
    averaging: Averaging = field(default_factory=Averaging)
    first: int = 0


class Turn:
    """One input being handled: the memory so far and the effects so far."""

    def __init__(self, settings: MachineSettings, memory: Memory) -> None:
        self.settings = settings
        self.memory = memory
        self.effects: list[Effect] = []
        self.ending: tuple[Event, str | None] | None = None  # how a round with a sum ends, and why

    @property
    def round(self) -> int:
        """The round that this participant has begun last."""
        return self.memory.round

    @property
    def seconds(self) -> float:
        """A deadline's: of the first round with the time for introductions."""
        settings, first = self.settings, self.round == self.memory.first
        return settings.round_seconds + (settings.setup_seconds if first else 0)

    def peer(self, name: str) -> Peer:
        """What is remembered of one peer."""
        return self.memory.peers[name]

    def set_peer(self, name: str, peer: Peer) -> None:
        """Remember this of one peer from now on."""
        self.memory = replace(self.memory, peers={**self.memory.peers, name: peer})

    def set_introduction(self, name: str, introduction: Introduction) -> None:
        """Replace one peer's introduction."""
        self.set_peer(name, replace(self.peer(name), introduction=introduction))

    def set_asking(self, name: str, asking: Asking) -> None:
        """Replace this round's question to one teacher."""
        self.set_peer(name, replace(self.peer(name), asking=asking))

    def set_serving(self, name: str, serving: Serving) -> None:
        """Replace one student's question of its round."""
        peer, asked = self.peer(name), serving.asked
        held = {**peer.serving, (asked.round, asked.summed): serving}
        self.set_peer(name, replace(peer, serving=held))

    def set_averaging(self, averaging: Averaging) -> None:
        """Replace what is remembered of sums."""
        self.memory = replace(self.memory, averaging=averaging)

    def set_sum(self, current: Sum) -> None:
        """Replace the sum of this round, which this participant asks for."""
        self.set_averaging(replace(self.memory.averaging, sum=current))

    def set_part(self, name: str, asking: Asking) -> None:
        """Replace the question to one sender of that sum, if there is one."""
        current = self.memory.averaging.sum
        if current is not None:
            self.set_sum(replace(current, teachers={**current.teachers, name: asking}))

    def move_part(self, name: str, event: Event) -> None:
        """What happened to that question."""
        current = self.memory.averaging.sum
        if current is not None:
            asking = current.teachers[name]
            self.set_part(name, replace(asking, state=ASKING.next(asking.state, event)))

    def tell(self, name: str, bits: float) -> None:
        """Charge a peer's account with what control messages tell it of opened values."""
        self.memory = replace(self.memory, ledger=self.memory.ledger.with_bits(name, bits))

    def tell_choice(self, name: str, bits: float) -> None:
        """Charge what all rounds up to the next forced one tell by asking or not asking."""
        self.memory = replace(self.memory, ledger=self.memory.ledger.with_choice(name, bits))

    def send(self, name: str, message: Message) -> None:
        """Send a message to a peer."""
        self.effects.append(Send(name, message))

    def greet(self, name: str) -> None:
        """Say Hello to a peer, or again, to remind it that its upload is not there."""
        settings, introduction = self.settings, self.peer(name).introduction
        self.set_introduction(name, replace(introduction, greeted=True))
        self.send(name, Hello(settings.protocol, settings.collaboration, settings.guarantee))

    def run(self, job: Job) -> None:
        """Run a job; at most one of a kind, peer and round may be under way."""
        key = key_of(job)
        if key in self.memory.running:
            raise LocalProtocolError("a job was started twice", where=str(key))
        self.memory = replace(self.memory, running={**self.memory.running, key: job})
        self.effects.append(Run(job))

    def finish(self, job: Job, result: JobResult | None = None) -> None:
        """Take note that a job has ended, with `result` unless it failed.

        Raises:
            LocalProtocolError: it is not under way, or its result is of the wrong type.
        """
        key = key_of(job)
        if self.memory.running.get(key) != job:
            raise LocalProtocolError("this job is not under way", where=str(key))
        expected = RESULT_OF[type(job)]
        if result is not None and not isinstance(result, expected):
            raise LocalProtocolError(
                "a job returned the wrong kind of result",
                where=str(key),
                found=type(result).__name__,
                expected=expected.__name__,
            )
        running = {other: value for other, value in self.memory.running.items() if other != key}
        self.memory = replace(self.memory, running=running)
