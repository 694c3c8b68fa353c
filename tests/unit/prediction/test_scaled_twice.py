"""A model of a `feature_range` takes raw values; scaled ones give no opposite in silence."""

import logging

import numpy as np
import pytest
from msgspec import structs

from securefair.data import Samples
from securefair.errors import DataError
from securefair.model.transfer import Polynomial
from securefair.prediction import HospitalModel, ModelRecord, training_facts

RNG = np.random.default_rng(0)
RAW = RNG.uniform(5, 35, (60, 3))
SCALED = 2 * RAW / 40 - 1


@pytest.fixture
def model():
    train = Samples(SCALED, np.arange(60) % 2, 2)
    record = ModelRecord(
        hospital="north",
        run="r",
        algorithm="transfer",
        seed=0,
        classes=["1", "2"],
        table=None,
        feature_range=(0.0, 40.0),
        **training_facts(train)._asdict(),
        patients=60,
    )
    return HospitalModel(record, Polynomial(np.zeros(1), np.array([[6.0, 0.0, 0.0]])))


def test_raw_rows_are_taken_one_by_one_and_together(model, caplog):
    each = [model.predict_proba(row[None]) for row in RAW]
    np.testing.assert_allclose(np.concatenate(each), model.predict_proba(RAW))
    assert not caplog.records


def test_a_scaled_row_is_refused(model):
    """One patient at a time, as a product asks, the opposite class was answered."""
    rows = SCALED[(SCALED < 0).any(axis=1)]
    assert len(rows) > 40
    for row in rows:
        with pytest.raises(DataError, match="scaled already"):
            model.predict_proba(row[None])


def test_a_scaled_row_within_the_range_is_told(model, caplog):
    with caplog.at_level(logging.WARNING):
        model.predict_proba(np.array([[0.4, 0.6, 0.5]]))
    assert "takes raw values" in caplog.text


def test_a_range_around_zero_is_told_nothing(model, caplog):
    """Standardised values: small ones are usual."""
    raw = RNG.normal(0, 1, (60, 3)).clip(-3, 3)
    facts = training_facts(Samples(raw / 3, np.arange(60) % 2, 2))
    record = structs.replace(model.record, feature_range=(-3.0, 3.0), **facts._asdict())
    around = HospitalModel(record, model.function)
    for row in raw:
        around.predict_proba(row[None])
    assert not caplog.records
