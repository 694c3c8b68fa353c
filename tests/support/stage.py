"""One machine on a stage: what it is told, and what it does about it."""

import dataclasses

from securefair.protocol.effects import (
    Begin,
    Blame,
    Done,
    Effect,
    Expired,
    Failed,
    Received,
    RoundOver,
    Send,
)
from securefair.protocol.jobs import (
    Imported,
    ImportPeer,
    OpenedAnswer,
    Prepared,
    PrepareKeysAndFeatures,
    Stepped,
)
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    PROTOCOL_VERSION,
    Answer,
    Decline,
    DeclineReason,
    Features,
    Hello,
    Keys,
)
from securefair.protocol.settings import MachineSettings
from securefair.protocol.states import (
    AdmissionState,
    RoundState,
)

HELLO = Hello(PROTOCOL_VERSION, bytes(32))
OWN = Prepared(Keys(0, b"own key", b"own evk"), Features(0, 40, b"own x", b""))
KEYS = Keys(0, b"peer's key", b"peer's evk")
FEATURES = Features(0, 30, b"peer's x", b"")
NOT_SHARING = DeclineReason.NOT_SHARING
STALE = DeclineReason.STALE

DISCLOSURE = DisclosurePolicy(
    release="logits", classes=2, rows=1, teacher_parameters=100, fraction_per_version=None
)
SETTINGS = MachineSettings(
    collaboration=bytes(32),
    forced_every=3,
    always_share=False,
    disclosure=DISCLOSURE,
    round_seconds=10.0,
    setup_seconds=5.0,
)


class Stage:
    """One machine and a short way to play its peers and its jobs."""

    def __init__(self, peers=("bea", "cem"), **changes) -> None:
        self.machine = ParticipantMachine("ann", peers, dataclasses.replace(SETTINGS, **changes))
        self.peers = peers

    def begin(self, number: int, version: int | None = None, **coins: float) -> list[Effect]:
        coins = {**dict.fromkeys(self.peers, 0.5), **coins}
        return self.machine.handle(Begin(number, coins, number if version is None else version))

    def hear(self, sender: str, message) -> list[Effect]:
        return self.machine.handle(Received(sender, message))

    def done(self, job, result) -> list[Effect]:
        return self.machine.handle(Done(job, result))

    def fail(self, job, error: str = "out of luck") -> list[Effect]:
        return self.machine.handle(Failed(job, error))

    def expire(self, number: int) -> list[Effect]:
        return self.machine.handle(Expired(number))

    def introduce(self, *peers: str) -> None:
        """The peers say Hello, upload, and are imported."""
        for peer in peers or self.peers:
            self.hear(peer, HELLO)
            self.hear(peer, KEYS)
            self.hear(peer, FEATURES)
            self.done(ImportPeer(peer, KEYS, FEATURES), Imported())

    def started(self) -> "Stage":
        """Round 0 has begun, everybody is introduced and has been asked."""
        self.begin(0)
        self.done(PrepareKeysAndFeatures(), OWN)
        self.introduce()
        return self

    def replied(self, number: int, **reputations: float | None) -> list[Effect]:
        """The named peers answer the query of a round (None: decline); the last effects."""
        effects: list[Effect] = []
        for peer, reputation in reputations.items():
            if reputation is None:
                effects = self.hear(peer, Decline(number, 0, NOT_SHARING))
                continue
            [run] = self.hear(peer, Answer(number, 0, b"numbers"))
            effects = self.done(run.job, OpenedAnswer(reputation if run.job.score else None))
        return effects

    def stepped(self, number: int) -> RoundOver:
        memory = self.machine.memory
        [over] = self.done(memory.running["Step", "", number], Stepped())
        return over

    def after_round_0(self, **reputations: float | None) -> "Stage":
        self.started().replied(0, **reputations)
        self.stepped(0)
        return self

    def asking(self, peer: str):
        return self.machine.memory.peers[peer].asking

    def serving(self, peer: str, number: int):
        return self.machine.memory.peers[peer].serving[number, False]

    def admission(self, peer: str) -> AdmissionState:
        return self.machine.memory.peers[peer].introduction.state

    @property
    def state(self) -> RoundState:
        return self.machine.memory.state

    def blamed(self, sender: str, message, reason: str, *declined) -> None:
        """The message is blamed on its sender, for this reason, and nothing has changed."""
        before = self.machine.memory
        *sent, blame = self.hear(sender, message)
        assert sent == [Send(sender, decline) for decline in declined]
        assert isinstance(blame, Blame)
        assert blame.peer == sender
        assert reason in blame.reason
        assert self.machine.memory is before

    def ignored(self, sender: str, message) -> None:
        before = self.machine.memory
        assert self.hear(sender, message) == []
        assert self.machine.memory == before


def sends(effects: list[Effect], peer: str) -> list:
    return [
        effect.message for effect in effects if isinstance(effect, Send) and effect.peer == peer
    ]


# --- beginning and ending a round ------------------------------------------------------------
