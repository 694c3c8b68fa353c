"""Who founds or joins a project that averages reads how often it averages."""

import pytest

from securefair.collaboration.gossip.forecast import cautions_of
from support.agreements import agree

NAMES = ("ann", "bea", "cem", "dan")


def said(**changes):
    settings = {"shape": 8, "kind": "linear", "rounds": 10} | changes
    return cautions_of(agree("cycle-gossip", NAMES, **settings))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "in 6 of 10 rounds at most (gossip.max_sums); then everybody trains alone"),
        ({"max_sums": 7}, "in 7 of 10 rounds"),
        ({"max_sums": 8}, None),  # the last rounds fit the model to the own patients
        ({"rounds": 8}, None),  # the defaults
        ({"max_sums": 0}, None),
        ({"rounds": 6}, None),
    ],
    ids=str,
)
def test_that_sums_end_before_the_rounds_is_told_at_the_founding(changes, told):
    """The last rounds of such a project averaged nothing, and nothing had said so."""
    found = said(**changes)
    assert len(found) == (told is not None)
    assert told is None or told in found[0]


def test_who_never_averages_is_told_at_the_founding():
    edges = (("ann", "bea"), ("bea", "cem"), ("cem", "dan"))
    (found,) = said(edges=edges, rounds=6)
    assert found == "ann, dan will never average: fewer than 2 neighbours."
