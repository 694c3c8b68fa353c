import numpy as np
import pytest

from securefair.collaboration.gossip.weighing import UNKNOWN, WeightRow
from securefair.worth import mixing
from support.agreements import agree

NAMES = ("ann", "bea", "cem", "dan")


def row_of(name="bea", **changes):
    return WeightRow.start(agree("cycle-gossip", NAMES, shape=8, kind="linear", **changes), name)


def test_a_row_is_that_of_the_matrix():
    """Everyone alone computes what the reference computes for all."""
    rows = [row_of(name, beta=4.0) for name in NAMES]
    cosines = np.random.default_rng(0).uniform(-1, 1, (4, 4))
    np.fill_diagonal(cosines, 1.0)
    similarities = mixing.round_similarities(mixing.similarity(cosines), 5)
    graph = mixing.complete_graph(4)
    whole = mixing.smooth(
        mixing.uniform_weights(graph), mixing.attractions(similarities, graph, beta=4.0), alpha=0.5
    )
    whole /= whole.sum(axis=1, keepdims=True)
    for own, row in enumerate(rows):
        found = {name: row.similarity(cosines[own, j]) for j, name in enumerate(NAMES) if j != own}
        np.testing.assert_allclose(row.weighed(found).weights, whole[own], atol=1e-15)


@pytest.mark.parametrize("senders", [("ann", "cem", "dan"), ("ann", "dan")])
def test_told_weights_and_the_scale_give_the_row(senders):
    """What a receiver divides by is what it told, and its own."""
    row = row_of(beta=4.0).weighed({"ann": 0.75, "cem": 1.0})
    told, mixed = row.told(senders), row.mixed(senders)
    assert sum(told.values()) <= 1
    for name, weight in told.items():
        assert weight * row.scale(senders) == pytest.approx(mixed[NAMES.index(name)])
    assert mixed[row.own] + row.scale(senders) * sum(told.values()) == pytest.approx(1)


def test_a_weight_that_is_told_follows_from_that_neighbour_alone():
    """To the last bit: rounding of a row that was normalised would tell of the others."""
    told = set()
    for others in ({}, {"cem": 0.0}, {"cem": 1.0, "dan": 0.25}, {"cem": 0.5, "dan": 1.0}):
        row = row_of().weighed({"ann": 0.75} | others).weighed({"ann": 0.5} | others)
        told.add(row.told(("ann", "cem", "dan"))["ann"])
    assert len(told) == 1


def test_no_weight_of_a_neighbour_vanishes():
    row = row_of(beta=1e6, alpha=0.0).weighed(dict.fromkeys(("ann", "cem", "dan"), 0.0))
    assert min(row.told(("ann", "cem", "dan")).values()) > 0


def test_whoever_did_not_answer_keeps_its_similarity():
    first = row_of().weighed({"ann": 0.9, "cem": 0.2})
    np.testing.assert_array_equal(first.similarities, [0.9, 1.0, 0.2, UNKNOWN])
    second = first.weighed({"cem": 0.4})
    np.testing.assert_array_equal(second.similarities, [0.9, 1.0, 0.4, UNKNOWN])


def test_only_neighbours_are_offered_anything():
    probabilities = row_of(topology="ring").link_probabilities()
    assert set(probabilities) == {"ann", "cem"}
    assert probabilities == {"ann": 1.0, "cem": 1.0}  # relative: equal weights always share
    assert row_of(relative=False).link_probabilities()["ann"] == pytest.approx(0.25)


@pytest.mark.parametrize(("least", "averages"), [(2, True), (3, False)])
def test_too_few_senders_leave_the_own_model(least, averages):
    row = row_of(min_senders=least)
    mixed = row.mixed(("ann", "dan"))
    weights = row.told(("ann", "dan"))
    if averages:
        assert weights == {"ann": pytest.approx(1 / 8), "dan": pytest.approx(1 / 8)}
        assert mixed[row.own] == pytest.approx(1 / 3)
    else:
        assert weights == {"ann": 0.0, "dan": 0.0}
        assert mixed[row.own] == 1.0


def test_no_sender_gets_more_than_the_largest_share():
    row = row_of(max_share=0.5, beta=15.0).weighed({"ann": 0.95, "cem": 0.3, "dan": 0.3})
    weights = row.told(("ann", "cem", "dan"))
    assert weights["ann"] == pytest.approx(weights["cem"] + weights["dan"])
