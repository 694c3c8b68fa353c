"""Sums that open without the keys of hospitals that died after their part of it.

Adversary: a student, and fewer hospitals on its side than are stated to know the fit of another.
They say that others are lost that are not, and ask for parts of their keys. Protected: single fits,
as in `test_collusion.py`, which draws such requests among all others. Each attack succeeds where
one rule is taken away.
"""

import dataclasses

import numpy as np
import pytest

from securefair.averaging import Divided, Gathering
from securefair.averaging.recovery import recovered, taken_apart
from securefair.collaboration.transfer.given import Given
from securefair.collaboration.transfer.host import TransferHost
from securefair.collaboration.transfer.questions import encrypted
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import LocalProtocolError, RemoteProtocolError
from securefair.protocol.messages import Key, Parts
from securefair.protocol.settings import SumSettings
from security.colluding import Together, Town, question
from security.test_collusion import agreed, transferring
from support.agreements import agree

NAMES = "abcde"


def patients(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (21, 4))
    return Samples(x, (x @ [3, -2, 1, 0] + rng.logistic(size=21) > 0).astype(np.int64), 2)


def town(change=lambda *arrived: arrived[2], names=NAMES, **constants):
    agreement = agree("transfer", names, samples=21, seed=1, backend="clear", **constants)
    return Town(
        {
            name: TransferHost(
                ParticipantData(name, patients(at), patients(at + 50)),
                agreement, seed=0,
            )
            for at, name in enumerate(names)
        },
        change,
    )  # fmt: skip


def dying(*lost):
    """Their parts of sums arrive, and nothing after them."""

    def change(sender, recipient, message):
        del recipient
        return None if sender in lost and isinstance(message, Key | Parts) else message

    return change


@pytest.mark.parametrize("sums", ["none", "gradient"])
@pytest.mark.parametrize(("missing", "lost"), [(1, "c"), (2, "cd")])
def test_who_dies_after_its_part_costs_nobody_a_sum(sums, missing, lost):
    """The same mean as if it had lived, of all hospitals, charged once."""
    constants = {"missing": missing, "sums": sums, "names": "abcdef"}
    whole = town(**constants)
    expected = whole.play(0)
    broken = town(dying(*lost), **constants)
    over = broken.play(0)
    for name in set("abcdef") - set(lost):
        assert over[name].combined == expected[name].combined
        assert set(over[name].combined) == set("abcdef") - {name}
        own, other = broken.people[name], whole.people[name]
        mean, known = own.notes.released[""], other.notes.released[""]
        assert np.abs(mean - known).max() <= 1e-3 * max(1.0, np.abs(known).max())
        assert own.machine.ledger.accounts == other.machine.ledger.accounts
    assert broken.people[lost[0]].machine.ledger.total == whole.people[lost[0]].machine.ledger.total


def test_more_than_may_be_missing_cost_it():
    over = town(dying("c", "d")).play(0)
    assert {over[name].combined for name in "abe"} == {()}


@pytest.fixture
def bare(monkeypatch):
    """Answers without content: whose are in a sum is all that counts."""
    monkeypatch.setattr(encrypted, "answer", lambda *_, **__: (None, b"an answer"))
    monkeypatch.setattr(encrypted, "masked", lambda *_, **__: b"a masked answer")


class AlwaysSpare(SumSettings):
    """Without the rule: a sum without somebody may lose others as well."""

    def spare(self, receiver, senders):
        del receiver, senders
        return self.missing


def always_spare(host):
    settings = host.machine.settings
    fields = {one.name: getattr(settings.sums, one.name) for one in dataclasses.fields(SumSettings)}
    host.machine.settings = dataclasses.replace(settings, sums=AlwaysSpare(**fields))


class NotedWithTheKey(Given):
    """Without the rule: what was made counts for nothing until its own key leaves."""

    def opened_together(self, version):
        del version
        return self


def noted_with_the_key(host):
    host.given = NotedWithTheKey()


def two_sums(weaken):
    """A student and one on its side, of five: one sum over all, one without a single hospital."""
    agreement, together = agreed(NAMES), ["a", "b"]
    assert len(together) < agreement.enough_together
    honest = transferring(agreement, together, weaken)
    for one in honest.values():
        one.begin(0)
    known = Together(together, honest)
    everybody, without = ("b", "c", "d", "e"), ("a", "d", "e")
    for name in "cde":
        known.ask(name, "a", 0, 0, everybody, question())
    for name in "de":
        known.ask(name, "b", 0, 0, without, question())
    for name in "cd":
        known.reveal(name, "a", 0, 0)
        known.recover(name, "a", 0, 0, ("e",))
    known.reveal("e", "b", 0, 0)
    known.recover("e", "b", 0, 0, ("d",))
    return known


@pytest.mark.usefixtures("bare")
def test_a_sum_without_somebody_spares_nobody():
    known = two_sums(always_spare)
    assert len(known.sums) == 2
    assert known.known_of() == {"c": 1, "d": 0, "e": 0}
    known = two_sums(None)
    assert len(known.sums) == 1  # that of all five, without the key of e
    assert not any(known.known_of().values())
    assert "at most 0 of" in known.honest["e"].blamed[0]


def a_sum_of_before_and_after(weaken):
    """A student alone: it calls one lost, and asks again when that one has other patients."""
    agreement = agreed(NAMES)
    honest = transferring(agreement, ["a"], weaken)
    known = Together(["a"], honest)
    for round in range(2):
        for one in honest.values():
            one.begin(round)
        for name in "bcde":
            known.ask(name, "a", round, 0, tuple("bcde"), question())
        for name in "bcd" if round == 0 else "bcde":
            known.reveal(name, "a", round, 0)
        for name in "bcd" if round == 0 else "":
            known.recover(name, "a", 0, 0, ("e",))
        host = honest["e"].host
        host.renew(ParticipantData("e", patients_of(9), host.data.test))
    return known


def patients_of(seed):
    rng = np.random.default_rng(seed)
    return Samples(rng.uniform(-1, 1, (24, 2)), np.arange(24) % 2, 2)


@pytest.mark.usefixtures("bare")
def test_whose_part_was_opened_by_others_adds_no_other_fit():
    known = a_sum_of_before_and_after(noted_with_the_key)
    assert known.known_of()["e"] == 1  # what its new patients changed
    known = a_sum_of_before_and_after(None)
    assert len(known.sums) == 1
    assert not any(known.known_of().values())


def test_fewer_than_enough_open_nothing_of_a_part():
    """The keys of six hospitals: whoever lacks one part of four finds another key."""
    six = town(names="abcdef")
    six.play(0)
    senders = tuple("bcdef")
    gathering = Gathering.of(six.people["a"].agreement.digest, 0, "a", senders)
    share = six.people["f"]._shares.of("a", 0)
    _, beside = taken_apart("f", share.closed, 1)
    parts = {
        name: Divided(name, own._private, own._publics, 1).part(
            gathering, share.request, "f", beside.salt
        )
        for name, own in six.people.items()
        if name in "bcde"
    }
    assert recovered(gathering, "f", 1, beside, parts) == share.key
    for left_out in "bcde":
        few = {name: part for name, part in parts.items() if name != left_out}
        with pytest.raises(LocalProtocolError, match="too few parts"):
            recovered(gathering, "f", 1, beside, few)
        for guess in (bytes(32), parts["b" if left_out != "b" else "c"]):
            with pytest.raises(RemoteProtocolError, match="do not give the key together"):
                recovered(gathering, "f", 1, beside, few | {left_out: guess})
