"""Typed tables as text cells, so that one set of rules reads every kind of source.

Parquet files, data frames and results of queries all come as Arrow tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from pyarrow import types

from securefair.data.cells import Table, column_of
from securefair.data.delimited import check_header
from securefair.errors import DataError


def read_parquet(path: Path) -> Table:
    """A Parquet file.

    Raises:
        DataError: it cannot be read, or a column holds something else than numbers, text, dates and
            truth values; names file and column.
    """
    try:
        table = pyarrow.parquet.read_table(path)
    except OSError as error:
        raise DataError(
            "cannot read the table", where=str(path), found=error.strerror or str(error)
        ) from error
    except pa.ArrowException as error:
        raise DataError("not a Parquet file", where=str(path), found=str(error)) from error
    return from_arrow(table, source=path.name)


def read_frame(frame: Any, *, source: str) -> Table:
    """A data frame of pandas or polars, or an Arrow table.

    Raises:
        DataError: it is none, or a column holds something that no rule of a table reads.
    """
    try:
        if isinstance(frame, pa.Table):
            table = frame
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pa.table(frame)
        elif hasattr(frame, "to_arrow"):
            table = frame.to_arrow()
        else:
            table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, AttributeError) as error:
        raise DataError(
            "this is no data frame",
            where=source,
            found=f"{type(frame).__name__}: {error}",
            expected="a DataFrame of pandas or polars, or an Arrow table",
        ) from error
    return from_arrow(table, source=source)


def is_frame(data: object) -> bool:
    """Whether something is a table with named columns."""
    return hasattr(data, "columns") and (
        hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_arrow") or hasattr(data, "iloc")
    )


def from_arrow(table: Any, *, source: str) -> Table:
    """An Arrow table; a null or NaN is empty text.

    Raises:
        DataError: a column holds something that no rule of a table reads.
    """
    header = [str(name) for name in table.column_names]
    check_header(header, where=source)
    arrays = [_texts(column, source, name) for name, column in zip(header, table, strict=True)]
    return table_of_columns(header, arrays, source=source)


def table_of_columns(header: Sequence[str], arrays: Sequence[Any], *, source: str) -> Table:
    """Arrow arrays of text under their names; rows count from 1."""
    columns = {name: column_of(array) for name, array in zip(header, arrays, strict=True)}
    return Table(source=source, columns=columns, line_of=_from_one, unit="row")


def _from_one(at: int) -> int:
    return at + 1


def _texts(column: Any, source: str, name: str) -> Any:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # no chunk at all
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    kind = array.type
    if types.is_dictionary(kind):
        array, kind = array.dictionary_decode(), kind.value_type
    if types.is_null(kind):
        return pa.array([""] * len(array), pa.string())
    if types.is_boolean(kind):
        array, kind = pc.cast(array, pa.int8()), pa.int8()
    if types.is_floating(kind):
        array = pc.if_else(pc.is_nan(pc.cast(array, pa.float64())), None, array)
    known = (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_temporal(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
    )
    if not known or types.is_duration(kind):
        raise DataError(
            "a column holds neither numbers nor text",
            where=f"{source}, column {name}",
            found=str(kind),
            hint="Leave the column out of the table",
        )
    return pc.fill_null(pc.cast(array, pa.string()), "")
