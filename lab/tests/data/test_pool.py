import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair_lab.data.pool import Pool, balanced_subset, pool_of


def numbered(labels, classes=4, sites=None):
    labels = np.array(labels, dtype=np.int64)
    return pool_of(Samples(np.arange(len(labels), dtype=float)[:, None], labels, classes), sites)


def rows_of(pool):
    return pool.samples().features.ravel().astype(int)


def test_rows_of_rows_keep_their_labels_and_sites():
    pool = numbered([0, 1, 2, 3, 0], sites=tuple("abcde"))
    taken = pool.take(np.array([4, 2, 0])).take(np.array([2, 0]))
    assert rows_of(taken).tolist() == [0, 4]
    assert taken.labels.tolist() == [0, 0]
    assert taken.sites == ("a", "e")


def test_features_are_made_only_for_what_is_taken():
    made = []

    def features_of(rows):
        made.extend(rows.tolist())
        return Samples(rows[:, None].astype(float), np.zeros(len(rows), dtype=np.int64), 1)

    pool = Pool(labels=np.zeros(9, dtype=np.int64), classes=1, features_of=features_of)
    part = pool.take(np.array([3, 4, 5])).take(np.array([1]))
    assert made == []
    assert part.samples().features.tolist() == [[4.0]]
    assert made == [4]


def test_balanced_subsets_have_each_class_alike():
    found = balanced_subset(numbered([0] * 9 + [1] * 4 + [2] * 5, 3), 4, np.random.default_rng(0))
    assert np.bincount(found.labels).tolist() == [4, 4, 4]
    assert len(set(rows_of(found))) == 12


@pytest.mark.parametrize("count", [0, 11])
def test_impossible_subsets_are_refused(count):
    with pytest.raises(DataError, match=r"class 0: .*expected '1 to 10'"):
        balanced_subset(numbered([0] * 10, 1), count, np.random.default_rng(0))
    with pytest.raises(DataError, match=r"class 1: .*expected '1 to 0'"):
        balanced_subset(numbered([0] * 10, 2), 3, np.random.default_rng(0))


def test_pools_check_labels_and_sites():
    with pytest.raises(DataError, match="found 2, expected '0 to 1'"):
        Pool(labels=np.array([0, 2]), classes=2, features_of=numbered)
    with pytest.raises(DataError, match="not one site a sample"):
        numbered([0, 1], sites=("a",))
