import dataclasses

import msgspec
import pytest

from securefair.data import Row
from securefair.data.table import Binary, Categorical, Numeric, Target
from securefair.deployment.schema import differences, joined, propose
from securefair.errors import ConfigError, DataError


def rows(count=40, rare="asymptomatic"):
    return [
        Row(
            source="own.csv",
            line=at + 2,
            fields={
                "age": str(34 + at),
                "sex": str(at % 2),
                "pain": rare if at == 7 else ("typical", "atypical", "none")[at % 3],
                "num": str(at % 2),
            },
        )
        for at in range(count)
    ]


def test_a_level_of_few_patients_is_not_named():
    proposal = propose(rows(), label="num", at_least=5)
    pain = next(one for one in proposal.spec.columns if one.name == "pain")
    assert isinstance(pain, Categorical)
    assert "asymptomatic" not in pain.levels
    assert proposal.rare == {"pain": 1}
    everything = propose(rows(), label="num", at_least=1)
    assert "asymptomatic" in next(o for o in everything.spec.columns if o.name == "pain").levels


def test_names_of_patients_are_left_out_with_the_reason():
    table = [
        dataclasses.replace(row, fields=row.fields | {"patient": f"p{at}"})
        for at, row in enumerate(rows())
    ]
    proposal = propose(table, label="num", at_least=5)
    assert proposal.unused["patient"] == "no value is shared by 5 patients"
    assert "patient" not in proposal.rare


def test_a_range_is_rounded_outwards():
    table = [
        dataclasses.replace(row, fields=row.fields | {"age": f"{34.5 + at % 30}"})
        for at, row in enumerate(rows())
    ]
    age = next(o for o in propose(table, label="num").spec.columns if o.name == "age")
    assert (age.low, age.high) == (30.0, 70.0)


def test_a_class_of_few_patients_is_not_named():
    table = rows()
    table[0] = dataclasses.replace(table[0], fields=table[0].fields | {"num": "4"})
    with pytest.raises(DataError, match="too few patients"):
        propose(table, label="num")


def test_equal_proposals_do_not_differ():
    spec = propose(rows(), label="num").spec
    assert differences({"north": spec, "south": spec}) == []


def test_every_difference_is_listed_with_a_remedy():
    spec = propose(rows(), label="num").spec
    other = msgspec.structs.replace(
        spec,
        columns=(
            Binary(name="sex", no="0", yes="2"),
            Numeric(name="pain", low=0, high=3),
            Numeric(name="weight", low=0, high=200),
        ),
        target=Target(name="num", groups=(("0",), ("1", "2"))),
    )
    found = differences({"north": spec, "south": other})
    assert {one.column for one in found} >= {"num", "sex", "pain", "weight"}
    assert all(one.remedy for one in found)
    text = "\n".join(map(str, found))
    assert "no feature at north" in text
    assert "categorical at north" in text
    assert "0 or 1 at north; 0 or 2 at south" in text


def aged():
    """As `rows`, with ages that are no running number."""
    return [
        dataclasses.replace(row, fields=row.fields | {"age": f"{34.5 + at % 30}"})
        for at, row in enumerate(rows())
    ]


def test_a_column_that_may_be_missing_at_some_sites_only_is_a_difference():
    spec = propose(aged(), label="num").spec
    columns = tuple(
        msgspec.structs.replace(one, optional=one.name != "sex") for one in spec.columns
    )
    always = tuple(msgspec.structs.replace(one, optional=False) for one in spec.columns)
    found = differences(
        {
            "north": msgspec.structs.replace(spec, columns=always),
            "south": msgspec.structs.replace(spec, columns=columns),
        }
    )
    assert {one.column for one in found} == {"age", "pain"}
    assert all("never is at north" in str(one) for one in found)


def test_joined_rules_take_every_value_of_every_site():
    spec = propose(aged(), label="num").spec
    columns = (
        Numeric(name="age", low=10, high=60, optional=True),
        Binary(name="sex", no="0", yes="1"),
        Categorical(name="pain", levels=("none", "atypical", "angina")),
        Numeric(name="weight", low=0, high=200),
    )
    other = msgspec.structs.replace(spec, columns=columns, missing=("?", "-9"))
    both, left_out = joined({"north": spec, "south": other})
    age, sex, pain = both.columns
    assert isinstance(age, Numeric)
    assert isinstance(pain, Categorical)
    north = spec.columns[0]
    assert isinstance(north, Numeric)
    assert (age.low, age.high, age.optional) == (10, max(60, north.high), True)
    assert not sex.optional
    assert set(pain.levels) == {"typical", "atypical", "none", "angina"}
    assert {"?", "-9"} <= set(both.missing)
    assert left_out == {"weight": "no feature at north"}
    assert {one.column for one in differences({"north": both, "south": both})} == set()


def test_columns_of_other_kinds_are_left_out():
    spec = propose(aged(), label="num").spec
    columns = (
        Binary(name="sex", no="0", yes="2"),
        Numeric(name="pain", low=0, high=3),
        *(one for one in spec.columns if one.name == "age"),
    )
    both, left_out = joined({"a": spec, "b": msgspec.structs.replace(spec, columns=columns)})
    assert [one.name for one in both.columns] == ["age"]
    assert left_out == {"sex": "other kinds", "pain": "other kinds"}


def test_sites_that_predict_different_classes_have_no_joined_rules():
    spec = propose(aged(), label="num").spec
    target = Target(name="num", groups=(("0",), ("1", "2")))
    other = msgspec.structs.replace(spec, target=target)
    with pytest.raises(ConfigError, match="different classes"):
        joined({"north": spec, "south": other})


def test_sites_without_a_common_column_have_no_joined_rules():
    spec = propose(aged(), label="num").spec
    other = msgspec.structs.replace(spec, columns=(Numeric(name="weight", low=0, high=200),))
    with pytest.raises(ConfigError, match="no column is a feature at every site"):
        joined({"north": spec, "south": other})
