"""What all tables show together, with what their rules say of columns."""

import numpy as np
import pytest

from securefair.config import ParticipantSection, TableSection
from securefair.config.defaults import MISSING
from securefair.data.rows import parse_rows
from securefair.errors import DataError
from securefair.user.inspection import inspect_tables, look_at
from securefair.user.tables import ReadTables


def followed(seed=0, n=60, **others):
    """Columns of patients with a time to an event."""
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(20, 80, n),
        "months": np.round(rng.uniform(1, 60, n), 1),
        "died": rng.permutation(n) % 2,
    } | others


def lines_of(columns):
    rows = zip(*columns.values(), strict=True)
    return [f"{','.join(map(str, row))}\n" for row in (columns, *rows)]


def seen(columns):
    """Findings of one table of times, by kind."""
    table = parse_rows(lines_of(columns), "t.csv")
    own, _ = look_at(
        {"north": table}, label="months", missing=MISSING, joined=False, known=("months", "died")
    )
    return {one.kind: one for one in own}


def test_an_ordinary_table_of_times_has_nothing_to_look_at():
    assert seen(followed()) == {}


def test_a_column_that_is_the_event_in_other_words():
    columns = followed()
    found = seen(columns | {"status": ["dead" if came else "alive" for came in columns["died"]]})
    assert list(found) == ["leakage"]
    assert found["leakage"].column == "status"
    assert "tells 100% of the events" in found["leakage"].message


def test_an_exposure_is_no_event():
    half = np.arange(60) % 2
    table = followed(died=1 + half, years=[["one", "two"][at] for at in half])
    assert "leakage" not in seen(table)


@pytest.mark.parametrize("column", ["months", "died"])
def test_what_is_known_of_patients_and_the_same_for_all_is_to_be_looked_at(column):
    one = seen(followed(**{column: [1] * 60}))["constant_column"]
    assert one.severity == "warning"
    assert "see that it is so for all of them" in one.remedy


@pytest.mark.parametrize(("patients", "kinds"), [(None, ["several_rows"]), ("id", [])])
def test_rows_of_one_patient_are_told_unless_the_patients_are_named(tmp_path, patients, kinds):
    columns = {"id": np.arange(60) // 3} | followed()
    (tmp_path / "t.csv").write_text("".join(lines_of(columns)))
    section = TableSection(
        label="months",
        outcome="time",
        event="died",
        patient_column=patients,
        columns=[
            {"kind": "numeric", "name": "age", "low": 0, "high": 100},
            {"kind": "ignored", "name": "id"},
        ],
    )
    one = ParticipantSection(name="north", file=tmp_path / "t.csv")
    found = inspect_tables(section, [one], ReadTables())
    assert [each.kind for each in found] == kinds


def test_a_slip_in_the_name_of_a_number_is_told_with_what_may_be_meant(tmp_path):
    (tmp_path / "t.csv").write_text("age,dur\N{LATIN SMALL LETTER E WITH ACUTE}e\n50,3\n60,5\n")
    one = ParticipantSection(name="north", file=tmp_path / "t.csv")
    section = TableSection(label="duree", outcome="number")
    with pytest.raises(DataError, match="the label is not a column") as refused:
        inspect_tables(section, [one], ReadTables())
    assert "Did you mean dur\N{LATIN SMALL LETTER E WITH ACUTE}e" in str(refused.value)
