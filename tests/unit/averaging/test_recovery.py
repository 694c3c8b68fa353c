"""Keys that the other senders put together: whoever they are, if they are enough."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.averaging import Gathering, Shares, opened_messages, part_for, release
from securefair.averaging.pairwise import generate_private, public_bytes
from securefair.averaging.recovery import (
    PART_BYTES,
    PRIME,
    Divided,
    enough_of,
    recovered,
    sent_beside,
    taken_apart,
)
from securefair.averaging.shares import share_message
from securefair.errors import LocalProtocolError, RemoteProtocolError

NAMES = tuple(f"h{at}" for at in range(8))
PRIVATE = {name: generate_private() for name in NAMES}
SALT = bytes(range(16))
PUBLIC = {name: public_bytes(private) for name, private in PRIVATE.items()}


def gathering_of(senders, **changes):
    constants = {"session": bytes(32), "round": 0, "receiver": "student"} | changes
    return Gathering(senders=tuple(senders), **constants)


def divided(name, spare):
    return Divided(name, PRIVATE[name], PUBLIC, spare)


def parts_of(gathering, owner, spare, request=b"asked"):
    return {
        name: divided(name, spare).part(gathering, request, owner, SALT)
        for name in gathering.senders
        if name != owner
    }


@given(st.data())
def test_any_that_are_enough_find_the_key_that_its_sender_took(data):
    count = data.draw(st.integers(3, len(NAMES)))
    spare = data.draw(st.integers(1, count - 2))
    gathering = gathering_of(NAMES[:count])
    owner = data.draw(st.sampled_from(gathering.senders))
    key, beside = divided(owner, spare).closing(gathering, b"asked", SALT)
    assert len(beside.written()) == sent_beside(spare) == PART_BYTES * (spare - 1) + 80
    assert taken_apart(owner, b"closed" + beside.written(), spare) == (b"closed", beside)
    parts = parts_of(gathering, owner, spare)
    enough = data.draw(
        st.sets(st.sampled_from(sorted(parts)), min_size=enough_of(gathering, spare))
    )
    given_parts = {name: parts[name] for name in enough}
    assert recovered(gathering, owner, spare, beside, given_parts) == key
    one = data.draw(st.sampled_from(sorted(enough)))
    wrong = (int.from_bytes(parts[one], "little") + 1) % PRIME
    given_parts = {name: given_parts[name] for name in sorted(enough)[: count - spare]}
    if one in given_parts:
        given_parts[one] = wrong.to_bytes(PART_BYTES, "little")
        with pytest.raises(RemoteProtocolError, match="do not give the key together") as caught:
            recovered(gathering, owner, spare, beside, given_parts)
        assert set(caught.value.culprit.split(" or ")) == {owner, *given_parts}


@pytest.mark.parametrize("spare", [1, 2, 3])
def test_fewer_are_told_so(spare):
    gathering = gathering_of(NAMES[:6])
    _, beside = divided("h0", spare).closing(gathering, b"asked", SALT)
    parts = parts_of(gathering, "h0", spare)
    for few in combinations(parts, enough_of(gathering, spare) - 1):
        with pytest.raises(LocalProtocolError, match="too few parts of a key"):
            recovered(gathering, "h0", spare, beside, {name: parts[name] for name in few})


@pytest.mark.parametrize("spare", [1, 2])
def test_with_one_part_less_every_key_is_as_likely(spare, monkeypatch):
    """What is missing moves the key: two values of one part give two keys, whichever part it is.

    Without the commitment, which only one of them fits.
    """
    monkeypatch.setattr("securefair.averaging.recovery.opens", lambda *_: True)
    gathering = gathering_of(NAMES[:5])
    key, beside = divided("h0", spare).closing(gathering, b"asked", SALT)
    parts = parts_of(gathering, "h0", spare)
    for known in combinations(parts, enough_of(gathering, spare) - 1):
        one = next(name for name in parts if name not in known)
        keys = {
            recovered(
                gathering,
                "h0",
                spare,
                beside,
                {name: parts[name] for name in known} | {one: guess.to_bytes(32, "little")},
            )
            for guess in range(20)
        }
        assert len(keys) == 20
        assert key not in keys


def test_parts_belong_to_one_gathering_one_request_and_one_pair_in_one_direction():
    gathering = gathering_of(NAMES[:4])
    parts = {
        divided("h1", 1).part(gathering, b"asked", "h0", SALT),
        divided("h1", 1).part(gathering, b"asked", "h0", bytes(16)),
        divided("h1", 1).part(gathering, b"other", "h0", SALT),
        divided("h1", 1).part(gathering, b"asked", "h2", SALT),
        divided("h0", 1).part(gathering, b"asked", "h1", SALT),
        divided("h1", 1).part(gathering_of(NAMES[:4], attempt=1), b"asked", "h0", SALT),
        divided("h1", 1).part(gathering_of(NAMES[:4], round=1), b"asked", "h0", SALT),
        divided("h1", 1).part(gathering_of(NAMES[:4], receiver="other"), b"asked", "h0", SALT),
        divided("h1", 1).part(gathering_of(NAMES[:3]), b"asked", "h0", SALT),
    }
    assert len(parts) == 9


@pytest.mark.parametrize("part", [b"", bytes(31), b"\xff" * 32, bytes(33)])
def test_what_is_no_part_is_blamed_on_who_sent_it(part):
    gathering = gathering_of(NAMES[:4])
    _, beside = divided("h0", 1).closing(gathering, b"asked", SALT)
    parts = parts_of(gathering, "h0", 1) | {"h2": part}
    with pytest.raises(RemoteProtocolError, match="no part of a key") as caught:
        recovered(gathering, "h0", 1, beside, parts)
    assert caught.value.culprit == "h2"


def test_no_secret_is_printed():
    assert "X25519PrivateKey" not in repr(divided("h0", 1))


class Sum:
    """All parts of a sum of five are there."""

    def __init__(self, spare, publics=None):
        self.spare, self.senders = spare, NAMES[:5]
        self.gathering, self.lost = gathering_of(self.senders), self.senders[1 : 1 + spare]
        self.helping = [name for name in self.senders if name not in self.lost]
        self.memories, self.closed, self.keys = {}, {}, {}
        for name in self.senders:
            known = (publics or {}).get(name, PUBLIC)
            self.memories[name], self.closed[name] = share_message(
                Shares(), self.gathering, name, b"asked", lambda name=name: name.encode() * 9,
                Divided(name, PRIVATE[name], known, spare),
            )  # fmt: skip

    def part(self, name, owner, publics=PUBLIC):
        salt = self.closed[owner][-16:]
        own = Divided(name, PRIVATE[name], publics, self.spare)
        return part_for(self.memories[name], own, self.gathering, owner, salt)

    def give_keys(self, *names):
        for name in names:
            self.memories[name], self.keys[name] = release(self.memories[name], self.gathering)

    def parts(self, publics=PUBLIC):
        return {
            owner: {name: self.part(name, owner, publics) for name in self.helping}
            for owner in self.lost
        }

    def opened(self, parts):
        return opened_messages(
            self.gathering, self.closed, self.keys, spare=self.spare, parts=parts
        )


@pytest.mark.parametrize("spare", [1, 2])
def test_a_sum_opens_without_the_keys_of_as_many_as_it_may_lose(spare):
    five = Sum(spare)
    for name in five.senders:
        with pytest.raises(RemoteProtocolError, match="before the own one was given"):
            five.part(name, five.lost[0])
    five.give_keys(*five.helping)
    opened = five.opened(five.parts())
    assert opened == {name: name.encode() * 9 for name in five.senders}
    with pytest.raises(LocalProtocolError, match="lacks a key"):
        five.opened({})
    last = five.senders[-1]
    later = gathering_of(five.senders[1:], attempt=1)
    with pytest.raises(RemoteProtocolError, match="before the own one was given"):
        part_for(five.memories[last], divided(last, spare), later, five.lost[0], SALT)


@pytest.mark.parametrize("spare", [1, 2])
def test_parts_follow_from_the_keys_that_were_known_when_the_own_one_was_closed(spare):
    five = Sum(spare)
    five.give_keys(*five.helping)
    other = public_bytes(generate_private())
    changed = PUBLIC | dict.fromkeys(five.lost, other)
    assert five.opened(five.parts(changed)) == five.opened(five.parts())
    assert five.opened(five.parts({})) == five.opened(five.parts())


@pytest.mark.parametrize("spare", [1, 2])
def test_parts_of_a_sum_under_different_keys_for_masks_are_refused(spare):
    """Their masks cannot cancel: what came out would be noise, and may look like a mean."""
    changed = PUBLIC | {"h1": public_bytes(generate_private())}
    five = Sum(spare, {"h4": changed})
    five.give_keys(*five.senders)
    with pytest.raises(RemoteProtocolError, match="different keys for masks") as caught:
        five.opened({})
    assert caught.value.culprit == " or ".join(five.senders)


@pytest.mark.parametrize("spare", [1, 2])
def test_another_key_than_a_part_was_closed_with_names_who_gave_it(spare):
    five = Sum(spare)
    five.give_keys(*five.senders)
    five.keys["h3"] = bytes(32)
    with pytest.raises(RemoteProtocolError, match="another key than its part") as caught:
        five.opened({})
    assert caught.value.culprit == "h3"


@pytest.mark.parametrize("spare", [1, 2])
@pytest.mark.parametrize("length", [0, 1, 15, 16, 79])
def test_a_part_that_lacks_what_follows_it_names_its_sender(spare, length):
    five = Sum(spare)
    five.give_keys(*five.senders)
    five.closed["h1"] = five.closed["h1"][:length]
    with pytest.raises(RemoteProtocolError, match="wrong length") as caught:
        five.opened({})
    assert caught.value.culprit == "h1"


def test_the_same_request_gets_the_same_bytes_and_one_that_was_forgotten_another_key():
    gathering, one = gathering_of(NAMES[:4]), divided("h0", 1)
    memory, closed = share_message(Shares(), gathering, "h0", b"asked", lambda: b"part", one)
    assert share_message(memory, gathering, "h0", b"asked", lambda: b"other", one)[1] == closed
    again, other = share_message(Shares(), gathering, "h0", b"asked", lambda: b"part", one)
    assert closed[:4] != other[:4]
    assert release(memory, gathering)[1] != release(again, gathering)[1]
