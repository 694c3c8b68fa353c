"""Typed tables as text cells, so that one set of rules reads every kind of source.

Parquet files, data frames and results of queries all come as Arrow tables.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from pyarrow import types

from securefair.data.cells import Table, check_header
from securefair.data.decimal_commas import table_of_columns
from securefair.errors import DataError


def read_parquet(path: Path, missing: Collection[str] = ()) -> Table:
    """A Parquet file; `missing` as of `from_arrow`.

    Raises:
        DataError: it cannot be read, two columns share a name, or one holds something else than
            numbers, text, dates and truth values; names file and column.
    """
    try:
        if path.is_file():  # two of one name could not be read
            check_header(pyarrow.parquet.read_schema(path).names, where=path.name)
        table = pyarrow.parquet.read_table(path)
    except OSError as error:
        raise DataError(
            "cannot read the table", where=str(path), found=error.strerror or str(error)
        ) from error
    except pa.ArrowException as error:
        raise DataError("not a Parquet file", where=str(path), found=str(error)) from error
    return from_arrow(table, source=path.name, missing=missing)


def read_frame(frame: Any, *, source: str, missing: Collection[str] = ()) -> Table:
    """A data frame of pandas or polars, or an Arrow table.

    The same texts are read as in a file: "<5" is a limit, and decimal commas are noted; `missing`
    as of `from_arrow`.

    Raises:
        DataError: it is none, or a column holds something that no rule of a table reads.
    """
    try:
        if isinstance(frame, pa.Table):
            table = frame
        elif hasattr(frame, "iloc"):
            table = _of_pandas(frame, source)
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pa.table(frame)
        else:
            table = frame.to_arrow()
    except (pa.ArrowException, TypeError, AttributeError) as error:
        raise DataError(
            "this is no data frame",
            where=source,
            found=f"{type(frame).__name__}: {error}",
            expected="a DataFrame of pandas or polars, or an Arrow table",
        ) from error
    return from_arrow(table, source=source, missing=missing)


def is_frame(data: object) -> bool:
    """Whether something is a table with named columns."""
    return hasattr(data, "columns") and (
        hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_arrow") or hasattr(data, "iloc")
    )


def from_arrow(table: Any, *, source: str, missing: Collection[str] = ()) -> Table:
    """An Arrow table; a null or NaN is empty text.

    Args:
        table: of any columns.
        source: the name that errors give.
        missing: as of `decimal_commas.table_of_columns`.

    Raises:
        DataError: a column holds something that no rule of a table reads.
    """
    header = [str(name).strip() for name in table.column_names]
    check_header(header, where=source)
    arrays = [_texts(column, source, name) for name, column in zip(header, table, strict=True)]
    return table_of_columns(
        header, arrays, source=source, line_of=lambda at: at + 1, unit="row", missing=missing
    )


def cell_text(value: object) -> str:
    """One cell of a workbook or a frame as the text that a file would have."""
    match value:
        case None:
            return ""
        case bool():
            return str(int(value))
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.date() | datetime.time():
            return value.isoformat()
    return str(value).strip()


def _of_pandas(frame: Any, source: str) -> Any:
    """A frame of pandas; a column of several types, such as numbers and "<5", becomes text."""
    check_header([str(name) for name in frame.columns], where=source)
    arrays = []
    for name in frame.columns:
        cells = frame[name]
        try:
            array = pa.array(cells, from_pandas=True)
        except (pa.ArrowException, TypeError):
            absent = cells.isna().tolist()
            values = [None if gone else one for gone, one in zip(absent, cells, strict=True)]
            strange = next((one for one in values if not isinstance(one, _CELLS)), None)
            if strange is not None:
                raise _neither(source, str(name), type(strange).__name__) from None
            array = pa.array(list(map(cell_text, values)), pa.string())
        arrays.append(array)
    return pa.table(arrays, names=list(map(str, frame.columns)))


_CELLS = (str, numbers.Number, datetime.date, datetime.time, type(None))


def _neither(source: str, name: str, kind: str) -> DataError:
    return DataError(
        "a column holds neither numbers nor text",
        where=f"{source}, column {name}",
        found=kind,
        hint="Leave the column out of the table",
    )


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
        raise _neither(source, name, str(kind))
    return pc.fill_null(pc.cast(array, pa.string()), "")
