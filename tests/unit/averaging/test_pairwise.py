"""Mask keys: the same for both of a pair, others for anything that differs."""

import pytest

from securefair.averaging.pairwise import generate_private, pair_masks, public_bytes
from securefair.errors import LocalProtocolError, RemoteProtocolError


@pytest.fixture
def people(fixed_private):
    private = {name: fixed_private(seed) for seed, name in enumerate("abc")}
    return private, {name: public_bytes(key) for name, key in private.items()}


def masks_of(people, gathering, sender, context=b"plan"):
    private, publics = people
    return {
        mask.peer: mask for mask in pair_masks(private[sender], publics, gathering, sender, context)
    }


def test_both_of_a_pair_derive_one_key_with_opposite_signs(people, gathering_of):
    gathering = gathering_of()
    masks = {name: masks_of(people, gathering, name) for name in "abc"}
    assert set(masks["b"]) == {"a", "c"}
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        assert masks[first][second].key == masks[second][first].key
        assert masks[first][second].sign == 1
        assert masks[second][first].sign == -1
    assert len({mask.key for own in masks.values() for mask in own.values()}) == 3


def test_everything_that_differs_changes_the_key(people, gathering_of, fixed_private):
    def key(gathering, context=b"plan", people=people):
        return masks_of(people, gathering, "a", context)["b"].key

    private, publics = people
    others = (
        {**private, "b": fixed_private(9)},
        {**publics, "b": public_bytes(fixed_private(9))},
    )
    keys = [
        key(gathering_of()),
        key(gathering_of(session=bytes(32))),
        key(gathering_of(round=1)),
        key(gathering_of(attempt=1)),
        key(gathering_of(receiver="s")),
        key(gathering_of(("a", "b"))),
        key(gathering_of(), b"other plan"),
        key(gathering_of(), people=others),
    ]
    assert len(set(keys)) == len(keys)
    assert key(gathering_of()) == keys[0]


def test_swapping_two_peers_keys_changes_the_masks(people, gathering_of):
    """Names are bound to keys: a pair's secret under other names is another secret."""
    private, publics = people
    swapped = {**publics, "b": publics["c"], "c": publics["b"]}
    honest = masks_of(people, gathering_of(), "a")
    confused = masks_of((private, swapped), gathering_of(), "a")
    assert {mask.key for mask in honest.values()}.isdisjoint(mask.key for mask in confused.values())


@pytest.mark.parametrize("public", [b"", bytes(31), bytes(33), bytes(32), b"\1" + bytes(31)])
def test_keys_that_are_none_blame_the_peer(people, gathering_of, public):
    private, publics = people
    with pytest.raises(RemoteProtocolError, match="public key") as error:
        masks_of((private, {**publics, "c": public}), gathering_of(), "a")
    assert error.value.culprit == "c"


def test_a_missing_key_and_a_stranger_are_local_faults(people, gathering_of):
    private, publics = people
    with pytest.raises(LocalProtocolError, match="missing"):
        masks_of((private, {"b": publics["b"]}), gathering_of(), "a")
    with pytest.raises(LocalProtocolError, match="only a sender"):
        masks_of(people, gathering_of(("a", "b")), "c")


def test_keys_are_fresh_and_do_not_print(people, gathering_of):
    assert public_bytes(generate_private()) != public_bytes(generate_private())
    mask = masks_of(people, gathering_of(), "a")["b"]
    assert str(mask.key) not in repr(mask)
