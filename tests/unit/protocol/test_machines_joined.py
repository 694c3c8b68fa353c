"""Three or four machines joined by a hostile network, with jobs that end in any order.

`World` hosts the machines and checks, at every single input, what must hold whatever happens.
Hypothesis chooses the inputs one by one; a seeded generator chooses thousands more.
"""

import random
from collections import Counter

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

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
from securefair.protocol.flows import RESEND_BITS, ROUND_BITS
from securefair.protocol.jobs import (
    Answered,
    AnswerQuery,
    Imported,
    ImportPeer,
    Job,
    OpenAnswer,
    Opened,
    Predictions,
    Prepared,
    PrepareKeysAndFeatures,
    PrepareQuery,
    Result,
    Step,
    Stepped,
    key_of,
)
from securefair.protocol.ledger import DisclosurePolicy, Release
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    Answer,
    Decline,
    DeclineReason,
    Features,
    Hello,
    Keys,
    Message,
    Query,
)
from securefair.protocol.settings import MachineSettings
from securefair.protocol.states import RoundState
from securefair.protocol.stored import decode_memory, encode_memory

NAMES = ("ann", "bea", "cem", "dan")
ROUNDS = 5
FORCED_EVERY = 2
LIMITS = Limits(public_key=64, evaluation_keys=64, features=64, basis=64, predictions=64, answer=64)


def settings(
    release: Release, always_share: bool, key_bits: float | None = None
) -> MachineSettings:
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
        release: Release = Release.PROJECTION,
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

    def result(self, name: str, job: Job) -> Result:
        self.nonce += 1  # encryption is randomised: computing twice gives different bytes
        match job:
            case PrepareKeysAndFeatures():
                made = f"{name} {job.renewal}".encode()
                return Prepared(
                    Keys(job.renewal, made, b"evk"), Features(job.renewal, 20, made, b"")
                )
            case ImportPeer():
                return Imported()
            case PrepareQuery():
                return Predictions(f"{name} {job.round} {self.nonce}".encode())
            case AnswerQuery():
                return Answered(f"{name} {job.peer} {job.round} {self.nonce}".encode())
            case OpenAnswer():
                assert job.payload.startswith(f"{job.peer} {name} {job.round} ".encode())
                new = fraction("reputation", job.round, name, job.peer)
                return Opened(round(new, 1) if job.score else None)
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
                case Run(AnswerQuery() as job):
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
                early = [number for number in peer.serving if number > memory.round]
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


# --- without faults -----------------------------------------------------------------------------


def run_in_step(world: World) -> None:
    for _ in range(ROUNDS):
        for name in world.names:
            world.begin(name)
        world.drain()
        world.check_always()


@pytest.mark.parametrize("release", [Release.PROJECTION, Release.CLASS_SUMS])
def test_a_quiet_network_needs_no_deadline_and_blames_nobody(release):
    world = World(NAMES, release)
    run_in_step(world)
    assert world.blames == []
    assert all(len(overs) == ROUNDS for overs in world.overs.values())
    assert not any(o.summary.missed or o.summary.failed for os in world.overs.values() for o in os)


def test_who_answers_whom_is_what_the_algorithm_says():
    """The whole run against the rules of protocol.md section 6, computed without machines."""
    world = World(NAMES)
    run_in_step(world)
    reputation: dict[tuple[str, str], float] = {}
    for number in range(ROUNDS):
        forced = number % FORCED_EVERY == 0
        expected = {
            student: tuple(
                teacher
                for teacher in NAMES
                if teacher != student
                and (
                    forced
                    or (
                        reputation[student, teacher] > 0
                        and fraction("coin", number, teacher, student)
                        <= reputation[teacher, student]
                    )
                )
            )
            for student in NAMES
        }
        found = {name: world.overs[name][number].summary.opened for name in NAMES}
        assert found == expected
        if forced:
            for n in NAMES:
                for k in NAMES:
                    reputation[n, k] = round(fraction("reputation", number, n, k), 1)
    decisions = {decided for (*_, t), decided in world.decided.items() if t % FORCED_EVERY}
    assert decisions == {True, False}, "the example must contain both decisions"


@pytest.mark.parametrize("release", [Release.PROJECTION, Release.CLASS_SUMS])
def test_a_process_that_ends_after_every_input_changes_nothing(release):
    lasting, ending = World(NAMES, release), World(NAMES, release, restarts=True)
    for world in (lasting, ending):
        run_in_step(world)
    assert ending.overs == lasting.overs
    assert ending.decided == lasting.decided
    assert ending.blames == lasting.blames == []


