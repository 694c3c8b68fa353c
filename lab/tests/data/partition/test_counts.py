import numpy as np
import pytest

from securefair.errors import ConfigError, DataError
from securefair_lab.data.partition import CountsPartitioner

LABELS = np.repeat(np.arange(4), 10)
TWO = CountsPartitioner(counts=({0: 6, 3: 2}, {0: 4, 1: 1}))


def test_everyone_holds_what_is_prescribed():
    parts = TWO.partition(LABELS, np.random.default_rng(0))
    assert [np.bincount(LABELS[part], minlength=4).tolist() for part in parts] == [
        [6, 0, 0, 2],
        [4, 1, 0, 0],
    ]
    assert len(set(np.concatenate(parts))) == 13


def test_samples_are_drawn_by_seed_and_shuffled():
    one, same, other = (TWO.partition(LABELS, np.random.default_rng(s)) for s in (0, 0, 1))
    assert [part.tolist() for part in one] == [part.tolist() for part in same]
    assert set(one[0]) != set(other[0])
    assert (np.diff(LABELS[one[0]]) < 0).any()


def test_too_few_samples_of_a_class_are_refused():
    with pytest.raises(DataError, match=r"class 0: .*found 10, expected 'at least 11'"):
        CountsPartitioner(counts=({0: 6}, {0: 5})).partition(LABELS, np.random.default_rng(0))
    with pytest.raises(DataError, match=r"class 7: .*found 0"):
        CountsPartitioner(counts=({7: 1},)).partition(LABELS, np.random.default_rng(0))


@pytest.mark.parametrize("counts", [(), ({},), ({0: 1}, {1: 0}), ({-1: 1},)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ConfigError, match=r"^counts: "):
        CountsPartitioner(counts=counts)
