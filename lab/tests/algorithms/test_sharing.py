"""Who shares with whom in a round: the reference that sites are compared with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.errors import ConfigError
from securefair.worth import WEIGHTINGS, coin
from securefair.worth.own_row import kept_row, link_probabilities
from securefair_lab.algorithms.sharing import (
    is_forced,
    link_coins,
    links,
    mix,
    peers_to_ask,
    shares,
)
from support.graphs import graphs

NAMES = ["Cleveland", "Hungary", "Switzerland", "VA Long Beach"]
unit = st.floats(0, 1)


def test_forced_rounds_start_at_zero_and_repeat():
    assert [t for t in range(12) if is_forced(t, 5)] == [0, 5, 10]
    assert all(is_forced(t, 1) for t in range(4))


@pytest.mark.parametrize(("round", "every"), [(0, 0), (0, -1), (-1, 5)])
def test_is_forced_refuses_impossible_arguments(round, every):
    with pytest.raises(ConfigError):
        is_forced(round, every)


@given(st.none() | unit, st.floats(0, 1, exclude_max=True))
def test_a_forced_round_always_shares(reputation, number):
    assert shares(reputation, number, forced=True)


@given(st.floats(0, 1, exclude_max=True))
def test_full_reputation_always_shares_and_none_or_zero_never(number):
    assert shares(1.0, number, forced=False)
    assert not shares(0.0, number, forced=False)
    assert not shares(None, number, forced=False)


@given(unit, unit, st.floats(0, 1, exclude_max=True))
def test_more_reputation_never_closes_a_link(one, other, number):
    low, high = sorted((one, other))
    assert shares(high, number, forced=False) >= shares(low, number, forced=False)


def test_links_open_at_the_rate_of_the_reputation():
    opened = sum(shares(0.3, coin(5, t, "k", "n"), forced=False) for t in range(4000))
    assert abs(opened / 4000 - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 4000)


def test_peers_to_ask_keeps_the_order_and_drops_the_worthless():
    reputations = {"c": 0.2, "a": 0.0, "b": None, "d": 1.0}
    assert peers_to_ask(reputations, forced=True) == ["c", "a", "b", "d"]
    assert peers_to_ask(reputations, forced=False) == ["c", "d"]


def test_coins_are_those_of_sharing():
    coins = link_coins(7, 3, NAMES)
    assert coins[1, 2] == coin(7, 3, NAMES[1], NAMES[2])


@pytest.mark.parametrize("relative", [False, True])
def test_links_fire_as_often_as_their_probability(relative):
    weights = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.0, 0.4, 0.6]])
    rounds = 4000
    fired = np.zeros((3, 3))
    for t in range(rounds):
        fired += links(weights, link_coins(1, t, NAMES[:3]), relative=relative)
    expected = np.stack(
        [link_probabilities(row, i, relative=relative) for i, row in enumerate(weights)]
    )
    spread = np.sqrt(expected * (1 - expected) / rounds)
    assert (np.abs(fired / rounds - expected) <= 4 * spread).all()
    assert fired[2, 0] == 0  # weight 0 never shares, weight 1 always does
    assert (fired.diagonal() == rounds).all()


@settings(deadline=None)
@given(graphs(), st.integers(0, 1000), st.booleans())
def test_the_effective_matrix_is_row_stochastic_on_received_links(graph, seed, relative):
    names = [str(i) for i in range(len(graph))]
    weights = WEIGHTINGS["metropolis"](graph)
    shared = links(weights, link_coins(seed, 0, names), relative=relative)
    mixed = mix(weights, shared)
    assert mixed.sum(axis=1) == pytest.approx(1)
    assert not mixed[~shared.T].any()
    for i in range(len(graph)):
        kept = kept_row(weights[i], shared[:, i], i)
        assert np.array_equal(mixed[i], kept / kept.sum())


def test_links_point_from_sender_to_receiver():
    shared = np.eye(2, dtype=np.bool_)
    shared[0, 1] = True  # 0 shares with 1
    weights = np.array([[0.75, 0.25], [0.5, 0.5]])
    assert mix(weights, shared).tolist() == [[1.0, 0.0], [0.5, 0.5]]