def test_vpdl_answers_everybody_in_every_round():
    world = World(NAMES, always_share=True)
    run_in_step(world)
    for name in NAMES:
        peers = tuple(peer for peer in NAMES if peer != name)
        assert all(over.summary.opened == peers for over in world.overs[name])
    assert set(world.computed.values()) == {1}
    assert len(world.computed) == 4 * 3 * ROUNDS


@pytest.mark.slow
def test_ordered_channels_with_copies_blame_nobody_and_lose_nothing():
    """Copies and any speed of jobs and links are no fault of a peer."""
    for seed in range(150):
        rng = random.Random(seed)
        world = World(NAMES[:3], rng.choice([Release.LOSS, Release.LOGITS]))
        while True:
            moves = [("begin", name) for name in world.names if world.may_begin(name)]
            links = {(s, r): i for i, (s, r, _) in reversed(list(enumerate(world.frames)))}
            moves += [("deliver", index) for index in links.values()]
            moves += [("copy", index) for index in links.values() if rng.random() < 0.2]
            moves += [("finish", index) for index in range(len(world.jobs))]
            if not moves:
                break
            what, which = rng.choice(moves)
            if what == "begin":
                world.begin(which)
            elif what == "copy":
                world.frames.insert(which, world.frames[which])
            elif what == "deliver":
                world.deliver(which)
            else:
                world.finish(which)
        assert world.blames == []
        world.end()
        assert all(len(overs) == ROUNDS for overs in world.overs.values())
        missed = [o.summary.missed for overs in world.overs.values() for o in overs]
        assert not any(missed)


def test_a_lost_upload_is_made_up_for_in_the_next_round():
    """Everything that bea sends to cem in round 0 is lost; from round 1 on they exchange."""
    world = World(NAMES[:3])
    for name in world.names:
        world.begin(name)
    while world.frames or world.jobs:
        world.frames = [f for f in world.frames if f[:2] != ("bea", "cem")]
        if world.frames:
            world.deliver(0)
        elif world.jobs:
            world.finish(0)
    world.end()
    assert world.overs["bea"][0].summary.missed == ("cem",)
    assert world.overs["cem"][0].summary.missed == ("bea",)
    world.blames.clear()
    for _ in range(2):
        for name in world.names:
            world.begin(name)
        world.drain()
        world.end()
    assert world.blames == []
    assert world.overs["bea"][2].summary.opened == ("ann", "cem")
    assert world.overs["cem"][2].summary.opened == ("ann", "bea")


# --- with every fault ---------------------------------------------------------------------------


def forged(rng: random.Random, world: World, teacher_round: int) -> Message:
    """What a broken or malicious peer might send; often almost right."""
    number = max(0, teacher_round + rng.choice([-2, -1, 0, 0, 0, 1, 1, 2, 3]))
    exchange = rng.choice([0, number, number, number + 1])
    payload = rng.choice([b"", b"forged"])
    return rng.choice(
        [
            Hello(1, bytes(32)),
            Hello(rng.choice([1, 2]), rng.randbytes(32)),
            Keys(0, payload, payload),
            Features(0, 1 + rng.randrange(50), payload, payload),
            Query(number, exchange, payload),
            Answer(number, exchange, payload),
            Decline(number, exchange, rng.choice(list(DeclineReason))),
        ]
    )


def random_move(rng: random.Random, world: World, mischief: bool) -> None:
    """One step of the world; with mischief also loss, copies, reordering and failures."""
    begin = [name for name in world.names if world.may_begin(name)]
    what = rng.random()
    if what < 0.10 and begin:
        world.begin(rng.choice(begin))
    elif what < 0.55 and world.frames:
        world.deliver(rng.randrange(len(world.frames)))
    elif what < 0.85 and world.jobs:
        world.finish(rng.randrange(len(world.jobs)), fail=mischief and rng.random() < 0.05)
    elif what < 0.90 and world.frames and mischief:
        world.frames.pop(rng.randrange(len(world.frames)))
    elif what < 0.96 and world.frames:
        world.frames.append(rng.choice(world.frames))
    elif mischief:
        name = rng.choice(world.names)
        memory = world.machines[name].memory
        if memory.round >= 0:
            world.feed(name, Expired(rng.randrange(memory.round + 1)))


@pytest.mark.parametrize("part", range(4))
def test_thousands_of_random_interleavings(part):
    inputs = rounds = 0
    for seed in range(250 * part, 250 * (part + 1)):
        rng = random.Random(seed)
        world = World(
            NAMES[: rng.choice([2, 3, 4])],
            rng.choice([Release.PROJECTION, Release.LOSS]),
            always_share=rng.random() < 0.2,
        )
        for _ in range(150):
            random_move(rng, world, mischief=seed % 5 != 0)
            inputs += 1
        world.end()
        rounds += sum(len(overs) for overs in world.overs.values())
    assert inputs == 37_500
    assert rounds > 1000, "the runs must get somewhere"


