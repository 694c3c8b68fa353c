"""Sums of which keys are put together from parts, and somebody takes new keys, lies, or forgets.

Adversary: a hospital that dies after its part of a sum and comes back with new keys for masks, by
mischance or on purpose; one that gives false parts of a key, or a false key; a student that keeps
closed parts until a store is turned back. Protected: the sum that the others are to open, that no
noise is taken for it, and single fits. Each attack succeeds where one rule is taken away.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from securefair.averaging import shares
from securefair.averaging.opening import taken_apart
from securefair.averaging.pairwise import generate_private, public_bytes
from securefair.averaging.streams import crypt
from securefair.collaboration.host import Stored
from securefair.collaboration.transfer.host import TransferHost
from securefair.data.dataset import ParticipantData
from securefair.protocol.effects import Received
from securefair.protocol.jobs import AnswerAsk, ReleaseKey
from securefair.protocol.messages import Answer, Ask, Key, Keys, Parts, Recover
from security.colluding import Town
from security.test_recovered_sums import patients
from support.agreements import agree

NAMES = "abcdef"
SENDERS = tuple("bcdef")


def town(change, *, sums="gradient", missing=1, samples=1023, names=NAMES):
    """At most 1023 patients: of uniform sums of 97 numbers nine in ten are within the bounds."""
    agreement = agree(
        "transfer",
        names,
        samples=samples,
        seed=1,
        sums=sums,
        missing=missing,
        shape=4,
        backend="clear",
    )
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


def whole(**settings):
    """The town as it is if everybody lives, after its round."""
    people = town(lambda *arrived: arrived[2], **settings)
    people.play(0)
    return people


def close(town, name, other):
    mean, known = (one.people[name].notes.released[""] for one in (town, other))
    return bool(np.abs(mean - known).max() <= 1e-3 * max(1.0, np.abs(known).max()))


# --- new keys for masks, while a sum is under way ---


def renewed(**settings):
    """One gives its part of all sums, dies, and everybody hears of its new key before its parts."""
    heard = []

    def change(sender, recipient, message):
        if sender == "c" and isinstance(message, Key | Parts):
            return None
        if isinstance(message, Recover) and not heard:
            heard.append(Keys(1, public_bytes(generate_private()), b""))
            for name in set(NAMES) - {"c"}:
                people._hear(name, Received("c", heard[0]))
        return message

    people = town(change, **settings)
    return people, people.play(0)


@pytest.mark.parametrize("sums", ["gradient", "none"])
@pytest.mark.parametrize("missing", [1, 2])
def test_whose_new_keys_are_heard_of_meanwhile_costs_nobody_the_sum(sums, missing):
    people, over = renewed(sums=sums, missing=missing)
    lived = whole(sums=sums, missing=missing)
    for name in set(NAMES) - {"c"}:
        assert set(over[name].combined) == set(NAMES) - {name}
        assert close(people, name, lived)


def with_keys_of_now(memory, divided, gathering, owner, salt):
    """Without the rule: parts follow from the keys that are known when they are asked for."""
    return divided.part(gathering, memory.of(gathering.receiver, 0).request, owner, salt)


PART_FOR = "securefair.collaboration.transfer.participant.part_for"
OPENS = [f"securefair.averaging.{module}.opens" for module in ("opening", "recovery")]


@pytest.fixture
def unseen(monkeypatch):
    """Without the rule: nobody looks whether a key is that of its part."""
    for name in OPENS:
        monkeypatch.setattr(name, lambda *_: True)


def test_parts_from_the_keys_of_now_lose_the_sum(monkeypatch):
    monkeypatch.setattr(PART_FOR, with_keys_of_now)
    _, over = renewed()
    assert {over[name].combined for name in set(NAMES) - {"c"}} == {()}
    assert "do not give the key together" in over["a"].sum_error


@pytest.mark.usefixtures("unseen")
def test_and_where_nobody_looks_at_keys_noise_is_taken_for_it(monkeypatch):
    monkeypatch.setattr(PART_FOR, with_keys_of_now)
    people, over = renewed()
    lived = whole()
    taken = [name for name in set(NAMES) - {"c"} if over[name].combined]
    assert taken
    assert not any(close(people, name, lived) for name in taken)


def some_hear_before(missing):
    """As `renewed`, but one hears of it before it makes its part, and may then die as well."""
    new = Keys(1, public_bytes(generate_private()), b"")
    lost, late = ("c",) if missing == 1 else ("b", "c"), {}

    def change(sender, recipient, message):
        if recipient == "b" and sender != "c" and isinstance(message, Ask):
            if sender not in late:
                late[sender] = message  # until the other has made its part
                return None
            return message
        if sender == "c" and isinstance(message, Answer) and recipient in late:
            people._hear("b", Received("c", new))
            people._posted.append((recipient, "b", late[recipient]))
        return None if sender in lost and isinstance(message, Key | Parts) else message

    people = town(change, missing=missing)
    return people, people.play(0)


@pytest.mark.parametrize("missing", [1, 2])
def test_parts_under_different_keys_are_never_added_up(missing):
    """With two missing nobody who helps knows of it: what their parts carry says so."""
    people, over = some_hear_before(missing)
    for name in set(NAMES) - {"b", "c"}:
        assert over[name].combined == ()
        assert "under different keys for masks" in over[name].sum_error
        assert "" not in people.people[name].notes.released


def test_where_nobody_compares_them_noise_is_taken_for_the_sum(monkeypatch):
    monkeypatch.setattr("securefair.averaging.opening.check_known", lambda *_: None)
    people, over = some_hear_before(2)
    lived = whole(missing=2)
    taken = [name for name in set(NAMES) - {"b", "c"} if over[name].combined]
    assert taken
    assert not any(close(people, name, lived) for name in taken)


# --- false parts and false keys ---


def lying(seed, false):
    """One dies after its part; another changes what it sends to the others."""
    rng = np.random.default_rng(seed)

    def change(sender, recipient, message):
        if sender == "c" and false is Parts and isinstance(message, Key | Parts):
            return None
        if sender == "b" and isinstance(message, false):
            one = rng.bytes(31) + b"\0"
            return Key(0, 0, one) if false is Key else Parts(0, 0, (one,))
        return message

    people = town(change)
    return people, people.play(0)


FALSE = [(Parts, "do not give the key together", ()), (Key, "another key than its part", ("b",))]


@pytest.mark.parametrize(("false", "said", "named"), FALSE, ids=["part", "key"])
@pytest.mark.parametrize("seed", range(3))
def test_a_false_part_or_key_is_seen_whatever_comes_out(false, said, named, seed):
    people, over = lying(seed, false)
    for name in set(NAMES) - set("bc"):
        assert over[name].combined == ()
        assert said in over[name].sum_error
        assert "" not in people.people[name].notes.released
    assert {whom for _, whom in people.blamed} == set(named)


@pytest.mark.usefixtures("unseen")
@pytest.mark.parametrize("false", [Parts, Key])
def test_bounds_alone_take_most_of_them_for_the_sum(false):
    """Former step: a uniform sum passes nine times in ten, where 1023 patients are agreed."""
    lived, taken, asked = whole(), 0, 0
    for seed in range(2):
        people, over = lying(seed, false)
        for name in set(NAMES) - set("bc"):
            asked += 1
            if over[name].combined:
                taken += 1
                assert not close(people, name, lived)
    assert taken > asked / 2


def test_a_commitment_fits_one_key_of_one_hospital_and_one_sum():
    people = whole()
    host = people.people["c"]
    seen = {}
    for receiver in "abde":
        share = host._shares.of(receiver, 0)
        _, beside = taken_apart("c", share.closed, 1)
        seen[beside.commitment] = share.key
        assert share.key not in share.closed
        assert taken_apart("c", share.closed, 1)[1].salt == share.closed[-16:]
    assert len(seen) == len(set(seen.values())) == 4


# --- a store that was turned back ---


def made_again(people, seed):
    """A closed part of before, one after the store was turned back, and the key of the second."""
    old = people.people["c"]
    before = old._shares.of("a", 0)
    data = ParticipantData("c", patients(seed), old.data.test)
    keys = Stored(keys=old.export_keys())
    again = TransferHost(data, old.agreement, seed=0, stored=keys)
    again._publics = dict(old._publics)
    again.run(AnswerAsk("a", 0, 0, before.request, senders=SENDERS))
    key = again.run(ReleaseKey("a", 0, 0, SENDERS)).key
    after = again._shares.of("a", 0)
    return before.closed, after.closed, key, again


def difference(people, before, after, key):
    """Of the two fits, by whoever has the key of the second part."""
    question = people.people["a"].agreement.question
    words = [
        np.frombuffer(crypt(taken_apart("c", one, 1)[0], key), question.plan.fixed.word)
        for one in (before, after)
    ]
    out = np.empty(len(words[0]))
    question.plan.fixed.decode(words[1] - words[0], out)
    return out * len(SENDERS)


def told_apart(people, again):
    summed = people.people["a"].agreement.question.summed
    return summed.told(again.own) - summed.told(people.people["c"].own)


def test_with_one_salt_the_key_of_a_second_part_opens_the_first(monkeypatch):
    """Masks are the same, so that the difference of two fits remains."""
    monkeypatch.setattr(shares, "os", SimpleNamespace(urandom=bytes))
    people = whole()
    before, after, key, again = made_again(people, 9)
    found = difference(people, before, after, key)
    assert np.abs(found - told_apart(people, again)).max() < 1e-3
    assert np.abs(found).max() > 0.1


def test_the_key_of_a_second_part_opens_no_earlier_one():
    people = whole()
    before, after, key, again = made_again(people, 9)
    assert key != people.people["c"]._shares.of("a", 0).key
    assert before[-16:] != after[-16:]
    found = difference(people, before, after, key)
    assert np.abs(found - told_apart(people, again)).max() > 1


def test_a_part_that_was_stored_is_sent_again_byte_for_byte():
    people = whole()
    host = people.people["c"]
    share = host._shares.of("a", 0)
    asked = AnswerAsk("a", 0, 0, share.request, senders=SENDERS)
    assert host.run(asked).payload == share.closed
    assert host._shares.of("a", 0) == share
