import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError
from securefair_lab.data.division import divide
from securefair_lab.data.folds import cross_validation
from securefair_lab.data.partition import RatioPartitioner
from securefair_lab.data.pool import DataSet, pool_of


def numbered(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    features = np.arange(len(labels), dtype=float)[:, None]
    return DataSet(name="toy", train=pool_of(Samples(features, labels, len(sizes))))


def rows(pool):
    return set(pool.samples().features.ravel().astype(int))


@given(
    st.lists(st.integers(5, 30), min_size=1, max_size=3),
    st.integers(2, 5),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_every_sample_is_tested_once_a_repeat(sizes, folds, repeats, seed):
    source = numbered(sizes)
    found = list(cross_validation(source, folds=folds, repeats=repeats, seed=seed))
    assert len(found) == folds * repeats
    for repeat in range(repeats):
        tested = [rows(one.test) for one in found[repeat * folds : (repeat + 1) * folds]]
        assert sum(map(len, tested)) == sum(sizes)
        assert set.union(*tested) == set(range(sum(sizes)))
    for one in found:
        assert not rows(one.train) & rows(one.test)
        assert len(one.train) + len(one.test) == sum(sizes)
        for label, size in enumerate(sizes):
            assert abs(int((one.test.labels == label).sum()) - size / folds) < 1


def test_repeats_and_seeds_shuffle_anew():
    def first_folds(seed):
        found = list(cross_validation(numbered([20, 20]), folds=4, repeats=2, seed=seed))
        return rows(found[0].test), rows(found[4].test)

    one, two = first_folds(0)
    assert one != two
    assert first_folds(0) == (one, two)
    assert first_folds(1)[0] not in (one, two)


def test_folds_are_ready_to_be_divided():
    fold = next(cross_validation(numbered([40, 60]), folds=5, seed=0))
    assert fold.name == "toy, repeat 1, fold 1"
    parts = divide(fold, RatioPartitioner(ratios=(0.1, 0.3, 0.6)), seed=0)
    assert [len(own.train) for own in parts] == [8, 24, 48]
    assert all(len(own.test) == 20 for own in parts)


@pytest.mark.parametrize(
    ("settings", "named"), [({"folds": 1}, "folds"), ({"folds": 2, "repeats": 0}, "repeats")]
)
def test_impossible_numbers_are_refused_by_name(settings, named):
    with pytest.raises(ConfigError, match=f"^{named}: "):
        cross_validation(numbered([5]), seed=0, **settings)


def test_a_class_too_small_for_the_folds_is_named():
    with pytest.raises(DataError, match="class 1: a class has fewer samples than there are folds"):
        cross_validation(numbered([9, 3]), folds=4, seed=0)
