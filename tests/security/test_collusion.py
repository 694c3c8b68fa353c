"""What hospitals that work together know of an honest one's fit or model, whatever they ask for.

Adversary: any so many hospitals, as students and as teachers. They name any senders, other ones to
everybody, in any round and attempt, ask for any keys, and wait until patients change. They are
drawn, and so is what they do. Protected: single fits, up to the number of hospitals that is stated;
a sum is one row, and of an honest hospital they must know no combination of its fits alone.
"""

import dataclasses
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from securefair.averaging import Gathering, Shares, release, share_message
from securefair.averaging.pairwise import generate_private, public_bytes
from securefair.collaboration.transfer.given import Given
from securefair.collaboration.transfer.host import TransferHost
from securefair.collaboration.transfer.questions import encrypted
from securefair.config import DisclosureSection
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import LedgerError
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    AnswerAsk,
    Answered,
    Imported,
    ImportPeer,
    KeyReleased,
    PrepareAsk,
    Prepared,
    PrepareKeysAndFeatures,
    Questions,
    ReleaseKey,
)
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import Keys
from security.colluding import Honest, Together, question
from support.agreements import agree
from support.examples import examples
from support.simulated import on_backend

ROUNDS, ACTIONS = 2, 30
RUNS = 12


@cache
def patients(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (24, 2))
    return Samples(x, np.arange(24) % 2, 2)


@pytest.fixture
def bare(monkeypatch):
    """Answers without content: whose are in a sum is all that counts here."""
    monkeypatch.setattr(encrypted, "answer", lambda *_, **__: (None, b"an answer"))
    monkeypatch.setattr(encrypted, "masked", lambda *_, **__: b"a masked answer")


class Averager:
    """A hospital that shares its model with everybody, and looks at no weights."""

    def __init__(self, name, agreement):
        self.name, self.agreement, self._shares = name, agreement, Shares()
        peers = [other for other in agreement.participants if other != name]
        settings = agreement.machine_settings(name)
        self.machine = ParticipantMachine(name, peers, settings)

    def begin(self, round):
        self.version = round  # a model of its own in each

    def run(self, job):
        match job:
            case PrepareKeysAndFeatures():
                return Prepared(Keys(0, b"own", b""), None)
            case ImportPeer():
                return Imported()
            case Adapt():
                neighbours = self.machine.settings.sums.neighbours
                return Adapted(dict.fromkeys(neighbours, 1.0))
            case PrepareAsk():
                return Questions({})
            case AnswerAsk():
                self._shares, closed = share_message(
                    self._shares, self._sum(job), self.name, job.payload, lambda: b"a model"
                )
                return Answered(closed)
            case ReleaseKey():
                self._shares, key = release(self._shares, self._sum(job))
                return KeyReleased(key)

    def _sum(self, job):
        where = self.agreement.digest, job.round, job.attempt, job.peer, job.senders
        return Gathering.asked(*where)


def unrestricted(host):
    """The rule as it was: any two senders, this one among them."""
    settings = host.machine.settings
    names = sorted({host.name, *host.machine.memory.peers})
    senders = {name: tuple(other for other in names if other != name) for name in names}
    sums = dataclasses.replace(settings.sums, senders=senders, missing=None)
    host.machine.settings = dataclasses.replace(settings, sums=sums)


class GivenByStudent(Given):
    """The rule as it was: one set of teachers for each student, whatever others have."""

    def check(self, student, version, senders):
        if self.means.get(student, (version, senders)) != (version, senders):
            raise LedgerError("two means")

    def plus(self, student, version, senders):
        self.check(student, version, senders)
        return GivenByStudent({**self.means, student: (version, senders)})


def one_set_a_student(host):
    host.given = GivenByStudent()


def transferring(agreement, together, weaken):
    """Honest hospitals of a transfer."""
    names = [name for name in agreement.participants if name not in together]
    publics = {name: public_bytes(generate_private()) for name in agreement.participants}
    honest = {}
    for name in names:
        data = ParticipantData(name, patients(ord(name)), patients(ord(name) + 99))
        unlimited = replace(agreement, disclosure=DisclosureSection(fraction=None))
        host = TransferHost(data, on_backend(unlimited, "clear"), seed=0)
        if weaken is not None:
            weaken(host)
        honest[name] = Honest(host, publics)
    return honest


