import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference

from securefair.errors import DataError
from securefair_lab.scores import (
    accuracy,
    balanced_accuracy,
    confusion,
    mcc,
)

batches = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


def test_by_hand():
    labels = [0, 0, 0, 0, 1, 1]
    predictions = [0, 0, 0, 1, 1, 0]
    assert confusion(predictions, labels).tolist() == [[3, 1], [1, 1]]
    assert accuracy(predictions, labels) == 4 / 6
    assert balanced_accuracy(predictions, labels) == (3 / 4 + 1 / 2) / 2
    assert mcc(predictions, labels) == pytest.approx((3 * 1 - 1 * 1) / np.sqrt(4 * 4 * 2 * 2))


@given(batches)
def test_agrees_with_scikit_learn(pairs):
    predictions, labels = np.array(pairs).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # predicted classes that do not occur
        expected = (
            reference.accuracy_score(labels, predictions),
            reference.balanced_accuracy_score(labels, predictions),
            reference.matthews_corrcoef(labels, predictions),
        )
    ours = (
        accuracy(predictions, labels),
        balanced_accuracy(predictions, labels),
        mcc(predictions, labels),
    )
    assert ours == pytest.approx(expected, abs=1e-12)


def test_mcc_of_one_class_only_is_zero():
    assert mcc([1, 1, 1], [0, 1, 1]) == 0.0
    assert mcc([0, 1, 1], [1, 1, 1]) == 0.0


def test_mcc_does_not_overflow_with_many_samples():
    labels = np.repeat([0, 1], 200_000)
    assert mcc(labels, labels) == 1.0
    assert mcc(1 - labels, labels) == -1.0


def test_nothing_to_score():
    for metric in (accuracy, balanced_accuracy, mcc):
        with pytest.raises(DataError, match="no samples"):
            metric([], [])


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        ([0, 1], [0], "disagree"),
        ([0.2, 0.8], [0, 1], "argmax"),
        ([[0, 1]], [[0, 1]], "not class numbers"),
        ([-1, 0], [0, 0], "negative"),
    ],
)
def test_refuses_what_is_not_labels(predictions, labels, message):
    with pytest.raises(DataError, match=message):
        accuracy(predictions, labels)


def test_a_class_beyond_the_agreed_ones_is_refused():
    with pytest.raises(DataError, match="out of range"):
        confusion([2], [0], 2)
