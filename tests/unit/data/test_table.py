import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.config import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import Row, TableSpec, Target, encode
from securefair.errors import ConfigError, DataError

SPEC = TableSpec(
    columns=(
        NumericColumn(name="age", low=20, high=100),
        BinaryColumn(name="sex", no="f", yes="m", optional=True),
        CategoricalColumn(name="pain", levels=("1", "2", "4"), optional=True),
        NumericColumn(name="chol", low=100, high=300, optional=True),
    ),
    target=Target(name="ill", groups=(("0",), ("1", "2"))),
)


def rows(*records):
    names = ("age", "sex", "pain", "chol", "ill", "ignored")
    return [
        Row("ward.csv", line, dict(zip(names, record.split(","), strict=True)))
        for line, record in enumerate(records, start=2)
    ]


def test_by_hand():
    samples = encode(rows("60,m,2,300,0,x", "20,f,4.0,150,1.0,", "100,,?,NA,02,"), SPEC)
    assert SPEC.features == (
        *("age", "sex", "sex?", "pain=1", "pain=2", "pain=4", "pain?", "chol", "chol?"),
    )
    assert samples.features.tolist() == [
        [0, 1, 0, 0, 1, 0, 0, 1, 0],
        [-1, -1, 0, 0, 0, 1, 0, -0.5, 0],
        [1, 0, 1, 0, 0, 0, 1, 0, 1],
    ]
    assert samples.labels.tolist() == [0, 1, 1]
    assert samples.classes == 2


def test_a_code_of_a_missing_measurement_is_a_number_however_it_is_written():
    coded = NumericColumn(name="age", low=20, high=100, optional=True, missing=("-999.0",))
    spec = TableSpec(columns=(coded,), target=SPEC.target)
    texts = ("-999", "-999.0", "-9.99e2", "-99")
    found = encode(rows(*(f"{text},m,1,100,0," for text in texts)), spec).features
    assert found.tolist() == [[0, 1], [0, 1], [0, 1], [-1, 0]]


def test_a_code_of_a_missing_level_is_a_text():
    wards = CategoricalColumn(name="pain", levels=("09", "10"), optional=True, missing=("9",))
    spec = TableSpec(columns=(wards,), target=SPEC.target)
    found = encode(rows("60,m,09,100,0,", "60,m,9,100,0,"), spec).features
    assert found.tolist() == [[1, 0, 0], [0, 0, 1]]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_measurement_is_clipped_into_the_range(value):
    scaled = encode(rows(f"{value!r},m,1,100,0,"), SPEC).features[0, 0]
    assert -1.0 <= scaled <= 1.0
    if 20 <= value <= 100:
        assert 60 + 40 * scaled == pytest.approx(value)


@given(st.permutations(range(4)))
def test_a_row_is_encoded_by_itself(order):
    records = ["60,m,2,300,0,", "20,f,4,150,1,", "100,,?,NA,2,", "33,m,1,,0,"]
    together = encode(rows(*(records[i] for i in order)), SPEC)
    alone = np.concatenate([encode(rows(records[i]), SPEC).features for i in order])
    assert (together.features == alone).all()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("old,m,1,100,0,", r"ward.csv, line 3, column age: not a number \(found 'old'"),
        ("inf,m,1,100,0,", "column age: not a number"),
        (",m,1,100,0,", "line 3, column age: a value is missing"),
        ("60,x,1,100,0,", r"line 3, column sex: unknown code \(found 'x', expected 'f, m'\)"),
        ("60,m,3,100,0,", "line 3, column pain: unknown code"),
        ("60,m,1,1oo,0,", "line 3, column chol: not a number"),
        ("60,m,1,100,3,", "line 3, column ill: not a known class"),
        ("60,m,1,100,,", "line 3, column ill: not a known class .* Leave the row out"),
    ],
)
def test_errors_name_file_row_and_column(record, message):
    with pytest.raises(DataError, match=message):
        encode(rows("60,m,1,100,0,", record), SPEC)


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(DataError, match=r"ward.csv: column 'chol' is not in the table .*age, sex"):
        encode([Row("ward.csv", 2, {"age": "1", "sex": "m", "pain": "1", "ill": "0"})], SPEC)


def test_no_rows():
    with pytest.raises(DataError, match="no rows"):
        encode([], SPEC)


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: NumericColumn(name="age", low=1, high=1), "age"),
        (lambda: NumericColumn(name="age", low=0, high=float("inf")), "age"),
        (lambda: BinaryColumn(name="sex", no="1", yes="1.0"), "sex"),
        (lambda: CategoricalColumn(name="pain", levels=()), "pain"),
        (lambda: CategoricalColumn(name="pain", levels=("3", "03")), "pain"),
        (lambda: Target(name="ill", groups=(("0",),)), "ill"),
        (lambda: Target(name="ill", groups=(("0",), ())), "ill"),
        (lambda: Target(name="ill", groups=(("0",), ("0",))), "ill"),
        (lambda: TableSpec(columns=(), target=SPEC.target), "columns"),
        (lambda: TableSpec(columns=SPEC.columns[:1] * 2, target=SPEC.target), "age"),
        (
            lambda: TableSpec(columns=(BinaryColumn(name="ill"),), target=SPEC.target),
            "ill",
        ),
    ],
)
def test_impossible_specifications_are_refused_by_name(build, named):
    with pytest.raises(ConfigError, match=named):
        build()
