"""The records of a table, whatever it is stored as."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from securefair.data.arrow_tables import read_parquet
from securefair.data.cells import Row, Table
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
        torn: take a line of text with too few or too many fields as a row without any value.
        missing: codes of a missing value besides the usual ones: beside them, too, decimal commas
            are read.

    Raises:
        DataError: it cannot be read, or is no such table; names file and line.
    """
    if isinstance(path, str) and is_query(path):
        return read_query(path, missing)
    path = Path(path)
    return replace(_read(path, torn, missing), folder=path.parent)


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
