"""Excel workbooks as text cells; needs openpyxl."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from securefair.data.arrow_tables import cell_text
from securefair.data.cells import BELOW_A_TITLE, Note, Table, check_header, heading_of
from securefair.data.decimal_commas import table_of_columns
from securefair.errors import DataError

SHOWN = 5
"""Ranges of merged cells that an error names."""


def read_excel(path: Path, missing: Collection[str] = ()) -> Table:
    """The first sheet of a workbook: names of columns in its first row that is not empty.

    A formula counts as the value that was stored with it. Empty rows at the end are none; `missing`
    as of `decimal_commas.table_of_columns`.

    Raises:
        DataError: openpyxl is not installed, it is no workbook, cells of the table are merged, or a
            cell is an error of Excel's; names the cells.
    """
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError as error:
        raise DataError(
            "Excel files need openpyxl",
            where=path.name,
            hint="pip install 'securefair[excel]', or export the table as CSV",
        ) from error
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except OSError as error:
        raise DataError("cannot read the table", where=str(path), found=error.strerror) from error
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise _no_workbook(path, error) from error
    sheet, others = book.worksheets[0], book.sheetnames[1:]
    rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    book.close()
    merged = _merged(path, sheet._worksheet_path)
    while rows and not any(cell is not None for cell in rows[-1]):
        rows.pop()
    above = next((at for at, row in enumerate(rows) if any(row)), 0)
    rows = rows[above:]
    header = [
        heading_of(_text(cell, path, above + 1, at))
        for at, cell in enumerate(rows[0] if rows else [])
    ]
    while header and not header[-1]:
        header.pop()
    source = f"{path.name}, sheet {sheet.title}" + f" (not read: {', '.join(others)})" * bool(
        others
    )
    source = source if others else path.name
    below = ([cell_text(cell) for cell in row] for row in rows[1 : 1 + BELOW_A_TITLE])
    check_header(header, where=f"{source}, row {above + 1}", below=below)
    width = len(header)
    _check_unmerged([one for one in merged if one.hides(above + 1, rows, width)], source)
    cells = [
        [_text(row[at] if at < len(row) else None, path, line, at) for at in range(len(header))]
        for line, row in enumerate(rows[1:], start=above + 2)
    ]
    columns = [pa.array([row[at] for row in cells], pa.string()) for at in range(len(header))]
    note = Note(
        None,
        None,
        "sheets",
        f"only the first sheet was read; there are also {', '.join(others)}",
        "Move the table to the first sheet, or export it as CSV",
    )
    return table_of_columns(
        header,
        columns,
        source=source,
        line_of=lambda at: at + above + 2,
        unit="row",
        notes=[note] if others else [],
        missing=missing,
    )


class _Merged(NamedTuple):
    """A range of merged cells, such as "D3:D5"; columns and rows from 1."""

    top: int
    left: int
    bottom: int
    right: int
    text: str

    def hides(self, heading: int, rows: Sequence[Sequence[object]], width: int) -> bool:
        """Whether values of a table are hidden, whose headings stand in this row, the first of
        `rows`, and are so many."""
        last = min(self.bottom, heading + len(rows) - 1), min(self.right, width)
        below = self.top >= heading and last[0] > heading  # headings beside each other are told
        if not below or last <= (self.top, self.left) or self.left > width:
            return False
        row = rows[self.top - heading]
        return self.left <= len(row) and row[self.left - 1] is not None


def _merged(path: Path, sheet: str) -> list[_Merged]:
    """The merged cells of a sheet from the top: a reader that streams leaves them out."""
    from openpyxl.utils.cell import range_boundaries

    with zipfile.ZipFile(path) as book:
        _, _, after = book.read(sheet).rpartition(b"sheetData>")
    found = []
    for text in re.findall(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z0-9:]+)"', after):
        left, top, right, bottom = range_boundaries(text.decode())
        found.append(_Merged(top, left, bottom, right, text.decode()))
    return sorted(found)


def _check_unmerged(hiding: Sequence[_Merged], source: str) -> None:
    """Refuse merged cells, of which all but the first would be missing values."""
    if not hiding:
        return
    more = f" and {len(hiding) - SHOWN} more" if len(hiding) > SHOWN else ""
    raise DataError(
        "cells are merged, and only the first of them holds the value",
        where=source,
        found=", ".join(one.text for one in hiding[:SHOWN]) + more,
        hint="Unmerge them, and write the value into every row that it is of; one row has headings",
    )


_OLD = bytes.fromhex("d0cf11e0a1b11ae1")
"""How files of Excel before 2007 begin, and workbooks under a password."""


def _no_workbook(path: Path, error: Exception) -> DataError:
    with path.open("rb") as file:
        old = file.read(len(_OLD)) == _OLD
    return DataError(
        "not an Excel workbook of today",
        where=str(path),
        found="an old one, or one under a password" if old else str(error),
        hint="Save it as .xlsx without a password, or as CSV" if old else None,
    )


def _text(value: object, path: Path, row: int, column: int) -> str:
    if isinstance(value, str) and value.startswith("#") and value.endswith(("!", "?", "/A")):
        raise DataError(
            "a cell holds an error of Excel's",
            where=f"{path.name}, row {row}, column {column + 1}",
            found=value,
        )
    return cell_text(value)
