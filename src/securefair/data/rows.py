"""Records of a CSV file, with the place of each for error messages."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from securefair.errors import DataError


@dataclass(frozen=True)
class Row:
    """One record: its fields by column name, and where it stands, for error messages."""

    source: str
    line: int  # 1-based line of the file, the header being line 1
    fields: Mapping[str, str]


def read_rows(path: Path) -> list[Row]:
    """The records of a comma-separated UTF-8 file whose first line names the columns.

    Raises:
        DataError: the file cannot be read, or is no such table; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError("cannot read the table", where=str(path), found=error.strerror) from error
    except UnicodeDecodeError as error:
        raise DataError(
            "the table is not UTF-8 text", where=str(path), hint="Export it as CSV UTF-8"
        ) from error
    return parse_rows(text.splitlines(keepends=True), source=path.name)


def parse_rows(lines: Iterable[str], source: str) -> list[Row]:
    """As `read_rows`, from lines of text; `source` is the name that errors give."""
    reader = csv.reader(lines, strict=True)
    rows: list[Row] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(header, source)
        for fields in reader:
            if not fields:  # a blank line
                continue
            if len(fields) != len(header):
                raise DataError(
                    "wrong number of fields",
                    where=f"{source}, line {reader.line_num}",
                    found=len(fields),
                    expected=len(header),
                )
            values = (field.strip() for field in fields)
            rows.append(Row(source, reader.line_num, dict(zip(header, values, strict=True))))
    except csv.Error as error:
        raise DataError(
            "not comma-separated text", where=f"{source}, line {reader.line_num}", found=str(error)
        ) from error
    return rows


def _check_header(header: Sequence[str], source: str) -> None:
    where = f"{source}, line 1"
    if not any(header):
        raise DataError("the table is empty", where=where, expected="a line of column names")
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise DataError("columns share a name", where=where, found=", ".join(repeated))
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise DataError(
            "columns are not separated by commas",
            where=where,
            found=header[0][:60],
            hint="Export the table as CSV with commas",
        )