def drawn_senders(rng, agreed, together, teacher):
    """Everybody, everybody but some, or a few and mostly those who work together."""
    how = rng.integers(4)
    others = [name for name in agreed if name != teacher]
    if how == 0:
        chosen = others
    elif how == 1:
        away = rng.choice(others, size=min(len(others), rng.integers(1, 3)), replace=False)
        chosen = [name for name in others if name not in away]
    elif how == 2:
        chosen = [name for name in others if name in together]
    else:
        chosen = [name for name in others if rng.random() < 0.5]
    return tuple(sorted({teacher, *chosen}))


def act(rng, group, together, honest, renew, late):
    """Some rounds of whatever they like; in a burst one sum is asked for of all its senders.

    In so many of the bursts some are not asked for their keys, but others for parts of them. What
    patients come next does not matter, only that they are others: so their fits are shared.
    """
    known = Together(together, honest)
    asked, renewed = Counter(), Counter()
    for round in range(ROUNDS):
        for one in honest.values():
            one.begin(round)
        for _ in range(ACTIONS // ROUNDS):
            student = str(rng.choice(together))
            agreed = [name for name in group if name != student]
            first = str(rng.choice([name for name in agreed if name in honest]))
            senders = drawn_senders(rng, agreed, together, first)
            request = question(int(rng.integers(2)))
            when = int(rng.integers(round + 1))
            attempt = int(asked[student, when] if rng.random() < 0.8 else rng.integers(3))
            asked[student, when] += 1
            for name in senders:
                if name in honest and rng.random() < 0.95:
                    known.ask(name, student, when, attempt, senders, request)
            lost = ()
            if late and rng.random() < late:
                drawn = rng.choice([one for one in agreed if one in honest], rng.integers(1, 3))
                lost = tuple(sorted({str(name) for name in drawn}))
            for name in senders:
                if name in honest and name not in lost and rng.random() < 0.95:
                    known.reveal(name, student, when, attempt)
            for name in senders:
                if lost and name in honest and rng.random() < 0.95:
                    known.recover(name, student, when, attempt, lost)
            if renew and rng.random() < 0.1:
                host = honest[str(rng.choice(list(honest)))].host
                renewed[host.name] += 1
                data = replace(host.data, train=patients(300 + renewed[host.name]))
                host.renew(data)
    return known


def runs_of(size, most):
    """How many of a size. What fewer know, more can know, too: they need only keep to the rules.
    So most of the runs are of as many as may still know nothing."""
    return examples(RUNS) if size == most else examples(RUNS // 6)


def runs(agreement, size, weaken=None, *, count, renew=True, late=0.5):
    """What was found, over drawn runs of drawn hospitals that work together."""
    for seed in range(count):
        group = agreement.participants
        rng = np.random.default_rng([seed, size, len(group)])
        together = [str(name) for name in rng.choice(group, size=size, replace=False)]
        honest = transferring(agreement, together, weaken)
        yield act(rng, group, together, honest, renew, late)


def agreed(names, **constants):
    return agree("transfer", names, shape=2, samples=24, **constants)


SIZES = [
    ("abcd", 1, "mean"), ("abcd", 0, "mean"), ("abc", 1, "mean"), ("abcdef", 1, "mean"),
    ("abcdef", 2, "mean"),
    *(pytest.param("abcdefghi", missing, "mean", marks=pytest.mark.slow) for missing in (1, 3)),
]  # fmt: skip


@pytest.mark.usefixtures("bare")
class TestTransfer:
    @pytest.mark.parametrize(("names", "missing", "opened"), SIZES)
    def test_fewer_than_stated_know_no_fit(self, names, missing, opened):
        agreement = agreed(names, missing=missing, opened=opened)
        opens, most = 0, agreement.enough_together - 1
        for size in range(1, most + 1):
            for known in runs(agreement, size, count=runs_of(size, most)):
                assert not any(known.known_of().values())
                opens += len(known.sums)
        assert opens  # they get something

    @pytest.mark.parametrize(("names", "missing"), [("abcd", 1), ("abcd", 0), ("abcdef", 1)])
    def test_as_many_as_stated_may_know_one(self, names, missing):
        agreement = agreed(names, missing=missing, opened="mean")
        size = agreement.enough_together
        assert any(any(one.known_of().values()) for one in runs(agreement, size, count=24))

    @pytest.mark.parametrize(
        ("weaken", "size"), [(unrestricted, 2), (one_set_a_student, 2)], ids=["any", "a student"]
    )
    def test_on_the_former_rules_it_finds_fits(self, weaken, size):
        """Any two senders: a student and a teacher. One set a student: two students."""
        agreement = agreed("abcdefghi")
        assert size < agreement.enough_together == 7
        found = (one.known_of() for one in runs(agreement, size, weaken, count=40, late=0))
        assert any(any(known.values()) for known in found)  # it stops at the first

    def test_groups_know_nothing_of_each_other(self):
        agreement = agreed("abcdefgh", peers=3)
        assert agreement.enough_together == 2
        for name in agreement.participants:
            group = sorted({name, *agreement.teachers_of(name)})
            outside = [one for one in agreement.participants if one not in group]
            together = [*outside, group[0]]
            honest = transferring(agreement, together, None)
            known = act(
                np.random.default_rng(0), agreement.participants, together, honest, True, 0.5
            )
            assert not any(known.known_of().values())

    def test_single_answers_are_as_many_as_the_ledger_says(self):
        agreement = agreed("abc")
        assert agreement.opens == "each"
        for together in (["a"], ["a", "b"]):
            honest = transferring(agreement, together, None)
            known = Together(together, honest)
            for round in range(ROUNDS):
                for name, one in honest.items():
                    one.begin(round)
                    for student in together:
                        for number in (0, 0, 1):
                            known.ask(name, student, round, 0, (), question(number))
                    one.host.renew(replace(one.host.data, train=patients(round + 50)))
            assert len(known.sums) == ROUNDS * len(honest) * len(together)
            for name, count in known.known_of().items():
                assert count == ROUNDS  # fits, since its patients changed
                ledger = known.honest[name].host.machine.ledger
                assert ledger.total == count * len(together) * agreement.numbers_of(5)

    def test_a_sum_and_a_single_answer_are_not_to_be_had_of_one_teacher(self):
        for opened in ("mean", "each"):
            agreement = agreed("abcd", opened=opened)
            (one,) = transferring(agreement, ["a", "b", "c"], None).values()
            one.begin(0)
            asked = Together(["a", "b", "c"], {"d": one})
            senders = () if opened == "mean" else ("b", "c", "d")
            asked.ask("d", "a", 0, 0, senders, question())
            assert len(one.blamed) == 1
            assert not asked.sums


def averaging(agreement, together, weaken):
    honest = {}
    publics = dict.fromkeys(agreement.participants, b"key")
    for name in agreement.participants:
        if name not in together:
            host = Averager(name, agreement)
            if weaken is not None:
                weaken(host)
            honest[name] = Honest(host, publics)
    return honest


class TestGossip:
    """Stated: one receiver, of one round, with min_senders - 2 neighbours on its side."""

    def found(self, agreement, size, count):
        names = agreement.participants
        for seed in range(count):
            rng = np.random.default_rng([seed, size])
            together = [str(name) for name in rng.choice(names, size=size, replace=False)]
            honest = averaging(agreement, together, None)
            known = Together(together, honest)
            for one in honest.values():
                one.begin(0)
            receiver = together[0]
            beside = agreement.neighbours_of(receiver)
            for attempt in range(ACTIONS // 3):
                near = [name for name in beside if name in honest]
                padded = beside if rng.random() < 0.5 else names
                agreed = [name for name in padded if name != receiver]
                senders = drawn_senders(rng, agreed, together, str(rng.choice(near)))
                for name in senders:
                    if name in near:
                        known.ask(name, receiver, 0, attempt, senders, b"w")
                for name in senders:
                    if name in near and rng.random() < 0.7:
                        known.reveal(name, receiver, 0, attempt)
            yield known.known_of()

    @pytest.mark.parametrize("topology", ["complete", "exponential"])
    @pytest.mark.parametrize("least", [2, 3, 4])
    def test_a_receiver_with_fewer_than_stated_knows_no_model(self, topology, least):
        agreement = agree("cycle-gossip", "abcdefghi", shape=3, kind="linear",
                          min_senders=least, topology=topology)  # fmt: skip
        for size in range(1, least):
            assert not any(
                any(known.values())
                for known in self.found(agreement, size, runs_of(size, least - 1))
            )
        assert any(any(known.values()) for known in self.found(agreement, least, RUNS))

    def test_senders_that_are_no_neighbours_would_fill_a_sum(self):
        """The rule as it was: whoever is known may stand in a sum."""
        agreement = agree("cycle-gossip", "abcdefghi", shape=3, kind="linear", topology="ring")

        def pads(weaken):
            names, together = agreement.participants, ["a", "e"]  # e is beside d and f
            honest = averaging(agreement, together, weaken)
            known = Together(together, honest)
            assert "e" not in agreement.neighbours_of("a")
            for one in honest.values():
                one.begin(0)
            known.ask("b", "a", 0, 0, ("b", "e"), b"w")
            known.reveal("b", "a", 0, 0)
            assert set(names) - set(together) == set(honest)
            return known.known_of()["b"]

        assert pads(unrestricted) == 1
        assert pads(None) == 0
