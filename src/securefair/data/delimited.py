"""Text tables as hospitals export them: separators, encodings, decimal commas, compressed or not.

Whatever is not plain comma-separated UTF-8 is read and noted (`cells.Note`), or refused where it
can be read in two ways.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import islice
from operator import add
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from securefair.data.cells import (
    BELOW_A_TITLE,
    Note,
    Table,
    check_header,
    heading_of,
    release_memory,
)
from securefair.data.decimal_commas import table_of_columns
from securefair.data.text_records import checked_lines, records, without_torn
from securefair.errors import DataError

SEPARATORS = (",", ";", "\t", "|")
LOOKED_AT = 50
"""Records from which the separator is told."""

SAMPLE = 200_000
"""Bytes that are enough for that."""

_SEPARATOR_LINE = re.compile(rb'\A"?sep=([,;|\t])"?\r?\n')
"""What Excel writes and reads as a first line, so that a table opens in every country."""

_ABOVE = re.compile(rb"#|[\s,;|]*\Z")
"""A line above a table: a comment, or nothing between separators."""

_UNUSUAL = re.compile(rb'"|\n[ \t\r]*\n|\r(?!\n)')
"""Quotes, blank lines and lone carriage returns: lines are then counted one by one."""


def read_delimited(path: Path, *, torn: bool = False, missing: Collection[str] = ()) -> Table:
    """A .csv, .tsv or .txt file, perhaps with .gz behind.

    Args:
        path: of the file.
        torn: take a row with too few or too many fields as one without any value, and note it;
            which of its values belongs to which column, nobody knows.
        missing: as of `decimal_commas.table_of_columns`.

    Raises:
        DataError: it cannot be read, is no table, or can be read in two ways; names file and line.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError("cannot read the table", where=str(path), found=str(error)) from error
    except OSError as error:
        raise DataError("cannot read the table", where=str(path), found=error.strerror) from error
    utf8, note = _as_utf8(data, path.name)
    del data
    notes = [note] if note else []
    return parse_delimited(utf8, source=path.name, notes=notes, torn=torn, missing=missing)


def parse_delimited(
    data: bytes,
    *,
    source: str,
    notes: Sequence[Note] = (),
    torn: bool = False,
    missing: Collection[str] = (),
) -> Table:
    """As `read_delimited`, from UTF-8; `source` is the name that errors give."""
    found = list(notes)
    data = _lines_ended(data, found)
    data, before, separator = _without_preamble(data, found)
    rows = ([text.strip() for text in fields] for _, fields in records(data, separator, source))
    header = list(map(heading_of, next(rows, [])))
    check_header(header, where=f"{source}, line 1", below=islice(rows, BELOW_A_TITLE))
    lines: Callable[[int], int] = partial(add, before + 2)
    kept, whole = 0, without_torn(data, separator, source, header, before) if torn else None
    if whole is not None:
        data, lines, kept = whole.data, whole.lines.__getitem__, whole.last + 1
        found.append(whole.note)
    elif _UNUSUAL.search(data):
        lines = checked_lines(data, separator, source, header, before)
    arrays = _without_empty_end(_arrays(data, separator, source, header, before), kept)
    if separator != ",":
        found.append(
            Note(
                None,
                before + 1,
                "separator",
                f"columns are separated by {_NAMES[separator]}, not by commas",
                "Nothing to do if the columns are right",
                settled=True,
            )
        )
    table = table_of_columns(
        header, arrays, source=source, line_of=lines, notes=found, missing=missing
    )
    del arrays
    release_memory()
    return table


_NAMES = {";": "semicolons", "\t": "tabs", "|": "bars"}


def _as_utf8(data: bytes, source: str) -> tuple[bytes, Note | None]:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif b"\0" in data[:4096]:
        raise DataError(
            "the file is no text", where=source, hint="Export the table as CSV UTF-8 or Parquet"
        )
    elif data[:SAMPLE].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise DataError(
            "this is a web page, and no table",
            where=source,
            hint="A download that needed a login looks so; look at the file",
        )
    else:
        try:
            data.decode()
        except UnicodeDecodeError:
            encoding = "cp1252"
        else:
            return data.removeprefix(codecs.BOM_UTF8), None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            "the table is in no encoding that is known",
            where=source,
            found=str(error),
            expected="UTF-8, UTF-16 or Windows-1252",
            hint="Export it as CSV UTF-8",
        ) from error
    name = {"cp1252": "Windows-1252", "utf-16": "UTF-16"}[encoding]
    return text.encode(), Note(
        None,
        None,
        "encoding",
        f"the file is not UTF-8; it was read as {name}",
        "Look at names with accents; if they are wrong, export the table as CSV UTF-8",
    )


