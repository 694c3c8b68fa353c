"""Gossip-SGD on its graphs, against steps computed by hand."""

import numpy as np
import pytest
import torch

from securefair.errors import ConfigError
from securefair.worth import run
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.algorithms.gossip_sgd import GossipSgd

FIVE = (20, 20, 20, 20, 20)


def test_a_round_adapts_and_then_combines(make_networks):
    population = make_networks(sizes=FIVE)
    algorithm = GossipSgd(topology="ring", common_start=False)
    state = algorithm.init(population, 1)
    x, g = state.train_states.vectors, population.gradients(state.train_states)
    half = x - 0.1 * g
    after, record = algorithm.round(state, population)
    for i in range(5):
        expected = (half[i - 1] + half[i] + half[(i + 1) % 5]) / 3
        torch.testing.assert_close(after.train_states.vectors[i], expected)
    assert record.answered[0] == [False, True, False, False, True]
    assert record.numbers_sent == [2 * population.stacked.length] * 5


def test_records_may_score_the_models_before_they_are_combined(make_networks):
    population = make_networks(sizes=FIVE)
    algorithm = GossipSgd(topology="ring", scored="trained")
    state = algorithm.init(population, 1)
    half = state.train_states.vectors - 0.1 * population.gradients(state.train_states)
    after, record = algorithm.round(state, population)
    np.testing.assert_allclose(
        record.cross_entropy, population.scores(half, "train").cross_entropy.tolist(), atol=1e-12
    )
    whole, _ = GossipSgd(topology="ring").round(state, population)
    torch.testing.assert_close(
        after.train_states.vectors, whole.train_states.vectors, rtol=0, atol=0
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"topology": "ring"},
        {"topology": "exponential", "weighting": "metropolis"},
        {"topology": (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"))},
        {"topology": (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")), "weighting": "metropolis"},
        {"topology": "random", "degree": 2},
    ],
)
def test_rows_of_weights_sum_to_one(make_networks, settings):
    population = make_networks(sizes=FIVE)
    algorithm = GossipSgd(**settings)
    weights = algorithm.weights(population, 7, 3)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    if settings.get("weighting") == "metropolis":
        np.testing.assert_allclose(weights.sum(axis=0), 1.0)
    assert (weights.diagonal() > 0).all()
    record = next(run(algorithm, population, 7, 1))
    arrived = np.array(record.answered)
    assert record.numbers_sent == (arrived.sum(axis=0) * population.stacked.length).tolist()


def test_a_random_graph_is_drawn_anew_in_every_round(make_networks):
    population = make_networks(sizes=FIVE)
    algorithm = GossipSgd(topology="random", degree=2)
    graphs = [algorithm.weights(population, 0, t) > 0 for t in range(6)]
    assert all((graph.sum(axis=1) == 3).all() for graph in graphs)
    assert len({graph.tobytes() for graph in graphs}) > 1
    np.testing.assert_array_equal(graphs[2], algorithm.weights(population, 0, 2) > 0)
    everyone = GossipSgd(topology="random", degree=9).weights(population, 0, 0)
    np.testing.assert_allclose(everyone, 0.2)


def test_a_free_rider_keeps_what_it_trained_for_itself(make_networks):
    population = make_networks(sizes=FIVE, free_riders={"b": FreeRide(sends="unchanged")})
    algorithm = GossipSgd(topology="ring")
    state = algorithm.init(population, 1)
    x, g = state.train_states.vectors, population.gradients(state.train_states)
    half = x - 0.1 * g
    after, _ = algorithm.round(state, population)
    torch.testing.assert_close(after.train_states.vectors[0], (half[4] + half[0] + x[1]) / 3)
    torch.testing.assert_close(after.train_states.vectors[1], (half[0] + half[1] + half[2]) / 3)


def test_pretraining_happens_alone(make_networks):
    population = make_networks(sizes=FIVE)
    state = GossipSgd(pretraining_epochs=3).init(population, 0)
    start = GossipSgd().init(population, 0)
    expected = population.train(start.train_states, epochs=3, seed=0, clock=-1)
    assert torch.equal(state.train_states.vectors, expected.vectors)


def test_models_come_together(make_networks):
    def spread(algorithm, rounds):
        population = make_networks(sizes=FIVE)
        state = algorithm.init(population, 0)
        for _ in range(rounds):
            state, _ = algorithm.round(state, population)
        return float(state.train_states.vectors.std(dim=0).mean())

    ring = GossipSgd(topology="ring", common_start=False)
    assert spread(ring, 8) < 0.3 * spread(ring, 0)
    assert spread(GossipSgd(common_start=False), 1) < 1e-12


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"topology": "star"}, "topology"),
        ({"weighting": "heavy"}, "weighting"),
        ({"topology": "random"}, "degree"),
        ({"degree": 3}, "degree"),
        ({"topology": "random", "degree": 0}, "degree"),
        ({"local_epochs": 0}, "local_epochs"),
        ({"pretraining_epochs": -1}, "pretraining_epochs"),
        ({"scored": "best"}, "scored"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, where):
    with pytest.raises(ConfigError) as error:
        GossipSgd(**settings)
    assert error.value.where == where


def test_edges_must_join_participants(make_networks):
    with pytest.raises(ConfigError, match="edges"):
        GossipSgd(topology=(("a", "z"),)).weights(make_networks(), 0, 0)
