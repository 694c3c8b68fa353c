"""Parquet tables as text cells, so that one set of rules reads every kind of file."""

from __future__ import annotations

import datetime
import decimal
import math
from pathlib import Path

from securefair.errors import DataError


def read_parquet_cells(path: Path) -> tuple[list[str], list[list[str]]]:
    """Column names, and for each column its cells as text; a null or NaN is empty text.

    Raises:
        DataError: pyarrow is not installed, the file cannot be read, or a cell is of a type that
            no rule of a table reads.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table
    except ImportError as error:
        raise DataError(
            "Parquet files need pyarrow",
            where=path.name,
            hint="pip install pyarrow, or export the table as CSV",
        ) from error
    try:
        table = read_table(path)
    except OSError as error:
        raise DataError(
            "cannot read the table", where=str(path), found=error.strerror or str(error)
        ) from error
    except ArrowException as error:
        raise DataError("not a Parquet file", where=str(path), found=str(error)) from error
    names = [str(name) for name in table.column_names]
    return names, [
        [_text(value, path, name) for value in table.column(at).to_pylist()]
        for at, name in enumerate(names)
    ]


def _text(value: object, path: Path, column: str) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(int(value))
        case float():
            return "" if math.isnan(value) else repr(value)
        case int() | decimal.Decimal():
            return str(value)
        case str():
            return value.strip()
        case datetime.date() | datetime.time():
            return value.isoformat()
    raise DataError(
        "a column holds neither numbers nor text",
        where=f"{path.name}, column {column}",
        found=type(value).__name__,
        hint="Leave the column out of the file",
    )
