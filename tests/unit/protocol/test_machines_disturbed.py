"""Machines that are joined by a hostile network, with jobs that end in any order.

Hypothesis chooses the inputs one by one; a seeded generator chooses thousands more.
"""

import random
from collections import Counter

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from securefair.protocol.effects import (
    Expired,
    Received,
)
from securefair.protocol.flows import QUERY_BITS, REPLY_BITS
from securefair.protocol.messages import Answer
from securefair.protocol.states import RoundState
from support.examples import examples
from support.moves import forged, random_move
from support.world import NAMES, ROUNDS, World


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_thousands_of_random_interleavings(part):
    inputs = rounds = 0
    worlds = examples(250)
    for seed in range(worlds * part, worlds * (part + 1)):
        rng = random.Random(seed)
        world = World(
            NAMES[: rng.choice([2, 3, 4])],
            rng.choice(["projection", "loss"]),
            always_share=rng.random() < 0.2,
        )
        for _ in range(150):
            random_move(rng, world, mischief=seed % 5 != 0)
            inputs += 1
        world.end()
        rounds += sum(len(overs) for overs in world.overs.values())
    assert inputs == 150 * worlds
    assert rounds > 4 * worlds, "the runs must get somewhere"


@pytest.mark.slow
def test_nothing_that_a_malicious_peer_sends_breaks_an_invariant():
    """Forged messages from dan; the others' exchanges among themselves go on undisturbed."""
    blamed: Counter[str] = Counter()
    worlds = examples(200)
    for seed in range(worlds):
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
    assert blamed["dan"] > 5 * worlds


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
TestInterleavings.settings = hypothesis_settings(stateful_step_count=60)


class Renewals(Interleavings):
    """The same with keys that every round spends."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(NAMES[:3], key_bits=QUERY_BITS + REPLY_BITS)


TestRenewals = Renewals.TestCase
TestRenewals.settings = hypothesis_settings(stateful_step_count=80)


def test_everyone_renews_its_keys_and_nobody_is_blamed():
    world = World(NAMES[:3], key_bits=QUERY_BITS + REPLY_BITS)
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
        assert machine.memory.upload.renewal == ROUNDS - 1
        assert all(len(over.summary.opened) == 2 for over in world.overs[machine.name][::2])
