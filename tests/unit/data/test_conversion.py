"""`make_samples` of a table: no column is left out without a word."""

import numpy as np
import pytest

from securefair.data import make_samples
from securefair.errors import DataError


def test_a_column_that_is_no_feature_is_logged(tmp_path, caplog):
    rows = ["age,ward,ill"] + [f"{40 + at % 17},north,{at % 2}" for at in range(30)]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    samples = make_samples(path, label="ill")
    assert samples.features.shape == (30, 1)
    (record,) = caplog.records
    assert "column ward is no feature" in record.getMessage()
    assert "north" not in record.getMessage()


def test_arrays_take_no_label():
    with pytest.raises(DataError, match="label: arrays have no column to predict"):
        make_samples((np.zeros((3, 2)), np.array([0, 1, 0])), label="ill")


def test_classes_that_were_agreed_keep_their_numbers(caplog):
    """Labels 1 and 2 of three classes became 0 and 1, so that all of a hospital's were shifted."""
    features = np.zeros((4, 2))
    own = make_samples((features, np.array([1, 2, 2, 1])), classes=3)
    assert (own.labels.tolist(), own.classes) == ([1, 2, 2, 1], 3)
    assert not caplog.records
    found = make_samples((features, np.array([1, 2, 2, 1])))
    assert (found.labels.tolist(), found.classes) == ([0, 1, 1, 0], 2)
    assert "labels 1, 2 became classes 0 to 1" in caplog.text
    with pytest.raises(DataError, match="a label is no class"):
        make_samples((features, np.array([1, 2, 3, 1])), classes=3)


def test_a_table_says_its_classes_itself(tmp_path):
    with pytest.raises(DataError, match="classes: a table says its classes itself"):
        make_samples(tmp_path / "own.csv", label="ill", classes=2)