@pytest.mark.slow
def test_nothing_that_a_malicious_peer_sends_breaks_an_invariant():
    """Forged messages from dan; the others' exchanges among themselves go on undisturbed."""
    blamed: Counter[str] = Counter()
    for seed in range(200):
        rng = random.Random(seed)
        world = World(NAMES)
        honest = [name for name in NAMES if name != "dan"]
        for _ in range(ROUNDS):
            for name in honest:
                world.begin(name)
            for _ in range(60):
                name = rng.choice(honest)
                if rng.random() < 0.4:
                    message = forged(rng, world, world.machines[name].memory.round)
                    world.feed(name, Received("dan", message))
                elif world.jobs:
                    index = rng.randrange(len(world.jobs))
                    _, job = world.jobs[index]
                    world.finish(index, fail=getattr(job, "peer", "") == "dan")
                world.frames = [frame for frame in world.frames if frame[1] != "dan"]
                if world.frames:
                    world.deliver(0)
            world.frames = [frame for frame in world.frames if frame[1] != "dan"]
            while world.frames or world.jobs:
                world.frames = [frame for frame in world.frames if frame[1] != "dan"]
                if world.frames:
                    world.deliver(0)
                elif world.jobs:
                    _, job = world.jobs[0]
                    world.finish(0, fail=getattr(job, "peer", "") == "dan")
            for name in honest:
                memory = world.machines[name].memory
                if memory.state is RoundState.EXCHANGING:
                    world.feed(name, Expired(memory.round))
            while world.jobs:
                world.finish(0, fail=getattr(world.jobs[0][1], "peer", "") == "dan")
        blamed.update(blame.peer for _, blame in world.blames)
        for name in honest:
            for over in world.overs[name]:
                others = {peer for peer in honest if peer != name}
                if over.summary.forced:
                    assert others <= set(over.summary.opened)
    assert set(blamed) == {"dan"}
    assert blamed["dan"] > 1000


class Interleavings(RuleBasedStateMachine):
    """Hypothesis plays the network, the processors and the clock, and shrinks what it finds."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(NAMES[:3])

    @rule(which=st.integers(0, 2))
    def begin(self, which: int) -> None:
        name = self.world.names[which]
        if self.world.may_begin(name):
            self.world.begin(name)

    @precondition(lambda self: self.world.frames)
    @rule(data=st.data(), copies=st.sampled_from([0, 1, 1, 1, 1, 2]))
    def deliver(self, data: st.DataObject, copies: int) -> None:
        index = data.draw(st.integers(0, len(self.world.frames) - 1))
        frame = self.world.frames[index]
        if copies == 0:
            self.world.frames.pop(index)
            return
        self.world.frames.extend([frame] * (copies - 1))
        self.world.deliver(index)

    @precondition(lambda self: self.world.jobs)
    @rule(data=st.data(), fail=st.sampled_from([False] * 9 + [True]))
    def finish(self, data: st.DataObject, fail: bool) -> None:
        self.world.finish(data.draw(st.integers(0, len(self.world.jobs) - 1)), fail)

    @rule(which=st.integers(0, 2))
    def expire(self, which: int) -> None:
        name = self.world.names[which]
        memory = self.world.machines[name].memory
        if memory.round >= 0:
            self.world.feed(name, Expired(memory.round))

    @rule(which=st.integers(0, 2), seed=st.integers(0, 2**16))
    def forge(self, which: int, seed: int) -> None:
        name, sender = self.world.names[which], self.world.names[which - 1]
        number = self.world.machines[name].memory.round
        message = forged(random.Random(seed), self.world, number)
        if not isinstance(message, Answer):  # World checks that opened answers are genuine
            self.world.feed(name, Received(sender, message))

    @invariant()
    def holds(self) -> None:
        self.world.check_always()

    def teardown(self) -> None:
        self.world.end()


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = hypothesis_settings(max_examples=60, stateful_step_count=60)


class Renewals(Interleavings):
    """The same with keys that every round spends."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(NAMES[:3], key_bits=ROUND_BITS)


TestRenewals = Renewals.TestCase
TestRenewals.settings = hypothesis_settings(max_examples=40, stateful_step_count=80)


def test_everyone_renews_its_keys_and_nobody_is_blamed():
    world = World(NAMES[:3], key_bits=ROUND_BITS + RESEND_BITS)
    for _ in range(ROUNDS):
        for name in world.names:
            world.begin(name)
        while world.frames or world.jobs:
            while world.jobs:
                world.finish(0)
            if world.frames:
                world.deliver(0)
    assert not world.blames
    for machine in world.machines.values():
        assert machine.memory.upload.renewal == 2  # rounds 1 and 3 are left to chance
        assert all(len(over.summary.opened) == 2 for over in world.overs[machine.name][::2])
