"""Records of a CSV or Parquet file, with the place of each for error messages."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from securefair.data.parquet import read_parquet_cells
from securefair.errors import DataError


@dataclass(frozen=True)
class Row:
    """One record: its fields by column name, and where it stands, for error messages."""

    source: str
    line: int  # 1-based; in a text file the header is line 1
    fields: Mapping[str, str]
    unit: str = "line"  # what `line` counts

    def place(self, column: str) -> str:
        """File, line and column, for error messages."""
        return f"{self.source}, {self.unit} {self.line}, column {column}"


def read_rows(path: Path) -> list[Row]:
    """The records of a table: .parquet, or else comma-separated UTF-8 text with a line of names.

    Raises:
        DataError: the file cannot be read, or is no such table; names file and line.
    """
    if path.suffix == ".parquet":
        return read_parquet(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError("cannot read the table", where=str(path), found=error.strerror) from error
    except UnicodeDecodeError as error:
        raise DataError(
            "the table is not UTF-8 text", where=str(path), hint="Export it as CSV UTF-8"
        ) from error
    return parse_rows(text.splitlines(keepends=True), source=path.name)


def read_parquet(path: Path) -> list[Row]:
    """The records of a Parquet file, every cell as the text that CSV would have.

    Raises:
        DataError: the file cannot be read, pyarrow is not installed, or a column holds something
            else than numbers, text, dates and truth values; names file and column.
    """
    header, columns = read_parquet_cells(path)
    _check_header(header, where=path.name)
    return [
        Row(path.name, at, dict(zip(header, cells, strict=True)), unit="row")
        for at, cells in enumerate(zip(*columns, strict=True), start=1)
    ]


def parse_rows(lines: Iterable[str], source: str) -> list[Row]:
    """As `read_rows`, from lines of text; `source` is the name that errors give."""
    reader = csv.reader(lines, strict=True)
    rows: list[Row] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(header, where=f"{source}, line 1")
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


def _check_header(header: Sequence[str], where: str) -> None:
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
