"""What a participant does with its own row: how often it shares, and what it takes of others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ConfigError, ModelError
from securefair.worth.own_row import kept_row, limit_shares, link_probabilities


def mixed(*arguments, **limits):
    kept = kept_row(*arguments, **limits)
    return kept / kept.sum()


def test_relative_links_always_reach_the_best_peer():
    row = np.array([0.7, 0.2, 0.1])
    assert link_probabilities(row, 0).tolist() == [1.0, 0.2, 0.1]
    assert link_probabilities(row, 0, relative=True) == pytest.approx([1.0, 1.0, 0.5])


def test_relative_links_of_a_participant_without_peers_are_its_own():
    assert link_probabilities(np.array([0.0, 1.0]), 1, relative=True).tolist() == [0.0, 1.0]


def test_with_too_few_senders_a_participant_keeps_its_own_model():
    weights = np.array([0.5, 0.25, 0.25])
    one = np.array([True, True, False])
    assert mixed(weights, one, 0).tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    assert mixed(weights, one, 0, min_senders=2).tolist() == [1, 0, 0]
    assert mixed(weights, np.ones(3, dtype=np.bool_), 0, min_senders=2).tolist() == [
        0.5,
        0.25,
        0.25,
    ]


def test_a_sender_without_weight_does_not_count():
    weights = np.array([0.5, 0.5, 0.0])
    everyone = np.ones(3, dtype=np.bool_)
    assert mixed(weights, everyone, 0, min_senders=2).tolist() == [1, 0, 0]


shares_of_sums = st.lists(
    st.one_of(st.floats(1e-300, 1.0), st.just(0.0), st.just(0.25)), min_size=1, max_size=6
).map(np.array)


@given(weights=shares_of_sums, max_share=st.floats(0.1, 1.0))
def test_limited_weights_keep_to_the_share_and_cut_no_more_than_needed(weights, max_share):
    limited = limit_shares(weights, max_share)
    most = max_share * limited.sum()
    assert (limited <= most * (1 + 1e-9)).all()
    assert (limited <= weights).all()
    if not limited.any():  # so few that somebody must have more
        assert np.count_nonzero(weights) * max_share < 1
        return
    cut = limited < weights
    np.testing.assert_allclose(limited[cut], limited.max(), rtol=1e-12)  # one level
    if cut.any() and np.count_nonzero(weights) * max_share > 1 + 1e-9:
        assert limited.max() >= most * (1 - 1e-9)  # and the highest


def test_a_heavy_sender_is_cut_to_what_the_others_weigh():
    assert limit_shares(np.array([0.7, 0.0, 0.2, 0.1]), 0.5) == pytest.approx([0.3, 0, 0.2, 0.1])
    assert limit_shares(np.array([0.7, 0.2, 0.1]), 1 / 3) == pytest.approx([0.1, 0.1, 0.1])
    assert limit_shares(np.array([0.4, 0.3]), 0.6) == pytest.approx([0.4, 0.3])
    assert not limit_shares(np.array([0.4, 0.3]), 0.4).any()
    with pytest.raises(ConfigError, match="max_share"):
        limit_shares(np.ones(2), 0.0)


def test_a_row_with_a_largest_share_leaves_the_own_weight_its_part():
    weights, everyone = np.array([0.1, 0.6, 0.2, 0.1]), np.ones(4, dtype=np.bool_)
    row = mixed(weights, everyone, 0, max_share=0.5)
    assert row == pytest.approx(np.array([0.1, 0.3, 0.2, 0.1]) / 0.7)
    alone = mixed(weights, np.array([True, True, False, False]), 0, max_share=0.5)
    assert alone.tolist() == [1, 0, 0, 0]  # one sender would have all of the sum


def test_an_empty_row_is_refused():
    with pytest.raises(ModelError, match="empty"):
        mixed(np.array([0.0, 1.0]), np.array([True, False]), 0)
