"""Excel workbooks as text cells; needs openpyxl."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa

from securefair.data.arrow_tables import cell_text
from securefair.data.cells import Note, Table, check_header
from securefair.data.decimal_commas import table_of_columns
from securefair.errors import DataError


def read_excel(path: Path) -> Table:
    """The first sheet of a workbook: names of columns in its first row that is not empty.

    A formula counts as the value that was stored with it. Empty rows at the end are none.

    Raises:
        DataError: openpyxl is not installed, it is no workbook, or a cell is an error of Excel's;
            names the cell.
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
    while rows and not any(cell is not None for cell in rows[-1]):
        rows.pop()
    above = next((at for at, row in enumerate(rows) if any(row)), 0)
    rows = rows[above:]
    header = [_text(cell, path, above + 1, at) for at, cell in enumerate(rows[0])] if rows else []
    while header and not header[-1]:
        header.pop()
    source = f"{path.name}, sheet {sheet.title}" + f" (not read: {', '.join(others)})" * bool(
        others
    )
    source = source if others else path.name
    check_header(header, where=f"{source}, row {above + 1}")
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
