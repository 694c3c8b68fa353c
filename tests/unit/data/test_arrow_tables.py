"""Parquet cells are what the same table has as CSV."""

import datetime
from decimal import Decimal

import pytest

from securefair.data import read_rows
from securefair.errors import DataError

pyarrow = pytest.importorskip("pyarrow")


def write(path, columns):
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.table(columns), path)


def test_cells_are_text_and_nothing_is_missing(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {
        "age": [61, None],
        "bp": [120.5, float("nan")],
        "sex": [" f ", "m"],
        "smokes": [True, False],
        "day": [datetime.date(2020, 1, 2), None],
        "dose": [Decimal("1.50"), None],
    }
    write(path, columns)
    first, second = read_rows(path)
    assert list(first.fields.values()) == ["61", "120.5", "f", "1", "2020-01-02", "1.50"]
    assert list(second.fields.values()) == ["", "", "m", "0", "", ""]
    assert second.place("bp") == "t.parquet, row 2, column bp"


def test_other_cells_are_refused_by_column(tmp_path):
    write(tmp_path / "t.parquet", {"signal": [[1, 2]]})
    with pytest.raises(DataError, match=r"t.parquet, column signal: .*found 'list<"):
        read_rows(tmp_path / "t.parquet")


@pytest.mark.parametrize(("content", "problem"), [(None, "cannot read"), (b"PAR", "not a Parquet")])
def test_a_file_that_is_none(tmp_path, content, problem):
    path = tmp_path / "t.parquet"
    if content:
        path.write_bytes(content)
    with pytest.raises(DataError, match=problem) as caught:
        read_rows(path)
    assert str(path) in str(caught.value)
