import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference

from securefair.errors import DataError
from securefair.model.outcomes.class_scores import (
    SCORES,
    count_patients,
    nearly_constant,
    probabilistic_scores,
    weighted_scores,
)


def test_by_hand():
    ill = np.array([0.9, 0.6, 0.4, 0.2])
    scores = probabilistic_scores(np.column_stack([1 - ill, ill]), np.array([1, 0, 1, 0]))
    assert scores["accuracy"] == 0.5
    assert scores["sensitivity"] == 0.5
    assert scores["specificity"] == 0.5
    assert scores["auc"] == 3 / 4
    assert scores["brier"] == pytest.approx((0.01 + 0.36 + 0.36 + 0.04) / 4)
    assert scores["log_loss"] == pytest.approx(-np.log([0.9, 0.4, 0.4, 0.8]).mean())
    # bins of confidence: 0.9 right; 0.6 wrong twice; 0.8 right
    assert scores["calibration_error"] == pytest.approx((0.1 + 1.2 + 0.2) / 4)


def test_what_is_undefined_is_none():
    p = np.array([[0.3, 0.7], [0.6, 0.4]])
    scores = probabilistic_scores(p, np.array([1, 1]))
    assert scores["auc"] is None
    assert scores["specificity"] is None
    assert scores["balanced_accuracy"] == scores["sensitivity"] == 0.5


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), count=st.integers(1, 30), classes=st.integers(2, 4))
def test_many_weightings_at_once_are_what_scikit_learn_says(seed, count, classes):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), count).round(2) + 1e-6
    p /= p.sum(axis=1, keepdims=True)
    labels = rng.integers(0, classes, count)
    weights = rng.integers(0, 3, (3, count))
    weights[weights.sum(axis=1) == 0] = 1
    drawn = weighted_scores(p, labels, weights)
    for at, row in enumerate(weights):
        expected = probabilistic_scores(p, labels, row.astype(float))
        for name in SCORES:
            found = drawn[name][at]
            if expected[name] is None:
                assert np.isnan(found)
            else:
                assert found == pytest.approx(expected[name], abs=1e-9), name


@given(seed=st.integers(0, 2**32), count=st.integers(2, 40), apart=st.integers(0, 3))
def test_areas_are_those_of_scikit_learn(seed, count, apart):
    """With equals among the probabilities, and weights of which some are 0."""
    rng = np.random.default_rng(seed)
    ill = rng.random(count).round(apart)
    labels = np.concatenate([[0, 1], rng.integers(0, 2, count - 2)])
    weights = np.concatenate([[1, 1], rng.integers(0, 3, count - 2)]).astype(float)
    scores = probabilistic_scores(np.column_stack([1 - ill, ill]), labels, weights)
    area = reference.roc_auc_score(labels, ill, sample_weight=weights)
    assert scores["auc"] == pytest.approx(area, abs=1e-12)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), classes=st.integers(2, 4))
def test_agrees_with_scikit_learn_on_several_classes(seed, classes):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), 40)
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, 40 - classes)])
    scores = probabilistic_scores(p, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # predicted classes that do not occur
        balanced = reference.balanced_accuracy_score(labels, p.argmax(axis=1))
    assert scores["balanced_accuracy"] == pytest.approx(balanced)
    if classes > 2:
        area = reference.roc_auc_score(labels, p, multi_class="ovr")
        assert scores["auc"] == pytest.approx(area)
        assert scores["sensitivity"] == pytest.approx(balanced)


def test_nearly_constant_predictors_are_found():
    p = np.tile([0.4, 0.6], (100, 1))
    assert nearly_constant(p)
    p[:2] = [0.6, 0.4]
    assert nearly_constant(p)
    p[:3] = [0.6, 0.4]
    assert not nearly_constant(p)


@pytest.mark.parametrize(
    ("p", "labels", "problem"),
    [
        ([[0.5, 0.5]], [0, 1], "disagree"),
        (np.zeros((0, 2)), [], "there are none"),
        ([[0.5, 0.5]], [2], "label is out of range"),
        ([[np.nan, 0.5]], [1], "probability is out of range"),
        ([[1.5, -0.5]], [1], "probability is out of range"),
    ],
)
def test_refuses_what_cannot_be_scored(p, labels, problem):
    with pytest.raises(DataError, match=problem):
        probabilistic_scores(np.asarray(p, dtype=float), np.asarray(labels, dtype=np.int64))


def test_only_scores_of_patients_are_counted():
    labels = np.array([0, 1, 1, 1])
    assert count_patients(labels, 2) == {"accuracy": 4, "sensitivity": 3, "specificity": 1}
    assert count_patients(labels, 3) == {"accuracy": 4}
    assert count_patients(np.array([1, 1]), 2) == {"accuracy": 2, "sensitivity": 2}
