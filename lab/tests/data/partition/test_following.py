import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import DataError
from securefair_lab.data.partition.following import follow

few_labels = st.lists(st.integers(0, 3), min_size=1, max_size=30)


@given(st.lists(few_labels, min_size=1, max_size=5), st.integers(0, 3))
def test_disjoint_and_shared_like_the_training_samples(trained, seed):
    trained = [np.array(labels) for labels in trained]
    tested = np.repeat(np.arange(4), 40)
    parts = follow(trained, tested, np.random.default_rng(seed))
    everything = np.concatenate(parts)
    assert len(set(everything)) == len(everything)
    assert all(len(part) for part in parts)
    held = np.array([np.bincount(labels, minlength=4) for labels in trained])
    found = np.array([np.bincount(tested[part], minlength=4) for part in parts])
    occurs = held.sum(axis=0) > 0
    assert found.sum(axis=0).tolist() == (40 * occurs).tolist()
    shares = held[:, occurs] / held[:, occurs].sum(axis=0)
    # within a sample by rounding, and one more where nobody may go without
    assert (np.abs(found[:, occurs] - 40 * shares) <= 1 + len(trained)).all()


def test_hand_computed_shares():
    trained = [np.array([0] * 3 + [1]), np.array([0, 1])]
    parts = follow(trained, np.repeat([0, 1, 2], 8), np.random.default_rng(0))
    assert [np.bincount(part // 8, minlength=3).tolist() for part in parts] == [
        [6, 4, 0],
        [2, 4, 0],
    ]


def test_nobody_goes_without():
    trained = [np.array([0] * 1000), np.array([0]), np.array([0])]
    parts = follow(trained, np.zeros(6, dtype=int), np.random.default_rng(0))
    assert [len(part) for part in parts] == [4, 1, 1]


def test_too_few_test_samples_are_refused():
    with pytest.raises(DataError, match="participant 2 of 2 would be tested on nothing"):
        follow([np.array([0]), np.array([1])], np.array([0, 0, 0]), np.random.default_rng(0))
    with pytest.raises(DataError, match=r"tested on nothing .*Use more test samples"):
        follow([np.zeros(9, int)] * 3, np.array([0, 0]), np.random.default_rng(0))


def test_seeded_and_shuffled():
    trained = [np.zeros(5, int), np.zeros(5, int)]
    tested = np.zeros(40, dtype=int)
    one, same, other = (follow(trained, tested, np.random.default_rng(s)) for s in (0, 0, 1))
    assert one[0].tolist() == same[0].tolist()
    assert set(one[0]) != set(other[0])
    assert (np.diff(one[0]) < 0).any()
