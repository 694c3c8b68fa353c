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
from securefair.protocol.jobs import RESULT_OF, Job, Prepared, Result, key_of
from securefair.protocol.ledger import Ledger
from securefair.protocol.messages import (
    PROTOCOL_VERSION,
    Answer,
    Decline,
    Features,
    Hello,
    Keys,
    Message,
    Query,
    Refusal,
    Share,
    ShareKey,
    ShareRequest,
)
from securefair.protocol.settings import MachineSettings
from securefair.protocol.states import (
    ADMISSION,
    ASKING,
    PREPARATION,
    ROUND,
    SENDING,
    SERVING,
    AdmissionState,
    AskingState,
    Event,
    PreparationState,
    ReceivingState,
    RoundState,
    SendingState,
    ServingState,
)


@dataclass(frozen=True)
class Introduction:
    """What a peer has sent to introduce itself, and what has been sent to it.

    `keys` and `features` are held until they are imported, their fingerprints for as long as the
    keys last; `samples` and `data_epoch` are those of the features, `key_epoch` of the keys.
    """

    state: AdmissionState = ADMISSION.initial
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
    """This participant as student: its exchange of the current round with one teacher."""

    state: AskingState = ASKING.initial
    exchange: int | None = None
    reply: Answer | Decline | None = None


@dataclass(frozen=True)
class Serving:
    """This participant as teacher: one student's exchange of one round."""

    query: Query
    state: ServingState = SERVING.initial
    reply: Answer | Decline | None = None


@dataclass(frozen=True)
class Peer:
    """All that is remembered of one peer.

    `exchanges` counts the queries sent to it, `opened` its answers that were opened under the
    present keys. `serving` is by round: the current one, those of the last `keep_rounds`, and one
    later round whose query came early. `away` is what the host said last.
    """

    introduction: Introduction = field(default_factory=Introduction)
    reputation: float | None = None
    exchanges: int = 0
    asking: Asking = field(default_factory=Asking)
    serving: Mapping[int, Serving] = field(default_factory=dict)
    away: bool = False
    opened: int = 0


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
class OwnPredictions:
    """E(p) of the current round, if the release asks for it."""

    state: PreparationState = PREPARATION.initial
    payload: bytes = b""


@dataclass(frozen=True)
class Sum:
    """This participant as receiver: the sum of the current round, in its last attempt."""

    attempt: int
    senders: tuple[str, ...]
    states: Mapping[str, ReceivingState]
    closed: Mapping[str, Share] = field(default_factory=dict)
    keys: Mapping[str, ShareKey] = field(default_factory=dict)


@dataclass(frozen=True)
class Sending:
    """This participant as sender: its share of one receiver's sum of one round."""

    asked: ShareRequest
    state: SendingState = SENDING.initial
    reply: Share | Refusal | None = None
    key: ShareKey | None = None


@dataclass(frozen=True)
class Averaging:
    """What is remembered of averaging models.

    `offers` are the neighbours' decisions by round and neighbour, `offered` the own; both of the
    rounds that are kept, `offers` also of rounds to come. `sending` is by receiver and round.
    `problem` says why the own step failed in this round.
    """

    offers: Mapping[int, Mapping[str, bool]] = field(default_factory=dict)
    offered: Mapping[int, Mapping[str, bool]] = field(default_factory=dict)
    sum: Sum | None = None
    lost: tuple[str, ...] = ()
    combined: tuple[str, ...] = ()
    sending: Mapping[tuple[str, int], Sending] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True)
class Memory:
    """Everything a machine knows between two inputs."""

    ledger: Ledger
    peers: Mapping[str, Peer]
    round: int = -1
    state: RoundState = ROUND.initial
    coins: Mapping[str, float] = field(default_factory=dict)
    teacher_version: int = 0
    upload: Upload = field(default_factory=Upload)
    predictions: OwnPredictions = field(default_factory=OwnPredictions)
    running: Mapping[tuple[str, str, int], Job] = field(default_factory=dict)
    averaging: Averaging = field(default_factory=Averaging)


class Turn:
    """One input being handled: the memory so far and the effects so far."""

    def __init__(self, settings: MachineSettings, memory: Memory) -> None:
        self.settings = settings
        self.memory = memory
        self.effects: list[Effect] = []
        self.ending: tuple[Event, str | None] | None = None  # how a round of gossip ends, and why

    @property
    def round(self) -> int:
        """The round that this participant has begun last."""
        return self.memory.round

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
        """Replace this round's exchange with one teacher."""
        self.set_peer(name, replace(self.peer(name), asking=asking))

    def set_serving(self, name: str, round_number: int, serving: Serving) -> None:
        """Replace one student's exchange of one round."""
        peer = self.peer(name)
        self.set_peer(name, replace(peer, serving={**peer.serving, round_number: serving}))

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
        settings = self.settings
        self.send(name, Hello(PROTOCOL_VERSION, settings.collaboration, settings.guarantee))

    def run(self, job: Job) -> None:
        """Run a job; at most one of a kind, peer and round may be under way."""
        key = key_of(job)
        if key in self.memory.running:
            raise LocalProtocolError("a job was started twice", where=str(key))
        self.memory = replace(self.memory, running={**self.memory.running, key: job})
        self.effects.append(Run(job))

    def finish(self, job: Job, result: Result | None = None) -> None:
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
