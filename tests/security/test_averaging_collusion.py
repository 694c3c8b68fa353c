"""Masked sums whose receiver has senders on its side, or lies about weights.

Protected: every sender's parameters, as long as one other sender of the sum keeps its secret. Still
disclosed: the sum, and with it everything that the colluding senders' own parts leave of it.
"""

import math

import numpy as np
import pytest

from securefair.averaging.masked import add_masks
from securefair.averaging.pairwise import pair_masks
from securefair.errors import RemoteProtocolError
from security.masked import (
    KEYS,
    NAMES,
    PARAMETERS,
    PUBLICS,
    SUMS,
    gathering_of,
    looks_random,
    plan_of,
    vector_of,
    words,
)


def peeled(plan, gathering, victim, message, colluders):
    """A message without the masks that colluding senders share with its sender."""
    bare = message.copy()
    for colluder in colluders:
        masks = pair_masks(KEYS[colluder].private, PUBLICS, gathering, colluder, plan.digest)
        add_masks(bare, [mask for mask in masks if mask.peer == victim], 0)  # the opposite sign
    return bare


def test_a_receiver_and_all_other_senders_together_learn_a_model():
    """Stated, not prevented: the sum minus what they know is the model."""
    plan, gathering, vector = plan_of(), gathering_of(), vector_of(5)
    message = words(plan, gathering, "b", vector)
    bare = peeled(plan, gathering, "b", message, ("a", "c", "d"))
    stolen = np.empty(PARAMETERS)
    plan.fixed.decode(bare, stolen)
    assert np.abs(stolen / 0.25 - vector).max() < 1e-6


def test_one_honest_sender_more_hides_it_behind_its_own(uniform):
    """With c and d on the receiver's side, a and b are known only by their sum."""
    plan, gathering = plan_of(), gathering_of()
    vectors = {"a": vector_of(6), "b": vector_of(7)}
    bare = {
        name: peeled(plan, gathering, name, words(plan, gathering, name, vector), ("c", "d"))
        for name, vector in vectors.items()
    }
    for message in bare.values():
        assert looks_random(message, uniform)
    both = np.empty(PARAMETERS)
    plan.fixed.decode(bare["a"] + bare["b"], both)
    assert np.abs(both - 0.25 * (vectors["a"] + vectors["b"])).max() < 1e-6


# -- weights -------------------------------------------------------------------------------------


def test_a_malicious_receiver_can_ask_for_one_senders_model():
    """Stated, not prevented without `max_share`: no sender sees the others' weights."""
    plan, gathering, vector = plan_of(), gathering_of(), vector_of(8)
    weights = {"a": 0.0, "b": 1.0, "c": 0.0, "d": 0.0}
    messages = {
        name: words(plan, gathering, name, vector if name == "b" else vector_of(9), weights)
        for name in NAMES
    }
    total = SUMS.total(
        plan, KEYS["r"], gathering, {name: message.tobytes() for name, message in messages.items()}
    )
    assert np.abs(total - vector).max() <= plan.error_bound


def test_with_max_share_it_can_neither_ask_for_nor_lie_about_weights(uniform):
    plan, gathering, vector = plan_of(max_share=0.5), gathering_of(), vector_of(8)
    greedy = {"a": 0.05, "b": 0.9, "c": 0.0, "d": 0.05}
    with pytest.raises(RemoteProtocolError, match="mostly one sender's model"):
        words(plan, gathering, "b", vector, greedy)
    # So it shows b weights that b accepts, and the others weights that silence them.
    shown = {"a": 0.5, "b": 0.5, "c": 0.0, "d": 0.0}
    silent = {"a": 0.0, "b": 0.02, "c": 0.01, "d": 0.01}
    messages = {
        name: words(plan, gathering, name, vector, shown if name == "b" else silent)
        for name in NAMES
    }
    # Masks are bound to the weights, so those of b have nothing to cancel with.
    assert looks_random(sum(messages.values()).astype(np.uint32), uniform)


@pytest.mark.parametrize(
    ("max_share", "weights", "colluders"),
    [
        (0.5, {"a": 0.5, "b": 0.5, "c": 0.0, "d": 0.0}, "a"),
        (1 / 3, {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3, "d": 0.0}, "ac"),
        (0.25, {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}, "acd"),
    ],
)
def test_max_share_asks_for_so_many_senders_on_the_receivers_side(max_share, weights, colluders):
    """Stated, not prevented: weights of 0 are allowed, so the other honest senders hide nothing."""
    plan, gathering, vector = plan_of(max_share=max_share), gathering_of(), vector_of(8)
    assert len(colluders) == math.ceil(1 / max_share) - 1
    vectors = {name: vector_of(seed) for seed, name in enumerate(NAMES)} | {"b": vector}
    messages = {
        name: words(plan, gathering, name, vectors[name], weights).tobytes() for name in NAMES
    }
    total = SUMS.total(plan, KEYS["r"], gathering, messages)
    theirs = sum(weights[name] * vectors[name] for name in colluders)
    assert np.abs((total - theirs) - weights["b"] * vector).max() <= plan.error_bound


@pytest.mark.parametrize(
    ("max_share", "weights"),
    [(0.5, {"b": 1.0}), (1 / 3, {"a": 0.5, "b": 0.5}), (0.25, dict.fromkeys("abc", 1 / 3))],
)
def test_with_one_less_on_its_side_the_sum_is_refused(max_share, weights):
    """Whatever it gives them: b and they cannot have all of the weight."""
    plan, asked = plan_of(max_share=max_share), dict.fromkeys(NAMES, 0.0) | weights
    with pytest.raises(RemoteProtocolError, match="mostly one sender's model"):
        words(plan, gathering_of(), "b", vector_of(8), asked)
