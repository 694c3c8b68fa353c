"""Features that others have not: for the own model, and for nothing that peers see."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.model.probabilities import log_losses
from securefair.model.transfer import own_fit, transfer, transfer_each
from securefair.model.transfer.sums import sum_of, transfer_sum
from unit.model.transfer.fits import fitted

SLOPES = np.array([2.0, -1.5, 1.0, 3.0, -2.0])
FURTHER = 2
"""Of five features, the last ones, which hold half of what there is to know."""


def patients(seed, count, *, further=FURTHER):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, len(SLOPES)))
    labels = (x @ SLOPES + rng.logistic(size=count) > 0).astype(np.int64)
    samples = Samples(x, labels, 2, further=FURTHER)
    return samples if further else samples.common


def loss(model, samples):
    return log_losses(model.logits(samples.features), samples.labels).mean()


def learned(own, others, how):
    x = own.samples.common.features
    if how == "each":
        return transfer_each(own, {str(at): one.model.logits(x) for at, one in enumerate(others)})
    if how == "mean":
        return transfer(own, np.mean([one.model.logits(x) for one in others], axis=0))
    kind = sum_of("curvature")
    told = np.mean([kind.told(one) for one in others], axis=0)
    return transfer_sum(own, kind.opened(told, len(others), x.shape[1]))


@pytest.mark.parametrize("how", ["each", "mean", "curvature"])
def test_own_features_and_peers_are_both_worth_something(how):
    others = [fitted(patients(seed, 150, further=False)) for seed in (1, 2, 3)]
    own, later = fitted(patients(0, 40)), patients(9, 800)
    narrow = fitted(patients(0, 40, further=False))
    both = learned(own, others, how)
    assert loss(both.model, later) < loss(own.averaged, later) - 0.01
    without = learned(narrow, others, how)
    assert loss(both.model, later) < loss(without.model, later.common) - 0.1
    other = fitted(patients(7, 40))
    assert loss(both.again(other).model, later) < loss(other.averaged, later) - 0.01


def test_what_is_told_does_not_depend_on_them():
    samples = patients(0, 60)
    own, narrow = fitted(samples), fitted(samples.common)
    scrambled = samples.features.copy()
    scrambled[:, -FURTHER:] = np.random.default_rng(3).uniform(-1, 1, (60, FURTHER))
    other = fitted(replace(samples, features=scrambled))
    x = patients(1, 30).common.features
    for one in (own, other):
        np.testing.assert_array_equal(one.told.model.logits(x), narrow.model.logits(x))
        np.testing.assert_array_equal(one.told.best_of_all.logits(x), narrow.best_of_all.logits(x))
        for name in ("gradient", "curvature"):
            np.testing.assert_array_equal(sum_of(name).told(one), sum_of(name).told(narrow))
    assert narrow.told is narrow
    y = patients(1, 30).features
    assert np.abs(own.model.logits(y) - other.model.logits(y)).max() > 0.1


def test_a_quadratic_fit_takes_them():
    own = own_fit(patients(0, 40), 2, rng=np.random.default_rng(5))
    peer = own_fit(patients(1, 200, further=False), 2, rng=np.random.default_rng(5))
    found = transfer(own, peer.model.logits(own.samples.common.features), 2)
    later = patients(9, 400)
    assert loss(found.model, later) < loss(own.model, later) - 0.01


def test_samples_keep_them_apart():
    samples = patients(0, 10)
    assert samples.take(np.arange(3)).further == FURTHER
    assert samples.common.features.shape == (10, 3)
    assert samples.common.common is samples.common or samples.common.further == 0
    for wrong in (-1, 5, 6):
        with pytest.raises(DataError, match="features that others have not"):
            replace(samples, further=wrong)
