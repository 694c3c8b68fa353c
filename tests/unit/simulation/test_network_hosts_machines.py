"""A small engine in virtual time: the protocol's machines over the network, with its faults.

It shows all that a host has to do. Jobs take a second of virtual time each and compute nothing.
"""

import heapq
from itertools import count

import numpy as np
import pytest

from securefair.protocol.codec import Limits, decode, encode, kind_of
from securefair.protocol.effects import (
    Begin,
    Blame,
    Done,
    Expired,
    Input,
    Received,
    RoundOver,
    Run,
    Send,
    SetDeadline,
)
from securefair.protocol.jobs import (
    RESULT_OF,
    AnswerAsk,
    Answered,
    Job,
    OpenAnswer,
    Opened,
    Prepared,
    PrepareKeysAndFeatures,
    Result,
)
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import Features, Keys
from securefair.protocol.settings import MachineSettings
from securefair.simulation.network import Faults, Link, Network

NAMES = ("ann", "bea", "cem", "dan")
ROUNDS = 4
LIMITS = Limits(
    public_key=100, evaluation_keys=1000, features=1000, basis=0, question=0, answer=100
)
SETTINGS = MachineSettings(
    collaboration=bytes(32),
    forced_every=2,
    always_share=False,
    disclosure=DisclosurePolicy(
        release="projection",
        classes=2,
        rows=8,
        teacher_parameters=64,
        fraction_per_version=0.5,
    ),
    round_seconds=60.0,
    setup_seconds=30.0,
)


class Engine:
    """Feeds each machine in the order of virtual time until every round of everybody is over."""

    def __init__(self, link: Link, seed: int) -> None:
        self.network = Network(NAMES, classify=kind_of, link=link, rng=np.random.default_rng(seed))
        self.machines = {
            name: ParticipantMachine(name, [n for n in NAMES if n != name], SETTINGS)
            for name in NAMES
        }
        self.timers: list[tuple[float, int, str, Input]] = []
        self.number = count()
        self.overs: dict[str, list[RoundOver]] = {name: [] for name in NAMES}
        self.blames: list[Blame] = []

    def run(self) -> None:
        for name in NAMES:
            self.feed(name, Begin(0, {}, 0))
        while self.timers or self.network.next_time is not None:
            network_first = self.network.next_time is not None and (
                not self.timers or self.network.next_time <= self.timers[0][0]
            )
            if network_first:
                delivery = self.network.deliver_next()
                message = decode(delivery.data, sender=delivery.sender, limits=LIMITS)
                self.feed(delivery.receiver, Received(delivery.sender, message))
            else:
                time, _, name, event = heapq.heappop(self.timers)
                self.network.advance(time)
                self.feed(name, event)

    def feed(self, name: str, event: Input) -> None:
        for effect in self.machines[name].handle(event):
            match effect:
                case Send(peer, message):
                    self.network.send(name, peer, encode(message, LIMITS))
                case Run(job):
                    self.after(1.0, name, Done(job, result(job)))
                case SetDeadline(round_number, seconds):
                    self.after(seconds, name, Expired(round_number))
                case Blame():
                    self.blames.append(effect)
                case RoundOver(round=round_number):
                    self.overs[name].append(effect)
                    if round_number + 1 < ROUNDS:
                        coins = dict.fromkeys(NAMES, 0.5)
                        self.after(0.0, name, Begin(round_number + 1, coins, round_number + 1))

    def after(self, seconds: float, name: str, event: Input) -> None:
        heapq.heappush(self.timers, (self.network.now + seconds, next(self.number), name, event))


def result(job: Job) -> Result:
    match job:
        case PrepareKeysAndFeatures():
            return Prepared(Keys(0, bytes(100), bytes(1000)), Features(0, 50, bytes(1000), b""))
        case AnswerAsk():
            return Answered(bytes(100))
        case OpenAnswer(score=score):
            return Opened(0.75 if score else None)
        case _:
            return RESULT_OF[type(job)]()


def test_a_good_network_needs_no_deadline():
    engine = Engine(Link(latency=0.01, bandwidth=1e6), seed=0)
    engine.run()
    for name in NAMES:
        peers = tuple(peer for peer in NAMES if peer != name)
        assert [over.summary.opened for over in engine.overs[name]] == [peers] * ROUNDS
    assert engine.blames == []


def test_traffic_is_one_upload_and_one_exchange_a_round_for_every_pair():
    engine = Engine(Link(latency=0.01, bandwidth=1e6), seed=0)
    engine.run()
    counts = {(row.message, row.count) for row in engine.network.traffic_rows("cycle")}
    assert counts == {
        ("hello", 1),
        ("keys", 1),
        ("features", 1),
        ("ask", ROUNDS),
        ("answer", ROUNDS),
    }
    keys = engine.network.traffic["ann", "bea", "keys"]
    assert 1100 <= keys.bytes <= 1100 + 64


def test_the_ledger_agrees_with_the_answers_that_were_sent():
    engine = Engine(Link(), seed=0)
    engine.run()
    for teacher in NAMES:
        for row in engine.machines[teacher].ledger.rows(algorithm="cycle", teacher=teacher):
            answers = engine.network.traffic[teacher, row.student, "answer"].count
            assert (row.answers, row.numbers_total) == (answers, 16 * answers) == (4, 64)


def test_a_slow_link_delays_its_own_participants_only_until_the_deadline():
    engine = Engine(Link(), seed=0)
    engine.network = Network(
        NAMES,
        classify=kind_of,
        links={("ann", "bea"): Link(latency=1000.0)},
    )
    engine.run()
    assert engine.overs["bea"][0].summary.missed == ("ann",)
    assert engine.overs["ann"][0].summary.missed == ("bea",)
    assert engine.overs["cem"][0].summary.missed == ()


@pytest.mark.parametrize("seed", range(25))
def test_every_round_ends_whatever_the_network_does(seed):
    faults = Faults(drop=0.1, duplicate=0.1, delay=0.1, reorder=0.1, spread=40.0)
    engine = Engine(Link(latency=0.1, bandwidth=1e4, faults=faults), seed)
    engine.run()
    for name in NAMES:
        assert [over.round for over in engine.overs[name]] == list(range(ROUNDS))
    assert engine.network.now <= 30.0 + ROUNDS * (60.0 + 1.0) + 120.0


def test_equal_seeds_give_equal_runs():
    faults = Faults(drop=0.1, duplicate=0.1, delay=0.1, reorder=0.1, spread=40.0)
    runs = [Engine(Link(latency=0.1, faults=faults), seed=seed) for seed in (7, 7, 8)]
    for engine in runs:
        engine.run()
    first, again, other = ((e.overs, e.network.traffic, e.network.now) for e in runs)
    assert first == again
    assert first != other