def _lines_ended(data: bytes, notes: list[Note]) -> bytes:
    """Lines that end in carriage returns alone, as of old Macintoshes, with usual ends."""
    if b"\n" in data or b"\r" not in data:
        return data
    message = "lines end in carriage returns alone, and were read as lines"
    remedy = "Nothing to do if the rows are right"
    notes.append(Note(None, 1, "line ends", message, remedy, settled=True))
    return data.replace(b"\r", b"\n")


def _without_preamble(data: bytes, notes: list[Note]) -> tuple[bytes, int, str]:
    """The table without Excel's `sep=;`, empty lines and lines of comments above it; how many lines
    these are; what separates columns."""
    if named := _SEPARATOR_LINE.match(data):
        return data[named.end() :], 1, named[1].decode()
    lines = data[:SAMPLE].split(b"\n")
    above = next((at for at, one in enumerate(lines) if not _ABOVE.match(one)), 0)
    separator = _separator(data.split(b"\n", above)[-1])
    last, below = (lines[at].count(separator.encode()) for at in (above - 1, above))
    if above and re.match(rb"#\s*\S", lines[above - 1]) and last == below > 0:
        above -= 1  # "#id,age" names columns
    if not above:
        return data, 0, separator
    rest = data.split(b"\n", above)[-1]
    comments = any(one.startswith(b"#") for one in lines[:above])
    what = "lines that begin with #" if comments else "empty lines"
    message = f"{above} {what} stand above the table, and were not read"
    if above == 1:
        what = "a line that begins with #" if comments else "an empty line"
        message = f"{what} stands above the table, and was not read"
    remedy = "Nothing to do if the columns are right"
    notes.append(Note(None, 1, "comments", message, remedy, settled=True))
    return rest, above, separator


def _separator(data: bytes) -> str:
    """What parts the first records into most columns, all alike; a comma where nothing does."""
    sample = data[:SAMPLE].decode(errors="ignore")
    best, most = ",", 1
    for separator in SEPARATORS:
        try:
            reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
            widths = [len(one) for one, _ in zip(reader, range(LOOKED_AT), strict=False) if one]
        except csv.Error:
            continue
        whole = widths if len(widths) < 2 or len(data) <= SAMPLE else widths[:-1]
        if whole and len(set(whole)) == 1 and whole[0] > most:
            best, most = separator, whole[0]
    if most > 1:
        return best
    first = sample.partition("\n")[0]
    return max(SEPARATORS, key=first.count)


def _arrays(
    data: bytes, separator: str, source: str, header: Sequence[str], before: int
) -> list[Any]:
    """The columns as Arrow arrays of text."""
    names = [str(at) for at in range(len(header))]
    body = pa.py_buffer(data).slice(_end_of_first_record(data))
    if not memoryview(body)[:SAMPLE].tobytes().strip(b"\r\n \t"):
        return [pa.array([], pa.string()) for _ in header]
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(body),
            read_options=pyarrow.csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                # Each different text once, block by block: columns repeat themselves.
                column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        checked_lines(data, separator, source, header, before)  # says which line, and why
        raise DataError("not comma-separated text", where=source, found=str(error)) from error
    table = table.unify_dictionaries()
    return [_joined(table.column(name)) for name in names]


def _without_empty_end(arrays: list[Any], kept: int) -> list[Any]:
    """The same without rows of nothing but separators at the end, as workbooks are exported; the
    first `kept` rows stay."""
    every = rows = len(arrays[0])
    while rows > kept and not any(array[rows - 1].as_py().strip() for array in arrays):
        rows -= 1
    if rows == every:
        return arrays
    return [array.slice(0, rows).cast(pa.string()).dictionary_encode() for array in arrays]


def _joined(column: Any) -> Any:
    """The chunks of a column, which share their dictionary, as one array."""
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def _end_of_first_record(data: bytes) -> int:
    """Where the line of column names ends; names in quotes may hold line ends."""
    quoted = False
    for match in re.finditer(rb'["\n]', data):
        if match[0] == b'"':
            quoted = not quoted
        elif not quoted:
            return match.end()
    return len(data)
