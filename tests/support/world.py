"""Three or four machines joined by a network that the test plays, with jobs that end in any order.

`World` hosts the machines and checks, at every single input, what must hold whatever happens.
"""

import random
from collections import Counter

from securefair.protocol.codec import Limits, decode, encode
from securefair.protocol.effects import (
    Begin,
    Blame,
    Done,
    Expired,
    Failed,
    Input,
    Received,
    RoundOver,
    Run,
    Send,
    SetDeadline,
)
from securefair.protocol.jobs import (
    AnswerAsk,
    Answered,
    Imported,
    ImportPeer,
    Job,
    JobResult,
    OpenAnswer,
    OpenedAnswer,
    PrepareAsk,
    Prepared,
    PrepareKeysAndFeatures,
    Questions,
    Step,
    Stepped,
    key_of,
)
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    Answer,
    Decline,
    DeclineReason,
    Features,
    Hello,
    Keys,
    Message,
)
from securefair.protocol.settings import MachineSettings
from securefair.protocol.states import RoundState
from securefair.protocol.stored import decode_memory, encode_memory

NAMES = ("ann", "bea", "cem", "dan")
ROUNDS = 5
FORCED_EVERY = 2
LIMITS = Limits(public_key=64, evaluation_keys=64, features=64, basis=64, question=64, answer=64)


def settings(release: str, always_share: bool, key_bits: float | None = None) -> MachineSettings:
    return MachineSettings(
        collaboration=bytes(32),
        forced_every=FORCED_EVERY,
        always_share=always_share,
        disclosure=DisclosurePolicy(
            release=release, classes=2, rows=3, teacher_parameters=50, fraction_per_version=None
        ),
        round_seconds=1.0,
        key_bits=key_bits,
    )


def fraction(*what: object) -> float:
    """A reproducible number in [0, 1): coins and reputations of the test."""
    return random.Random(repr(what)).random()


