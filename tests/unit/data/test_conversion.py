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
