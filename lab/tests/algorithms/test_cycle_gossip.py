"""Alg. 3 of CYCle against its formulas, one by one."""

import msgspec
import numpy as np
import pytest
import torch

from securefair.errors import ConfigError, ModelError
from securefair.worth import coin, cosine, run
from securefair_lab.algorithms.cycle_gossip import CycleGossip, cosines
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.algorithms.gossip_sgd import GossipSgd

FOUR = (20, 30, 40, 50)


def test_a_round_follows_the_listing(make_networks):
    population = make_networks(sizes=FOUR)
    algorithm = CycleGossip(beta=3.0, common_start=False)
    state = algorithm.init(population, 1)
    np.testing.assert_allclose(state.weights, 0.25)
    g = population.gradients(state.train_states)
    s = np.array(
        [[(1 + cosine(g[i].numpy(), g[j].numpy())) / 2 for j in range(4)] for i in range(4)]
    )
    r = np.exp(3.0 * s) / np.exp(3.0 * s).sum(axis=1, keepdims=True)
    w = 0.5 * 0.25 + 0.5 * r
    after, record = algorithm.round(state, population)
    np.testing.assert_allclose(after.weights, w, atol=1e-12)
    # i receives from j where j's own weight for i says so
    arrived = np.array(
        [
            [i == j or coin(1, 0, "abcd"[j], "abcd"[i]) <= w[j, i] for j in range(4)]
            for i in range(4)
        ]
    )
    effective = torch.from_numpy(w * arrived / (w * arrived).sum(axis=1, keepdims=True))
    half = state.train_states.vectors - 0.1 * g
    torch.testing.assert_close(after.train_states.vectors, effective @ half)
    others = arrived & ~np.eye(4, dtype=bool)
    assert record.answered == others.tolist()
    assert record.forced
    # models to whom a link exists, and the gradient to each neighbour
    size = population.stacked.length
    assert record.numbers_sent == [size * int(n) + 3 * size for n in others.sum(axis=0)]
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(np.array(record.alignment, float)[off], 2 * s[off] - 1, atol=1e-12)
    np.testing.assert_allclose(np.array(record.reputation, float)[off], w[off], atol=1e-12)


def test_weights_change_only_every_so_many_rounds_and_stay_stochastic(make_networks):
    population = make_networks(sizes=FOUR)
    algorithm = CycleGossip(forced_every=3)
    state = algorithm.init(population, 0)
    for t in range(7):
        before = state.weights
        state, record = algorithm.round(state, population)
        assert record.forced == (t % 3 == 0)
        assert np.array_equal(before, state.weights) != record.forced
        np.testing.assert_allclose(state.weights.sum(axis=1), 1.0)
        assert (state.weights > 0).all()


def test_relative_links_are_more(make_networks):
    population = make_networks(sizes=FOUR)
    printed, relative = (
        sum(np.sum(r.answered) for r in run(CycleGossip(relative=flag), population, 0, 10))
        for flag in (False, True)
    )
    assert relative > 2 * printed


def test_on_a_ring_nothing_leaves_the_ring(make_networks):
    population = make_networks(sizes=FOUR)
    graph = GossipSgd(topology="ring").weights(population, 0, 0) > 0
    for record in run(CycleGossip(topology="ring", relative=True), population, 0, 6):
        assert not np.array(record.answered)[~graph].any()
        for i in range(4):
            for j in range(4):
                assert (record.reputation[i][j] is None) == (i == j or not graph[i, j])


def test_who_sends_opposite_gradients_is_left_alone(make_networks, make_participant):
    people = tuple(make_participant(name, n, flipped=name == "d") for n, name in enumerate("abcd"))
    population = make_networks(participants=people)
    record = list(run(CycleGossip(), population, 0, 16))[-1]
    weights = np.array(record.reputation, float)
    assert max(weights[i, 3] for i in range(3)) < 0.05
    assert min(weights[i, j] for i in range(3) for j in range(3) if i != j) > 0.2


def test_noise_for_a_gradient_earns_less(make_networks):
    population = make_networks(sizes=FOUR, free_riders={"d": FreeRide()})
    record = list(run(CycleGossip(), population, 0, 16))[-1]
    weights = np.array(record.reputation, float)
    assert weights[:3, 3].mean() < 0.5 * np.nanmean(weights[:3, :3])


def test_equal_seeds_give_identical_records(make_networks):
    population = make_networks(batch_size=8)
    first, again, other = (
        msgspec.json.encode(list(run(CycleGossip(), population, seed, 4))) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_cosines_of_any_size_and_of_nothing():
    rows = [[3.0, 4.0], [-3e-200, -4e-200], [4e150, -3e150], [0.0, 0.0]]
    g = torch.tensor(rows, dtype=torch.float64)
    expected = [[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(cosines(g, g), expected, atol=1e-12)
    with pytest.raises(ModelError, match="gradient"):
        cosines(torch.tensor([[float("nan")]]), torch.tensor([[1.0]]))


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"beta": -1.0}, "beta"),
        ({"alpha": 1.0}, "alpha"),
        ({"forced_every": 0}, "forced_every"),
        ({"topology": "random"}, "topology"),
        ({"weighting": "heavy"}, "weighting"),
        ({"local_epochs": 0}, "local_epochs"),
        ({"pretraining_epochs": -1}, "pretraining_epochs"),
    ],
)
def test_settings_out_of_range_are_named(settings, where):
    with pytest.raises(ConfigError) as error:
        CycleGossip(**settings)
    assert error.value.where == where
