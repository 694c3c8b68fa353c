"""A patient with several rows is one unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from securefair.errors import DataError
from securefair.privacy.patients import Patients, shortened
from securefair.privacy.randomness import SeededNoise


def test_names_group_rows() -> None:
    patients = Patients.named(["b", "a", "b", "c"])
    assert patients.count == 3
    assert patients.of_row[0] == patients.of_row[2] != patients.of_row[1]
    np.testing.assert_allclose(patients.weights(), [0.5, 1, 0.5, 1])


def test_numbers_and_text_that_read_alike_are_one_patient() -> None:
    assert Patients.named(["7", "07", "7"]).count == 2


@pytest.mark.parametrize("name", ["", "  "])
def test_a_row_of_nobody_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="row 1"):
        Patients.named(["a", name])


@given(owners=st.lists(st.integers(0, 5), min_size=1, max_size=40), most=st.integers(1, 4))
def test_limits_keep_every_patient_and_no_more_rows_than_allowed(
    owners: list[int], most: int
) -> None:
    patients = Patients.named([str(owner) for owner in owners])
    rows = patients.limited(most, SeededNoise(0))
    assert (np.diff(rows) > 0).all()
    before = np.bincount(patients.of_row)
    after = np.bincount(patients.of_row[rows], minlength=patients.count)
    np.testing.assert_array_equal(after, np.minimum(before, most))
    assert patients.take(rows).count == patients.count
    assert patients.take(rows).weights().sum() == pytest.approx(patients.count)


@given(arrays(np.float64, (5, 3), elements=st.floats(-1e6, 1e6)), st.floats(0.1, 10))
def test_rows_are_shortened_and_keep_their_direction(rows: np.ndarray, norm: float) -> None:
    short = shortened(rows, norm)
    assert (np.linalg.norm(short, axis=1) <= norm).all()
    inside = np.linalg.norm(rows, axis=1) < norm * (1 - 1e-9)
    np.testing.assert_array_equal(short[inside], rows[inside])
    np.testing.assert_allclose(
        short * np.linalg.norm(rows, axis=1, keepdims=True),
        rows * np.linalg.norm(short, axis=1, keepdims=True),
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_features_that_no_length_bounds_are_refused_by_name(wrong: float) -> None:
    features = np.zeros((4, 3))
    features[2, 1] = wrong
    with pytest.raises(DataError, match="row 2, feature 1"):
        shortened(features, 1.0)


def test_the_largest_floats_are_shortened_and_keep_their_direction() -> None:
    found = shortened(np.array([[1e300, -1e300], [0.0, 0.0], [3e-320, 0.0]]), 1.0)
    assert found[0] == pytest.approx([0.5**0.5, -(0.5**0.5)])
    assert (np.linalg.norm(found, axis=1) <= 1.0).all()
    np.testing.assert_array_equal(found[1:, 1], 0.0)
