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
)
from securefair.averaging.shares import share_message
from securefair.errors import LocalProtocolError, RemoteProtocolError

NAMES = tuple(f"h{at}" for at in range(8))
PRIVATE = {name: generate_private() for name in NAMES}
PUBLIC = {name: public_bytes(private) for name, private in PRIVATE.items()}


def gathering_of(senders, **changes):
    constants = {"session": bytes(32), "round": 0, "receiver": "student"} | changes
    return Gathering(senders=tuple(senders), **constants)


def divided(name, spare):
    return Divided(name, PRIVATE[name], PUBLIC, spare)


def parts_of(gathering, owner, spare, request=b"asked"):
    return {
        name: divided(name, spare).part(gathering, request, owner)
        for name in gathering.senders
        if name != owner
    }


@given(st.data())
def test_any_that_are_enough_find_the_key_that_its_sender_took(data):
    count = data.draw(st.integers(3, len(NAMES)))
    spare = data.draw(st.integers(1, count - 2))
    gathering = gathering_of(NAMES[:count])
    owner = data.draw(st.sampled_from(gathering.senders))
    key, beside = divided(owner, spare).closing(gathering, b"asked")
    assert len(beside) == sent_beside(spare) == PART_BYTES * (spare - 1)
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
        assert recovered(gathering, owner, spare, beside, given_parts) != key


@pytest.mark.parametrize("spare", [1, 2, 3])
def test_fewer_are_told_so(spare):
    gathering = gathering_of(NAMES[:6])
    _, beside = divided("h0", spare).closing(gathering, b"asked")
    parts = parts_of(gathering, "h0", spare)
    for few in combinations(parts, enough_of(gathering, spare) - 1):
        with pytest.raises(LocalProtocolError, match="too few parts of a key"):
            recovered(gathering, "h0", spare, beside, {name: parts[name] for name in few})


@pytest.mark.parametrize("spare", [1, 2])
def test_with_one_part_less_every_key_is_as_likely(spare):
    """What is missing moves the key: two values of one part give two keys, whichever part it is."""
    gathering = gathering_of(NAMES[:5])
    key, beside = divided("h0", spare).closing(gathering, b"asked")
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
        divided("h1", 1).part(gathering, b"asked", "h0"),
        divided("h1", 1).part(gathering, b"other", "h0"),
        divided("h1", 1).part(gathering, b"asked", "h2"),
        divided("h0", 1).part(gathering, b"asked", "h1"),
        divided("h1", 1).part(gathering_of(NAMES[:4], attempt=1), b"asked", "h0"),
        divided("h1", 1).part(gathering_of(NAMES[:4], round=1), b"asked", "h0"),
        divided("h1", 1).part(gathering_of(NAMES[:4], receiver="other"), b"asked", "h0"),
        divided("h1", 1).part(gathering_of(NAMES[:3]), b"asked", "h0"),
    }
    assert len(parts) == 8


@pytest.mark.parametrize("part", [b"", bytes(31), b"\xff" * 32, bytes(33)])
def test_what_is_no_part_is_blamed_on_who_sent_it(part):
    gathering = gathering_of(NAMES[:4])
    parts = parts_of(gathering, "h0", 1) | {"h2": part}
    with pytest.raises(RemoteProtocolError, match="no part of a key") as caught:
        recovered(gathering, "h0", 1, b"", parts)
    assert caught.value.culprit == "h2"


def test_no_secret_is_printed():
    assert "X25519PrivateKey" not in repr(divided("h0", 1))


@pytest.mark.parametrize("spare", [1, 2])
def test_a_sum_opens_without_the_keys_of_as_many_as_it_may_lose(spare):
    senders = NAMES[:5]
    gathering, lost = gathering_of(senders), senders[1 : 1 + spare]
    memories, closed, keys = {}, {}, {}
    for name in senders:
        memories[name], closed[name] = share_message(
            Shares(), gathering, name, b"asked", lambda name=name: name.encode() * 9,
            divided(name, spare),
        )  # fmt: skip
    for name in senders:
        with pytest.raises(RemoteProtocolError, match="before the own one was given"):
            part_for(memories[name], divided(name, spare), gathering, lost[0])
    helping = [name for name in senders if name not in lost]
    for name in helping:
        memories[name], keys[name] = release(memories[name], gathering)
    parts = {
        owner: {
            name: part_for(memories[name], divided(name, spare), gathering, owner)
            for name in helping
        }
        for owner in lost
    }
    opened = opened_messages(gathering, closed, keys, spare=spare, parts=parts)
    assert opened == {name: name.encode() * 9 for name in senders}
    with pytest.raises(LocalProtocolError, match="lacks a key"):
        opened_messages(gathering, closed, keys, spare=spare)
    later = gathering_of(senders[1:], attempt=1)
    with pytest.raises(RemoteProtocolError, match="before the own one was given"):
        part_for(memories[senders[-1]], divided(senders[-1], spare), later, lost[0])
