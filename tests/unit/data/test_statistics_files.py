"""Files of SPSS, SAS and Stata: names of values, missing ones, damaged files, and no reader."""

import sys

import pandas as pd
import pytest

from securefair.data.rows import read_rows
from securefair.errors import DataError

NAMES = {"sex": {1: "male", 2: "female"}, "grade": {9: "not asked"}}


@pytest.fixture
def reader():
    return pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [61, 72, 55, 48],
            "sex": [1, 2, 2, 1],
            "grade": [1, 2, 9, 3],
            "crea": [0.8, None, 1.25, 17.5],
            "ill": ["yes", "no", "no", "yes"],
        }
    )


def texts(table, name):
    column = table.columns[name]
    return [column.texts[code] for code in column.codes]


@pytest.mark.parametrize(("ending", "write"), [(".sav", "write_sav"), (".dta", "write_dta")])
def test_values_are_read_by_their_names_where_all_have_one(tmp_path, reader, frame, ending, write):
    path = tmp_path / f"a{ending}"
    getattr(reader, write)(frame, str(path), variable_value_labels=NAMES)
    table = read_rows(path)
    assert texts(table, "sex") == ["male", "female", "female", "male"]
    assert [float(one) for one in texts(table, "age")] == [61, 72, 55, 48]
    assert [float(one) for one in texts(table, "grade")] == [1, 2, 9, 3]
    assert texts(table, "crea")[1] == ""
    assert texts(table, "ill") == ["yes", "no", "no", "yes"]
    (note,) = table.notes
    assert note.column == "grade"
    assert '9 "not asked"' in note.message
    assert "1 has none" in note.message


def test_what_the_file_calls_missing_is_missing(tmp_path, reader, frame):
    path = tmp_path / "a.sav"
    reader.write_sav(frame, str(path), missing_ranges={"crea": [17.5], "grade": [9]})
    table = read_rows(path)
    assert texts(table, "crea")[3] == ""
    assert texts(table, "grade")[2] == ""


def test_a_file_for_exchange_of_sas_is_read(tmp_path, reader, frame):
    path = tmp_path / "a.xpt"
    reader.write_xport(frame, str(path))
    assert [float(one) for one in texts(read_rows(path), "sex")] == [1, 2, 2, 1]


@pytest.mark.parametrize("name", ["a.sav", "a.dta", "a.sas7bdat", "a.xpt", "a.por"])
@pytest.mark.parametrize("data", [b"", b"age,sex\n1,2\n", b"$FL2@(#) SPSS" + bytes(300)])
def test_another_file_under_such_a_name_is_refused(tmp_path, reader, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"damaged one|no columns|is empty"):
        read_rows(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path, reader):
    with pytest.raises(DataError, match="No such file"):
        read_rows(tmp_path / "none.sav")


def test_without_the_reader_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(DataError, match="need pyreadstat") as found:
        read_rows(tmp_path / "a.dta")
    assert "securefair[statistics]" in found.value.hint
