"""What a model looks at is told in units of the columns."""

import math

import msgspec
import numpy as np
import pytest
from msgspec import structs

from securefair.config.columns import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import Samples
from securefair.data.table import TableSpec, Target
from securefair.errors import DataError
from securefair.model.outcomes import outcome_named
from securefair.model.transfer import LinearEstimates, Polynomial
from securefair.prediction import HospitalModel, ModelRecord, training_facts
from securefair.prediction.effects import (
    effects,
    estimates_csv,
    estimates_of,
    read_estimates,
)

SPEC = TableSpec(
    columns=(
        NumericColumn(name="age", low=20, high=90, optional=True),
        BinaryColumn(name="sex", no="f", yes="m"),
        CategoricalColumn(name="ward", levels=("A", "B", "C")),
    ),
    target=Target(name="ill", groups=(("0",), ("1",))),
)
WEIGHTS = {"age": 0.7, "sex": 0.5, "ward=A": 0.1, "ward=B": 0.4, "ward=C": -0.2}


def model(**changes):
    weights = np.array([[WEIGHTS.get(name, 9.0) for name in SPEC.features]])
    train = Samples(np.zeros((4, weights.shape[1])), np.array([0, 1, 0, 1]), 2)
    record = ModelRecord(
        hospital="north",
        run="r",
        algorithm="transfer",
        seed=0,
        classes=["0", "1"],
        table=SPEC,
        feature_range=None,
        **training_facts(train)._asdict(),
        patients=4,
    )
    return HospitalModel(structs.replace(record, **changes), Polynomial(np.zeros(1), weights))


def test_coefficients_are_those_of_a_unit_of_the_column():
    age, sex, *wards = effects(model())
    assert (age.column, age.step) == ("age", 5.0)
    assert age.growth == pytest.approx(0.7 * 2 * 5 / 70)
    assert (sex.code, sex.instead) == ("m", "f")
    assert sex.growth == pytest.approx(2 * 0.5)
    assert [(one.code, one.instead) for one in wards] == [("B", "A"), ("C", "A")]
    assert [one.growth for one in wards] == pytest.approx([0.3, -0.3])


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (1, 4, 1.0),  # an ASA score
        (0, 2, 1.0),
        (2, 7, 1.0),
        (0, 20, 2.0),
        (0, 1, 0.1),  # a share
        (7.0, 7.6, 0.05),
        (0.5, 3, 0.2),
    ],
)
def test_a_score_grows_by_whole_numbers(low, high, step):
    columns = (NumericColumn(name="x", low=low, high=high),)
    spec = TableSpec(columns=columns, target=SPEC.target)
    train = Samples(np.full((4, 1), 0.9), np.array([0, 1, 0, 1]), 2)
    facts = training_facts(train)._asdict()
    record = structs.replace(model().record, table=spec, **facts)
    (found,) = effects(HospitalModel(record, Polynomial(np.zeros(1), np.ones((1, 1)))))
    assert found.step == pytest.approx(step)
    assert found.growth == pytest.approx(2 * step / (high - low))


def test_samples_that_came_as_numbers_have_no_columns():
    assert effects(model(table=None)) == []


def test_what_is_said_of_more_classes_is_nothing():
    assert effects(model(classes=["0", "1", "2"])) == []


def test_calibration_counts():
    from securefair.prediction import Calibration

    halved = model(calibration=Calibration(method="temperature", temperature=2.0, patients=4))
    (sex,) = [one for one in effects(halved) if one.column == "sex"]
    assert math.isclose(sex.growth, 0.5)


def estimates(outcome="two_classes", half=1.0):
    rng = np.random.default_rng(0)
    slopes = np.array([[WEIGHTS.get(name, 9.0) for name in SPEC.features]])
    drawn = np.concatenate([slopes[None], slopes + rng.normal(0, 0.1, (200, *slopes.shape))])
    found = LinearEstimates(drawn, 2 * drawn, 1.0)
    usual = np.zeros(slopes.shape[1])
    return estimates_of(SPEC, usual, found, outcome_named(outcome), half)


def test_estimates_are_ratios_of_a_unit_of_the_column():
    age, together, sex, *rest = estimates()
    assert (age.column, age.step, age.effect, age.fit) == ("age", 5.0, "odds_ratio", "alone")
    assert age.value == pytest.approx(math.exp(0.7 * 2 * 5 / 70))
    assert together.value == pytest.approx(age.value**2)
    assert sex.value == pytest.approx(math.e)
    assert len(rest) == 5
    for one in (age, together, sex, *rest):
        assert one.low_95 < one.low_90 < one.value < one.high_90 < one.high_95


def test_a_difference_is_in_the_unit_of_the_number():
    age, *_ = estimates("number", half=50.0)
    assert age.effect == "difference"
    assert age.value == pytest.approx(50 * 0.7 * 2 * 5 / 70)
    assert estimates("several_classes") == []


def test_estimates_come_back_from_their_file(tmp_path):
    path = tmp_path / "estimates.csv"
    rows = estimates()
    path.write_text(estimates_csv({"north, east": rows}), encoding="utf-8")
    assert path.read_text().startswith("hospital,column,step,code,instead,effect,fit,value")
    for one, again in zip(rows, read_estimates(path), strict=True):
        assert again == one  # to the digit: a report that is made anew says the same
    assert read_estimates(tmp_path / "none.csv") == []
    path.write_text("hospital,column\nnorth,age\n", encoding="utf-8")
    with pytest.raises(DataError, match="no file of estimates"):
        read_estimates(path)


def test_a_column_that_begins_like_a_formula_is_a_text_and_comes_back(tmp_path):
    path = tmp_path / "estimates.csv"
    rows = [msgspec.structs.replace(one, column="=1+1") for one in estimates()]
    path.write_text(estimates_csv({"north": rows}), encoding="utf-8")
    assert ",'=1+1," in path.read_text()
    assert read_estimates(path) == rows
