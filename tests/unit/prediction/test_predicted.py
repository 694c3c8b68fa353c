"""Warnings about new patients."""

import numpy as np
import pytest

from securefair.data.encoding import Filled
from securefair.errors import DataError
from securefair.prediction.predicted import Prediction, crowded, never_lacked


def test_values_in_a_smaller_unit_crowd_at_one_end():
    rng = np.random.default_rng(0)
    train = rng.exponential(1, 200)
    facts = float(train.min()), float(train.mean()), float(train.max())
    new = rng.exponential(1, 40)
    (said,) = crowded("crp", new / 10, *facts)
    assert said.startswith("column crp: all 40 patients lie below ")
    assert said.endswith("of the range that training patients had; is the unit the same?")
    assert "above" in crowded("crp", np.full(12, facts[2]), *facts)[0]
    assert crowded("crp", new[:4] / 10, *facts) == []  # too few to tell
    assert crowded("crp", new, 1.0, 1.0, 1.0) == []


def test_patients_like_those_of_training_are_seldom_warned_of():
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        train, new = rng.lognormal(0, 1, 60), rng.lognormal(0, 1, 20)
        wrong += bool(
            crowded("x", new, float(train.min()), float(train.mean()), float(train.max()))
        )
    assert wrong <= 20


def test_what_no_training_patient_lacked_is_told_by_how_many_lack_it():
    """A column that half of the patients lack was said to lie out of the range of training."""
    lacking = [
        Filled("slope", "", (), np.arange(190), (), as_missing=True),
        Filled("thal", "", (), np.arange(9), (), as_missing=True),  # as some in training
        Filled("ca", "", ("x",), np.arange(3), (), as_missing=True),  # which has its own warning
    ]
    columns = ["slope", "slope", "thal", "thal", "ca", "ca"]
    assert never_lacked(lacking, 294, columns, [0.5, 0.0, 0.5, 1.0, 0.5, 0.0]) == [
        "column slope: no value of 190 of 294 patients; every training patient had one"
    ]


def test_any_number_of_ordinary_patients_is_taken():
    """Their least value lies just above that of training, or their largest just below."""
    rng = np.random.default_rng(2)
    train = rng.normal(60, 10, 200)
    low, high = float(train.min()), float(train.max())
    for count in (300, 30_000):
        new = np.clip(rng.normal(60, 10, count), low, high)
        for values in (np.maximum(new, low + 1e-6), np.minimum(new, high - 1e-6)):
            assert crowded("age", values, low, float(train.mean()), high) == []


def test_numbers_of_whom_nothing_is_known_are_blank_and_classes_refused():
    rates = np.arange(9)
    found = Prediction(
        classes=(),
        probabilities=np.zeros((9, 0)),
        outside=((),) * 9,
        filled=((),) * 9,
        missing=((),) * 9,
        unknown=frozenset(range(1, 8)),
    )
    blanked = found.blanked(rates)
    assert np.isnan(blanked).tolist() == [False, *[True] * 7, False]
    assert rates.tolist() == list(range(9))
    with pytest.raises(DataError, match=r"rows 1, 2, 3, 4, 5 and 2 others"):
        found.refuse_unknown()
