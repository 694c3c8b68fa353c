import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.errors import ConfigError
from securefair_lab.data.labels import derangement, flip_labels, permute_labels


def samples_of(count, classes=10):
    return Samples(np.arange(count, dtype=float)[:, None], np.arange(count) % classes, classes)


@given(st.integers(1, 60), st.integers(2, 10), st.floats(0, 1), st.integers(0, 5))
def test_exactly_the_rate_of_labels_changes_and_no_feature(count, classes, rate, seed):
    before = samples_of(count, classes)
    after = flip_labels(before, rate, np.random.default_rng(seed))
    assert (after.features == before.features).all()
    changed = int((after.labels != before.labels).sum())
    assert abs(changed - rate * count) <= 0.5
    assert set(after.labels) <= set(range(classes))


def test_flipped_labels_are_spread_over_the_other_classes():
    before = Samples(np.zeros((9000, 1)), np.full(9000, 4), 10)
    after = flip_labels(before, 1.0, np.random.default_rng(0))
    counts = np.bincount(after.labels, minlength=10)
    assert counts[4] == 0
    # binomial(9000, 1/9): mean 1000, standard deviation 29.8
    assert (np.abs(np.delete(counts, 4) - 1000) < 120).all()


def test_every_sample_is_as_likely_to_be_flipped():
    times = np.zeros(20)
    for seed in range(500):
        before = samples_of(20)
        times += flip_labels(before, 0.3, np.random.default_rng(seed)).labels != before.labels
    assert times.sum() == 500 * 6
    assert (np.abs(times - 150) < 50).all()  # standard deviation 10.2


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_impossible_rates_are_refused(rate):
    with pytest.raises(ConfigError, match=r"^rate: "):
        flip_labels(samples_of(4), rate, np.random.default_rng(0))


def test_a_permutation_renames_and_its_inverse_restores():
    before = samples_of(12, 4)
    after = permute_labels(before, (2, 0, 3, 1))
    assert after.labels[:4].tolist() == [2, 0, 3, 1]
    assert (permute_labels(after, (1, 3, 0, 2)).labels == before.labels).all()


@pytest.mark.parametrize("bad", [(0, 1), (0, 1, 1, 2), (1, 2, 3, 4)])
def test_what_is_no_permutation_is_refused(bad):
    with pytest.raises(ConfigError, match="not a permutation of the classes"):
        permute_labels(samples_of(4, 4), bad)


def test_derangements_move_everything_and_are_all_drawn():
    rng = np.random.default_rng(0)
    drawn = [derangement(4, rng) for _ in range(900)]
    assert all(c != image for one in drawn for c, image in enumerate(one))
    assert len(set(drawn)) == 9  # subfactorial of 4
    times = np.array([drawn.count(one) for one in set(drawn)])
    assert (np.abs(times - 100) < 45).all()  # standard deviation 9.4
    with pytest.raises(ConfigError, match=r"^classes: "):
        derangement(1, rng)
