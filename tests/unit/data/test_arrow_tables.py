"""Parquet cells are what the same table has as CSV."""

import datetime
from decimal import Decimal

import pytest

from securefair.data import read_rows
from securefair.data.arrow_tables import read_frame
from securefair.data.quality import site_findings
from securefair.data.shape import shapes_of
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


def test_two_columns_of_one_name_are_named(tmp_path):
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pyarrow.table([[1], [2], [0]], names=["age", "age", "ill"]), path)
    said = r"t\.parquet: columns share a name \(found 'age'\).*a name of its own"
    with pytest.raises(DataError, match=said):
        read_rows(path)


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


TEXTS = {
    "crp": ["<5", "12", "7,5", "", "<0,5", "8"],
    "chol": ["1,234", "5,678", "2,000", "1,100", "3,500", "4,100"],
    "ill": ["no", "yes", "no", "yes", "no", "yes"],
}


class TestFrames:
    """What stands in a frame is read as it would be from a file."""

    @pytest.fixture(params=["pandas", "polars", "arrow", "parquet", "excel", "csv"])
    def read(self, request, tmp_path):
        """The texts as a table, by one way of many."""
        match request.param:
            case "arrow":
                return read_frame(pyarrow.table(TEXTS), source="frame")
            case "parquet":
                write(tmp_path / "t.parquet", TEXTS)
                return read_rows(tmp_path / "t.parquet")
            case "excel":
                book = pytest.importorskip("openpyxl").Workbook()
                book.active.append(list(TEXTS))
                for row in zip(*TEXTS.values(), strict=True):
                    book.active.append(row)
                book.save(tmp_path / "t.xlsx")
                return read_rows(tmp_path / "t.xlsx")
            case "csv":
                rows = [";".join(row) for row in zip(*TEXTS.values(), strict=True)]
                (tmp_path / "t.csv").write_text("\n".join([";".join(TEXTS), *rows]) + "\n")
                return read_rows(tmp_path / "t.csv")
        frame = pytest.importorskip(request.param).DataFrame(TEXTS)
        return read_frame(frame, source="frame")

    def test_commas_and_limits_are_numbers_wherever_they_stand(self, read):
        assert [row.fields["crp"] for row in read] == ["<5", "12", "7.5", "", "<0.5", "8"]
        assert read[0].fields["chol"] == "1.234"  # decimal, as another column surely is
        noted = [(one.kind, one.column) for one in read.notes if one.kind != "separator"]
        assert noted == [("decimal comma", "crp"), ("decimal comma", "chol")]

    def test_their_findings_are_the_same(self, read):
        shapes = shapes_of(read, ("",))
        found = [
            (one.kind, one.column)
            for one in site_findings("north", read, shapes, label="ill")
            if one.kind != "separator"
        ]
        assert found == [
            ("decimal_comma", "crp"), ("decimal_comma", "chol"), ("censored", "crp"),
            ("few_of_a_class", "ill"),
        ]  # fmt: skip

    def test_numbers_and_texts_may_share_a_column_of_pandas(self):
        pandas = pytest.importorskip("pandas")
        mixed = pandas.DataFrame(
            {"crp": [12, "<5", 7.5, None, Decimal("1.5"), float("nan"), "8,5", True]}
        )
        found = read_frame(mixed, source="frame")
        assert [row.fields["crp"] for row in found] == [
            "12", "<5", "7.5", "", "1.5", "", "8,5", "1",
        ]  # fmt: skip

    def test_what_no_rule_reads_is_refused_by_column(self):
        pandas = pytest.importorskip("pandas")
        with pytest.raises(DataError, match=r"frame, column signal: .*found 'list'"):
            read_frame(pandas.DataFrame({"signal": [1, [2]]}), source="frame")
        twice = pandas.DataFrame([[1, 2]], columns=["age", "age"])
        with pytest.raises(DataError, match="columns share a name"):
            read_frame(twice, source="frame")
