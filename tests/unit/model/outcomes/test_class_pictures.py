"""Pictures of two classes are those of scikit-learn, on grids."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from securefair.model.outcomes.class_pictures import THRESHOLDS, class_pictures


@pytest.fixture
def ward():
    rng = np.random.default_rng(2)
    probability = rng.uniform(size=400).round(2)  # many are alike
    return probability, (rng.uniform(size=400) < probability).astype(np.int64)


def named(pictures):
    return {one.name: one for one in pictures}


def test_who_is_told_apart_is_the_known_curve(ward):
    probability, labels = ward
    (curve,) = named(class_pictures(probability, labels))["roc"].series
    false, true, _ = roc_curve(labels, probability, drop_intermediate=False)
    at = [x for x in curve.x if 0 < x < 1]
    found = [y for x, y in zip(curve.x, curve.y, strict=True) if 0 < x < 1]
    assert found == pytest.approx(np.interp(at, false, true), abs=1e-4)
    area = np.trapezoid(curve.y, curve.x)
    assert area == pytest.approx(roc_auc_score(labels, probability), abs=0.01)


def test_probabilities_that_come_true_lie_on_the_line(ward):
    (dots,) = named(class_pictures(*ward))["came_true"].series
    assert sum(dots.patients) == 400
    assert min(dots.patients) >= 10
    within = [low <= x <= high for x, low, high in zip(dots.x, dots.low, dots.high, strict=True)]
    assert sum(within) >= len(within) - 1


def test_a_share_of_all_or_nobody_has_an_interval():
    probability = np.repeat([0.1, 0.9], 20)
    (dots,) = named(class_pictures(probability, (probability > 0.5).astype(int)))[
        "came_true"
    ].series
    assert dots.y == [0.0, 1.0]
    assert 0.1 < dots.high[0] < 0.2
    assert 0.8 < dots.low[1] < 0.9


def test_what_acting_is_worth_is_counted_by_hand(ward):
    probability, labels = ward
    model, everybody = named(class_pictures(probability, labels))["worth"].series
    for at in (3, 12, 25):
        odds = THRESHOLDS[at] / (1 - THRESHOLDS[at])
        treated = probability >= THRESHOLDS[at]
        right, wrong = (treated & (labels == 1)).sum(), (treated & (labels == 0)).sum()
        assert model.y[at] == pytest.approx((right - odds * wrong) / 400, abs=1e-4)
    first = THRESHOLDS[0] / (1 - THRESHOLDS[0])
    assert everybody.y[0] == pytest.approx(labels.mean() - first * (1 - labels.mean()), abs=1e-4)


@pytest.mark.parametrize("label", [0, 1])
def test_of_one_class_nothing_is_drawn(label):
    assert class_pictures(np.full(30, 0.4), np.full(30, label)) == []


def test_of_few_patients_no_parts_are_drawn():
    found = class_pictures(np.linspace(0.1, 0.9, 6), np.arange(6) % 2)
    assert [one.name for one in found] == ["roc", "worth"]
