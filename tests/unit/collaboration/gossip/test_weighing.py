import numpy as np
import pytest

from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.collaboration.gossip.weighing import UNKNOWN, Row
from securefair.fairness import mixing

NAMES = ("ann", "bea", "cem", "dan")


def row_of(name="bea", **changes):
    facts = {"participants": NAMES, "shape": (8,), "classes": 2, "network": "linear-head"}
    return Row.start(GossipAgreement(**(facts | changes)), name)


def test_a_row_is_that_of_the_matrix():
    """Everyone alone computes what the reference computes for all."""
    rows = [row_of(name, beta=4.0) for name in NAMES]
    cosines = np.random.default_rng(0).uniform(-1, 1, (4, 4))
    np.fill_diagonal(cosines, 1.0)
    similarities = mixing.rounded(mixing.similarity(cosines), 5)
    graph = mixing.complete_graph(4)
    whole = mixing.smooth(
        mixing.uniform_weights(graph), mixing.preferences(similarities, graph, beta=4.0), alpha=0.5
    )
    for own, row in enumerate(rows):
        found = {name: row.similarity(cosines[own, j]) for j, name in enumerate(NAMES) if j != own}
        np.testing.assert_allclose(row.weighed(found).weights, whole[own], atol=1e-15)


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
    weights = row.of(mixed, ("ann", "dan"))
    if averages:
        assert weights == {"ann": pytest.approx(1 / 3), "dan": pytest.approx(1 / 3)}
        assert row.own_of(mixed) == pytest.approx(1 / 3)
    else:
        assert weights == {"ann": 0.0, "dan": 0.0}
        assert row.own_of(mixed) == 1.0


def test_no_sender_gets_more_than_the_largest_share():
    row = row_of(max_share=0.5, beta=15.0).weighed({"ann": 0.95, "cem": 0.3, "dan": 0.3})
    weights = row.of(row.mixed(("ann", "cem", "dan")), ("ann", "cem", "dan"))
    assert weights["ann"] == pytest.approx(weights["cem"] + weights["dan"])
    assert sum(weights.values()) + row.own_of(row.mixed(("ann", "cem", "dan"))) == pytest.approx(1)
