import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from securefair.errors import ConfigError, ModelError
from securefair.worth.mixing import (
    TOPOLOGIES,
    WEIGHTINGS,
    check_graph,
    graph_of_edges,
    metropolis_weights,
    preferences,
    similarity,
    smooth,
    uniform_weights,
)
from support.graphs import counts, graphs

NAMES = ["Cleveland", "Hungary", "Switzerland", "VA Long Beach"]


@st.composite
def cosine_matrices(draw, n):
    half = np.triu(draw(arrays(np.float64, (n, n), elements=st.floats(-1, 1))), 1)
    return half + half.T + np.eye(n)


def assert_on_graph(weights, graph):
    """Rows sum to 1, nothing lies off the graph, and everybody keeps a part of its own."""
    assert weights.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert (weights >= 0).all()
    assert not weights[~graph].any()
    assert (weights.diagonal() > 0).all()


@given(counts)
def test_a_ring_gives_thirds(n):
    weights = uniform_weights(TOPOLOGIES["ring"](n))
    if n > 3:
        assert weights[0, [0, 1, n - 1]] == pytest.approx(1 / 3)
        assert np.count_nonzero(weights[0]) == 3
    assert weights.sum(axis=0) == pytest.approx(1)


def test_the_exponential_graph_of_eight_reaches_distances_one_two_and_four():
    assert np.flatnonzero(TOPOLOGIES["exponential"](8)[0]).tolist() == [0, 1, 2, 4, 6, 7]


@settings(deadline=None)
@given(counts, st.sampled_from(sorted(TOPOLOGIES)), st.sampled_from(sorted(WEIGHTINGS)))
def test_every_topology_with_every_weighting_is_doubly_stochastic(n, topology, weighting):
    graph = TOPOLOGIES[topology](n)
    weights = WEIGHTINGS[weighting](graph)
    assert_on_graph(weights, graph)
    assert weights.sum(axis=0) == pytest.approx(1)  # all three are regular


@settings(deadline=None)
@given(graphs())
def test_metropolis_weights_are_doubly_stochastic_on_any_graph(graph):
    weights = metropolis_weights(graph)
    assert_on_graph(weights, graph)
    assert weights == pytest.approx(weights.T)


def test_uniform_weights_of_a_star_are_not_doubly_stochastic():
    star = graph_of_edges(NAMES, [(NAMES[0], other) for other in NAMES[1:]])
    assert uniform_weights(star).sum(axis=0)[0] == pytest.approx(1 / 4 + 3 / 2)


def test_edges_by_name_join_both_ways():
    graph = graph_of_edges(NAMES, [("Hungary", "Cleveland")])
    assert graph[0, 1]
    assert graph[1, 0]
    assert graph.sum() == len(NAMES) + 2


@pytest.mark.parametrize("edge", [("Hungary", "Hungary"), ("Hungary", "Basel")])
def test_an_edge_must_join_two_participants(edge):
    with pytest.raises(ConfigError, match="edge"):
        graph_of_edges(NAMES, [edge])


def test_similarity_maps_cosines_to_the_unit_interval():
    assert similarity(np.array([-1.0, 0.0, 1.0])).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("bad", [1.0001, -2.0, np.nan])
def test_what_is_no_cosine_is_refused(bad):
    with pytest.raises(ModelError, match="cosine"):
        similarity(np.array([bad]))


@settings(deadline=None)
@given(st.data(), graphs(), st.floats(0, 200))
def test_preferences_are_a_distribution_over_neighbours_that_favours_oneself(data, graph, beta):
    similarities = similarity(data.draw(cosine_matrices(len(graph))))
    preferred = preferences(similarities, graph, beta=beta)
    assert preferred.sum(axis=1) == pytest.approx(1)
    assert not preferred[~graph].any()
    assert (preferred.diagonal() >= preferred.max(axis=1) - 1e-12).all()
    for row in range(len(graph)):  # a participant computes its row alone
        alone = preferences(similarities[row], graph[row], beta=beta)
        assert np.array_equal(alone, preferred[row])


def test_the_softmax_is_that_of_the_paper():
    row = preferences(np.array([1.0, 0.5, 0.9]), np.ones(3, dtype=np.bool_), beta=15)
    expected = np.exp([15, 7.5, 13.5])
    assert row == pytest.approx(expected / expected.sum())


def test_similarities_off_the_graph_are_not_read():
    row = preferences(np.array([1.0, np.nan]), np.array([True, False]), beta=15)
    assert row.tolist() == [1.0, 0.0]


def test_an_unknown_similarity_on_the_graph_is_refused():
    with pytest.raises(ModelError, match="similarity"):
        preferences(np.array([1.0, np.nan]), np.array([True, True]), beta=15)


@pytest.mark.parametrize("beta", [-1.0, np.nan, np.inf])
def test_beta_must_be_a_sharpness(beta):
    with pytest.raises(ConfigError, match="beta"):
        preferences(np.ones(2), np.ones(2, dtype=np.bool_), beta=beta)


def test_smoothing_keeps_row_sums():
    weights = uniform_weights(TOPOLOGIES["complete"](4))
    smoothed = smooth(weights, np.eye(4))
    assert smoothed.sum(axis=1) == pytest.approx(1)
    assert smoothed[0].tolist() == [0.625, 0.125, 0.125, 0.125]


def test_alpha_one_would_never_learn():
    with pytest.raises(ConfigError, match="alpha"):
        smooth(np.eye(2), np.eye(2), alpha=1.0)


@pytest.mark.parametrize(
    "graph",
    [
        np.array([[1, 1], [0, 1]], dtype=np.bool_),
        np.zeros((2, 2), dtype=np.bool_),
        np.ones((2, 3), dtype=np.bool_),
        np.ones((1, 1), dtype=np.bool_),
        np.ones((2, 2)),
    ],
)
def test_what_is_no_graph_is_refused(graph):
    with pytest.raises(ConfigError):
        check_graph(graph)
