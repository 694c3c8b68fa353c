"""Workbooks that would be read with values gone."""

import pytest

from securefair.data.rows import read_rows
from securefair.errors import DataError

ROWS = [["age", "sex", "ward"], [63, "f", "A"], [70, "m", None], [58, "f", None], [49, "m", "B"]]


def workbook(folder, *merged, rows=ROWS, above=0):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in [[]] * above + rows:
        book.active.append(row)
    for one in merged:
        book.active.merge_cells(one)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


@pytest.mark.parametrize(
    ("merged", "above"), [("C2:C4", 0), ("C4:C6", 2), ("A2:B2", 0), ("B1:B2", 0)]
)
def test_merged_cells_are_refused_with_their_ranges(tmp_path, merged, above):
    """All but the first of them would be missing values."""
    with pytest.raises(DataError, match=rf"cells are merged.*found '{merged}'.*Unmerge them"):
        read_rows(workbook(tmp_path, merged, above=above))


def test_of_many_ranges_the_first_are_named(tmp_path):
    rows = [["age", "ward"], *([at, "A"] for at in range(20))]
    merged = [f"B{at}:B{at + 1}" for at in range(16, 1, -2)]
    with pytest.raises(DataError, match=r"'B2:B3, B4:B5, B6:B7, B8:B9, B10:B11 and 3 more'"):
        read_rows(workbook(tmp_path, *merged, rows=rows))


@pytest.mark.parametrize("merged", ["E1:E4", "C3:C4", "A7:C7", "C2:D2", "A2:A2"])
def test_merged_cells_that_hide_nothing_are_none_of_the_table_s(tmp_path, merged):
    """Beside it, without a value, below it, over its right edge, and one cell alone."""
    assert len(read_rows(workbook(tmp_path, merged))) == 4


def test_a_title_in_a_merged_cell_is_one(tmp_path):
    path = workbook(tmp_path, "A1:C1", rows=[["Study XY"], *ROWS])
    with pytest.raises(DataError, match=r"found 'Study XY'.*Delete the lines above the headings"):
        read_rows(path)
