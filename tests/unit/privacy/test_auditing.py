"""The attacks' own figures, against known cases."""

import math

import numpy as np
import pytest

from securefair.errors import ConfigError
from support.auditing import (
    epsilon_lower_bound,
    likelihood_ratios,
    rate,
    true_positives_at,
)


def test_clopper_pearson_by_hand():
    # Rule of three: none of 100 is below 1 - 0.025^(1/100).
    found = rate(0, 100)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 100))


def test_intervals_cover_as_often_as_they_say():
    rng = np.random.default_rng(0)
    covered = 0
    for hits in rng.binomial(200, 0.03, 500):
        found = rate(int(hits), 200)
        covered += found.low <= 0.03 <= found.high
    assert covered >= 475


@pytest.mark.parametrize(("hits", "trials"), [(1, 0), (3, 2), (-1, 5)])
def test_no_rate(hits, trials):
    with pytest.raises(ConfigError):
        rate(hits, trials)


def test_no_rate_is_stated_on_few_false_positives():
    scores = np.arange(999.0)
    assert true_positives_at(scores, scores, 0.01) is None
    found = true_positives_at(scores + 1000, np.arange(1000.0), 0.01)
    assert found is not None
    assert found[0].value == 1.0
    assert found[1].hits == 10


def gaussians(shift, runs=20_000):
    rng = np.random.default_rng(1)
    return rng.normal(size=runs), rng.normal(size=runs) + shift


def test_a_lower_bound_is_below_the_truth_and_not_far():
    # Unit shift of a unit Gaussian at delta 1e-3: epsilon is 3.1 (Balle and Wang).
    from securefair.privacy.accounting import SampledGaussian, spent

    truth = spent((SampledGaussian(noise_multiplier=1.0),), 1e-3)
    bound = epsilon_lower_bound(*gaussians(1.0), 1e-3)
    assert 0.5 * truth < bound < truth


def test_nothing_to_tell_apart():
    assert epsilon_lower_bound(*gaussians(0.0), 1e-3) < 0.1


def test_likelihood_ratios_find_members():
    rng = np.random.default_rng(0)
    members = rng.random((41, 200)) < 0.5
    values = rng.normal(size=(41, 200)) + 3.0 * members + rng.normal(size=200) * 10
    scores = likelihood_ratios(values[0], values[1:], members[1:])
    inside, outside = scores[members[0]], scores[~members[0]]
    assert (inside > 0).mean() > 0.9
    assert (outside < 0).mean() > 0.9
    assert math.isfinite(scores.sum())