class World:
    """Machines, frames under way, jobs under way; every input goes through `feed`."""

    def __init__(
        self,
        names: tuple[str, ...] = NAMES[:3],
        release: str = "projection",
        always_share: bool = False,
        restarts: bool = False,
        key_bits: float | None = None,
    ) -> None:
        self.names = names
        self.restarts = restarts  # every machine's process ends after every input
        self.settings = settings(release, always_share, key_bits)
        self.machines = {
            name: ParticipantMachine(name, [n for n in names if n != name], self.settings)
            for name in names
        }
        self.frames: list[tuple[str, str, bytes]] = []  # sender, receiver, bytes
        self.jobs: list[tuple[str, Job]] = []
        self.overs: dict[str, list[RoundOver]] = {name: [] for name in names}
        self.blames: list[tuple[str, Blame]] = []
        self.computed: Counter[tuple[str, str, int]] = Counter()  # teacher, student, round
        self.replies: dict[tuple[str, str, int], bytes] = {}
        self.decided: dict[tuple[str, str, int], bool] = {}
        self.nonce = 0

    # --- what an engine does ---

    def feed(self, name: str, event: Input) -> None:
        machine = self.machines[name]
        before = machine.memory
        effects = machine.handle(event)
        self.check(name, event, before, effects)
        if self.restarts:
            self.restart(name)
        for effect in effects:
            match effect:
                case Send(peer, message):
                    self.frames.append((name, peer, encode(message, LIMITS)))
                case Run(job):
                    self.jobs.append((name, job))
                case Blame():
                    self.blames.append((name, effect))
                case RoundOver():
                    self.overs[name].append(effect)
                case SetDeadline():
                    pass  # the test lets deadlines expire when it likes

    def restart(self, name: str) -> None:
        """Another machine goes on with what the first one has stored."""
        memory = self.machines[name].memory
        data, apart = encode_memory(memory)
        restored = decode_memory(data, apart.__getitem__)
        assert restored == memory
        peers = [peer for peer in self.names if peer != name]
        self.machines[name] = ParticipantMachine(name, peers, self.settings, memory=restored)

    def begin(self, name: str) -> None:
        number = self.machines[name].memory.round + 1
        coins = {peer: fraction("coin", number, name, peer) for peer in self.names if peer != name}
        self.feed(name, Begin(number, coins, teacher_version=number))

    def deliver(self, index: int) -> None:
        sender, receiver, frame = self.frames.pop(index)
        self.feed(receiver, Received(sender, decode(frame, sender=sender, limits=LIMITS)))

    def finish(self, index: int, fail: bool = False) -> None:
        name, job = self.jobs.pop(index)
        if fail:
            self.feed(name, Failed(job, "bad luck"))
        else:
            self.feed(name, Done(job, self.result(name, job)))

    def result(self, name: str, job: Job) -> JobResult:
        self.nonce += 1  # encryption is randomised: computing twice gives different bytes
        match job:
            case PrepareKeysAndFeatures():
                made = f"{name} {job.renewal}".encode()
                return Prepared(
                    Keys(job.renewal, made, b"evk"), Features(job.renewal, 20, made, b"")
                )
            case ImportPeer():
                return Imported()
            case PrepareAsk():
                question = f"{name} {job.round} {self.nonce}".encode()
                return Questions(dict.fromkeys(job.teachers, question))
            case AnswerAsk():
                return Answered(f"{name} {job.peer} {job.round} {self.nonce}".encode())
            case OpenAnswer():
                assert job.payload.startswith(f"{job.peer} {name} {job.round} ".encode())
                new = fraction("reputation", job.round, name, job.peer)
                return OpenedAnswer(round(new, 1) if job.score else None)
            case Step():
                return Stepped()

    def may_begin(self, name: str) -> bool:
        memory = self.machines[name].memory
        return memory.state is RoundState.IDLE and memory.round < ROUNDS - 1

    # --- what must hold ---

    def check(self, name: str, event: Input, before, effects) -> None:
        after = self.machines[name].memory
        blames = [effect for effect in effects if isinstance(effect, Blame)]
        if isinstance(event, Received) and blames:
            assert [blame.peer for blame in blames] == [event.sender]
            # A first Hello that differs is expected and remembered; its sender is refused.
            peer = before.peers[event.sender]
            first_hello = peer.introduction.hello is None and isinstance(event.message, Hello)
            if not first_hello:
                assert effects == blames, "an unexpected message has no effect but the blame"
                assert after is before, "an unexpected message changes no state"
        if before.state is RoundState.IDLE and not isinstance(event, Begin):
            assert after.state is RoundState.IDLE, "only Begin begins a round"
        if not isinstance(event, Done) or not isinstance(event.job, OpenAnswer):
            assert {n: p.reputation for n, p in after.peers.items()} == {
                n: p.reputation for n, p in before.peers.items()
            }, "only an opened answer changes a reputation"
        for effect in effects:
            match effect:
                case Run(AnswerAsk() as job):
                    self.computed[name, job.peer, job.round] += 1
                    assert self.computed[name, job.peer, job.round] == 1, "computed twice"
                    self.check_decision(name, job.peer, job.round, answered=True)
                case Send(peer, Decline(round=number, reason=DeclineReason.NOT_SHARING)):
                    self.check_decision(name, peer, number, answered=False)
                    self.check_reply(name, peer, number, effect.message)
                case Send(peer, Answer(round=number) as message):
                    self.check_reply(name, peer, number, message)
                case Run(Step(peers=peers, reputations=reputations)):
                    assert len(peers) == len(reputations)
                    assert list(reputations) == [after.peers[p].reputation for p in peers]

    def check_decision(self, teacher: str, student: str, number: int, answered: bool) -> None:
        if (teacher, student, number) in self.decided:
            expected = self.decided[teacher, student, number]
            assert answered == expected, "a decision was taken twice, and differently"
        elif self.settings.always_share or number % FORCED_EVERY == 0:
            assert answered, "forced rounds answer everybody"
        else:
            reputation = self.machines[teacher].reputations[student]
            coin = fraction("coin", number, teacher, student)
            expected = reputation is not None and coin <= reputation
            assert answered == expected, "the sharing decision is coin <= reputation"
        self.decided[teacher, student, number] = answered

    def check_reply(self, teacher: str, student: str, number: int, message: Message) -> None:
        frame = encode(message, LIMITS)
        first = self.replies.setdefault((teacher, student, number), frame)
        assert frame == first, "a repeated query gets the same bytes"

    def check_always(self) -> None:
        for name, machine in self.machines.items():
            memory = machine.memory
            mine = [key_of(job) for host, job in self.jobs if host == name]
            assert sorted(mine) == sorted(memory.running), "a job is lost, or under way twice"
            if memory.state is RoundState.STEPPING:
                assert ("Step", "", memory.round) in memory.running
            if memory.state is RoundState.EXCHANGING:
                assert any(
                    peer.asking.state.name in ("WAITING", "ASKED", "OPENING")
                    for peer in memory.peers.values()
                ), "an exchanging round has something to wait for"
            assert [over.round for over in self.overs[name]] == list(
                range(memory.round + (memory.state is RoundState.IDLE))
            ), "every round that began has ended once"
            for over in self.overs[name]:
                summary = over.summary
                groups = (summary.opened, summary.declined, summary.failed, summary.missed)
                assert Counter(summary.asked) == Counter(p for group in groups for p in group)
            for peer in memory.peers.values():
                early = [number for number, _ in peer.serving if number > memory.round]
                assert len(early) <= 1, "at most one query is kept ahead"

    def drain(self) -> None:
        """Deliver and finish everything that is under way, first in first out."""
        while self.frames or self.jobs:
            if self.frames:
                self.deliver(0)
            else:
                self.finish(0)

    def end(self) -> None:
        """No round is stuck: with the deadline, everybody's ends."""
        self.drain()
        for name, machine in self.machines.items():
            if machine.memory.state is RoundState.EXCHANGING:
                self.feed(name, Expired(machine.memory.round))
        self.drain()
        self.check_always()
        for name, machine in self.machines.items():
            assert machine.memory.state is RoundState.IDLE
            assert len(self.overs[name]) == machine.memory.round + 1


def run_in_step(world: World) -> None:
    for _ in range(ROUNDS):
        for name in world.names:
            world.begin(name)
        world.drain()
        world.check_always()
