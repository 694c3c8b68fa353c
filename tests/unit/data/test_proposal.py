"""What a participant says of its table: enough for common rules, and nothing of single patients."""

import dataclasses
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.config.writing import plain_toml
from securefair.data import Proposal, Row, propose
from securefair.data.proposal import ColumnProposal, rounded_outwards
from securefair.data.rows import parse_rows
from securefair.errors import ConfigError, DataError


def rows(count=40, rare="asymptomatic"):
    return [
        Row(
            source="own.csv",
            line=at + 2,
            fields={
                "age": f"{34.5 + at % 30}",
                "sex": str(at % 2),
                "pain": rare if at == 7 else ("typical", "atypical", "none")[at % 3],
                "num": str(at % 2),
            },
        )
        for at in range(count)
    ]


def with_column(name, values):
    return [
        dataclasses.replace(row, fields=row.fields | {name: value})
        for row, value in zip(rows(), values, strict=True)
    ]


def column(table, name, **settings):
    found = propose(table, label="num", **settings)
    return next(one for one in found.columns if one.name == name)


def test_a_level_of_few_patients_is_not_named():
    pain = column(rows(), "pain")
    assert (pain.levels, pain.rare) == (("atypical", "none", "typical"), 1)
    assert "asymptomatic" in column(rows(), "pain", at_least=1).levels


def test_a_proposal_has_no_entry_that_the_threat_model_does_not_list():
    text = (Path(__file__).parents[3] / "docs" / "threat-model.md").read_text(encoding="utf-8")
    section = text.split("## What a proposal of rules tells")[1].split("\n## ")[0]
    entries = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    listed = {word for entry in entries for word in re.findall(r"`(\w+)`", entry)}
    fields = [*msgspec.structs.fields(Proposal), *msgspec.structs.fields(ColumnProposal)]
    assert {field.name for field in fields} == listed


def test_a_proposal_does_not_depend_on_how_many_patients_share_what():
    """Rows that are repeated, or left out without a loss of a level or of an end of a range."""
    table = with_column("age", [f"{34 + at % 20}" for at in range(40)])
    plain = propose(table, label="num")
    assert propose(table * 3, label="num", at_least=15) == plain
    assert propose(table[:20] + table[-18:], label="num") == plain


def test_a_range_is_rounded_outwards_and_names_no_number():
    age = column(rows(), "age")
    assert (age.low, age.high, age.levels) == (30.0, 70.0, ())


def test_of_two_numbers_a_rare_one_is_not_told():
    values = ["250" if at == 3 else "0" for at in range(40)]
    x = column(with_column("x", values), "x")
    assert (x.low, x.high, x.levels, x.rare) == (0.0, 0.0, ("0",), 1)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patient_id", [str(at // 10) for at in range(40)]),
        ("seen", [f"2024-01-{1 + at // 10:02}" for at in range(40)]),
        ("who", ["Smith, Ann", "Jones, Bea"] * 20),
    ],
)
def test_values_that_name_persons_or_days_are_not_told(name, values):
    found = column(with_column(name, values), name)
    assert found.unused.startswith("looks like")
    assert (found.levels, found.low, found.rare) == ((), None, 0)


def test_texts_that_hardly_repeat_are_not_told():
    notes = column(with_column("note", [f"text {at}" for at in range(40)]), "note")
    assert (notes.levels, notes.rare) == ((), 40)
    every = column(with_column("note", [f"text {at}" for at in range(40)]), "note", at_least=1)
    assert len(every.levels) == 21


def test_a_proposal_survives_its_file():
    found = propose(with_column("note", ['a"b', "c\\d"] * 20), label="num")
    text = plain_toml(msgspec.to_builtins(found))
    assert msgspec.toml.decode(text, type=Proposal) == found


def test_a_class_of_few_patients_is_not_named():
    table = with_column("num", ["4", *("01"[at % 2] for at in range(39))])
    with pytest.raises(DataError, match="too few patients"):
        propose(table, label="num")
    found = propose(table, label="num", classes=[["0"], ["1", "2", "3", "4"]])
    assert found.classes == (("0",), ("1", "2", "3", "4"))


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"label": "nm"}, DataError, "own.csv.*not a column"),
        ({"label": "time"}, DataError, "a number or a time"),
        ({"at_least": 0}, ConfigError, "at_least"),
    ],
)
def test_what_cannot_be_proposed(changes, error, words):
    table = with_column("time", [str(at) for at in range(40)])
    with pytest.raises(error, match=words):
        propose(table, **({"label": "num"} | changes))


