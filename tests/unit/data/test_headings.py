"""Headings that differ from agreed names by case or separators, and those that are guessed at."""

import pytest

from securefair.data.headings import are_alike, meant, under_agreed_names
from securefair.data.rows import parse_rows


def table(header):
    return parse_rows([f"{header}\n", ",".join("1" for _ in header.split(",")) + "\n"], "t.csv")


def test_another_case_is_taken_and_told():
    read = under_agreed_names(table("Age,blood pressure,sex"), ["age", "blood_pressure", "sex"])
    assert list(read.columns) == ["age", "blood_pressure", "sex"]
    assert [(one.column, one.kind, one.settled) for one in read.notes] == [
        ("age", "heading", False),
        ("blood_pressure", "heading", False),
    ]
    assert 'read from the column "Age"' in read.notes[0].message


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("Age,AGE", ["age"]),  # either may be meant
        ("Age,sex", ["age", "AGE"]),  # both may be meant by it
        ("age,Age", ["age"]),  # there already
        ("ages,sex", ["age"]),  # no such heading
    ],
)
def test_nothing_is_guessed(header, names):
    read = table(header)
    assert under_agreed_names(read, names) is read


def test_a_likely_heading_is_named():
    assert meant("glucose", ["age", "gluc"]) == "Did you mean gluc"
    assert meant("age", ["AGE", "Age", "sex"]) == "Did you mean AGE or Age"
    assert meant("age", ["sex", "ward"]) is None


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Âge", "AGE", True),
        ("Mode d'entrée", "Mode entrée", True),
        ("Mode d\N{RIGHT SINGLE QUOTATION MARK}entrée", "mode_entree", True),
        ("CRP (mg/L)", "CRP(mg/l)", True),
        ("Mode d'entrée", "Mode de sortie", False),
        ("%", "#", False),
    ],
)
def test_headings_that_differ_by_accents_and_apostrophes_are_alike(one, other, alike):
    assert are_alike(one, other) == alike


def test_an_accent_is_guessed_at_first():
    assert meant("Age", ["Äge", "Age2"]) == "Did you mean Äge"
