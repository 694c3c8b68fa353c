"""The records of a table, whatever it is stored as."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from securefair.data.arrow_tables import read_parquet
from securefair.data.cells import Note, Row, Table
from securefair.data.databases import is_query, read_query
from securefair.data.delimited import parse_delimited, read_delimited
from securefair.data.excel import read_excel
from securefair.data.statistics_files import READERS, read_statistics
from securefair.errors import DataError

__all__ = ["Row", "Table", "parse_rows", "read_rows"]

TEXT = (".csv", ".tsv", ".txt")
KINDS = ".csv, .tsv or .txt (also .gz), .parquet, .xlsx, .sav, .dta, .sas7bdat, .xpt"


def read_rows(path: Path | str, *, torn: bool = False, missing: Collection[str] = ()) -> Table:
    """The records of a table file, by the ending of its name, or of a query (`databases`).

    Text may be separated by commas, semicolons, tabs or bars, with decimal points or commas, in
    UTF-8, UTF-16 or Windows-1252; `Table.notes` says what was not as usual.

    Args:
        path: of the file, or a query.
        torn: take a line of text with too few or too many fields as a row without any value, and
            keep such rows, which are left out otherwise: each has its place among predictions.
        missing: codes of a missing value besides the usual ones: beside them, too, decimal commas
            are read.

    Raises:
        DataError: it cannot be read, or is no such table; names file and line.
    """
    if isinstance(path, str) and is_query(path):
        return read_query(path, missing)
    path = Path(path)
    table = replace(_read(path, torn, missing), folder=path.parent)
    return table if torn else _without_empty(table)


def _without_empty(table: Table) -> Table:
    """The table without rows of nothing but separators, as Excel leaves them between others."""
    filled = np.zeros(len(table), dtype=bool)
    for column in table.columns.values():
        filled |= np.array([text != "" for text in column.texts], dtype=bool)[column.codes]
    if len(table.columns) == 1 or filled.all():
        return table
    gone = np.flatnonzero(~filled)
    message = f"{len(gone)} rows without any value were left out"
    note = Note(
        None,
        table.line_of(int(gone[0])),
        "empty rows",
        "a row without any value was left out" if len(gone) == 1 else message,
        "Nothing to do if no patient stands there",
        settled=True,
    )
    return replace(table.of_rows(np.flatnonzero(filled)), notes=(*table.notes, note))


def _read(path: Path, torn: bool, missing: Collection[str]) -> Table:
    ending = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    match ending.lower():
        case ".parquet":
            return read_parquet(path, missing)
        case ".xlsx":
            return read_excel(path, missing)
        case known if known in READERS:
            return read_statistics(path, missing)
        case known if known in TEXT:
            return read_delimited(path, torn=torn, missing=missing)
    if not path.exists():
        raise DataError("cannot read the table", where=str(path), found="it is not there")
    raise DataError(
        "unknown kind of file",
        where=str(path),
        expected=KINDS,
        hint="Export the table as one of these",
    )


def parse_rows(lines: Iterable[str], source: str) -> Table:
    """As `read_rows`, from lines of text; `source` is the name that errors give."""
    return parse_delimited("".join(lines).encode(), source=source)