@pytest.mark.parametrize(
    "text",
    [
        'label = "y"\n[[columns]]\nname = "x"\n',
        'label = "x"\n[[columns]]\nname = "x"\n[[columns]]\nname = "x"\n',
        'label = "x"\n[[columns]]\nname = "x"\nlow = 1.0\n',
        'label = "x"\n[[columns]]\nname = "x"\nlow = 2.0\nhigh = 1.0\n',
        'label = "x"\n[[columns]]\nname = "x"\nlow = nan\nhigh = 1.0\n',
    ],
)
def test_proposals_that_say_nonsense_are_refused(text):
    with pytest.raises(ConfigError):
        msgspec.toml.decode(text, type=Proposal)


@given(st.floats(-1e300, 1e300), st.floats(0, 1e300))
def test_a_rounded_range_covers_the_range(low, span):
    below, above = rounded_outwards(low, low + span)
    assert below <= low
    assert above >= low + span


def test_codes_that_belong_to_no_agreed_class_are_refused():
    table = parse_rows(
        ["age,ill\n", *(f"{n},{'yes' if n % 2 else 'no'}\n" for n in range(20))], "t"
    )
    with pytest.raises(DataError, match="codes of the label belong to no class") as refused:
        propose(table, label="ill", classes=[["no"], ["maybe"]])
    assert "found 'yes'" in str(refused.value)


def visits(diagnoses, ill, case="P999"):
    """The table of `rows` with a number of the patient, and one more who came so many times."""
    found = with_column("case", [f"P{at:03}" for at in range(40)])
    last = found[-1].fields
    return [
        *found,
        *(
            dataclasses.replace(
                found[-1],
                line=42 + at,
                fields=last | {"case": case, "pain": pain, "num": num, "age": "130"},
            )
            for at, (pain, num) in enumerate(zip(diagnoses, ill, strict=True))
        ),
    ]


def test_a_level_of_one_patient_with_five_visits_is_not_named():
    table = visits(["Huntington"] * 5, "00000")
    assert "Huntington" in column(table, "pain").levels  # as rows they are five
    pain = column(table, "pain", patient_column="case")
    assert (pain.levels, pain.rare) == (("atypical", "none", "typical"), 2)
    case = column(table, "case", patient_column="case")
    assert (case.unused, case.present) == ("names the patients", False)


def test_spellings_of_one_number_are_one_level_of_a_patient():
    table = visits(["7", "7.0", "07", "7", "7.00"], "00000")
    pain = column(table, "pain", patient_column="case")
    assert (len(pain.levels), pain.rare) == (3, 2)


def test_five_patients_still_name_a_level():
    extra = [row for at in range(5) for row in visits(["Huntington"], "0", case=f"Q{at}")[40:]]
    pain = column([*visits([], ""), *extra], "pain", patient_column="case")
    assert "Huntington" in pain.levels


def test_values_far_out_set_no_range_because_their_patient_came_often():
    """Five of 45 rows are too many for outliers, one of 41 patients is not."""
    table = visits(["none"] * 5, "00000")
    for at, row in enumerate(table[40:]):
        table[40 + at] = dataclasses.replace(row, fields=row.fields | {"age": "5000"})
    assert column(table, "age").high == 5000
    assert column(table, "age", patient_column="case").high < 100


@pytest.mark.parametrize("classes", [(), (("0",), ("1",), ("2", "3"))])
def test_a_class_of_one_patient_with_five_visits_is_too_few_to_be_named(classes):
    """Codes of one class are one class of this patient, too."""
    table = visits(["none"] * 5, "23232")
    with pytest.raises(DataError, match="too few patients"):
        propose(table, label="num", classes=classes, patient_column="case")


def test_rows_that_name_nobody_count_as_one_patient():
    pain = column(visits(["Huntington"] * 5, "00000", case=""), "pain", patient_column="case")
    assert "Huntington" not in pain.levels


def test_a_patient_column_that_is_not_there_is_refused():
    with pytest.raises(DataError, match="not in the table"):
        propose(rows(), label="num", patient_column="who")


def test_a_proposal_carries_who_the_patients_are_and_older_ones_are_read():
    told = propose(visits(["none"] * 5, "00000"), label="num", patient_column="case")
    assert told.patient_column == "case"
    table = msgspec.to_builtins(told)
    assert msgspec.convert(table, Proposal) == told
    del table["patient_column"]
    assert msgspec.convert(table, Proposal).patient_column == ""
    for wrong in ("num", "who"):
        with pytest.raises(ConfigError, match="beside the label"):
            msgspec.convert(table | {"patient_column": wrong}, Proposal)
