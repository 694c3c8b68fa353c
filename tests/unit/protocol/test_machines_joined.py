"""Machines that are joined without faults: who answers whom is what the algorithm says."""

import random

import pytest

from support.world import FORCED_EVERY, NAMES, ROUNDS, World, fraction, run_in_step


@pytest.mark.parametrize("release", ["projection", "class_sums"])
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


@pytest.mark.parametrize("release", ["projection", "class_sums"])
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
        world = World(NAMES[:3], rng.choice(["loss", "logits"]))
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
