import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.worth.reliability import BINS, reliability


def of(labels, classes=2):
    return Samples(np.empty((len(labels), 0)), labels, classes)


@given(st.integers(1, 120), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_every_patient_is_in_one_part_and_the_means_are_theirs(patients, classes, seed):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(classes), patients).round(2)
    probabilities[:, -1] = np.maximum(0, 1 - probabilities[:, :-1].sum(axis=1))
    labels = rng.integers(0, classes, patients)
    found = reliability(probabilities, of(labels, classes))
    assert 1 <= len(found) <= BINS
    assert sum(one.patients for one in found) == patients
    said = [one.predicted for one in found]
    assert said == sorted(said)
    share = sum(one.observed * one.patients for one in found) / patients
    if classes == 2:
        assert share == pytest.approx((labels == 1).mean())
    else:
        assert share == pytest.approx((probabilities.argmax(axis=1) == labels).mean())


def test_honest_probabilities_come_true():
    rng = np.random.default_rng(0)
    said = rng.random(20_000)
    labels = (rng.random(20_000) < said).astype(np.int64)
    for one in reliability(np.column_stack([1 - said, said]), of(labels)):
        assert one.observed == pytest.approx(one.predicted, abs=0.03)
    sure = np.column_stack([said < 0.5, said >= 0.5]).astype(float)
    low, high = reliability(sure, of(labels))  # equal probabilities stay together
    assert (low.predicted, high.predicted) == (0, 1)
    assert high.observed == pytest.approx(0.75, abs=0.02)


def test_no_patients_are_refused():
    with pytest.raises(DataError):
        reliability(np.zeros((0, 2)), of(np.zeros(0, dtype=np.int64)))
