"""Records of a text table with the lines on which they stand, and rows that have too few fields or
too many."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from securefair.data.cells import Note
from securefair.errors import DataError

SHOWN = 3
"""Lines of such rows that a note names."""


def records(data: bytes, separator: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Records with the line on which each ends; blank lines are none.

    Raises:
        DataError: quotes do not fit; names the line.
    """
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader, ended = csv.reader(text, delimiter=separator, strict=True), 0
    try:
        for fields in reader:
            ended = reader.line_num
            if fields or ended == 1:
                yield ended, fields
    except csv.Error as error:
        if reader.line_num > ended + 1:  # it took several lines for one
            raise DataError(
                "a quotation mark is opened here, and not closed where its field ends",
                where=f"{source}, line {ended + 1}",
                hint="Close it, or write two of them for one that belongs to the text",
            ) from error
        raise DataError(
            "not comma-separated text", where=f"{source}, line {reader.line_num}", found=str(error)
        ) from error


def checked_lines(
    data: bytes, separator: str, source: str, header: Sequence[str], before: int
) -> Callable[[int], int]:
    """Where every record ends, as `csv` reads them: strictly, and slowly."""
    lines = []
    for line, fields in records(data, separator, source):
        if len(fields) != len(header):
            raise _wrong_width(source, line + before, fields, header)
        lines.append(line + before)
    del lines[0]
    return lines.__getitem__


@dataclass(frozen=True)
class WithoutTorn:
    """A table in which rows with too few or too many fields are rows without any value.

    Attributes:
        data: its text, header included.
        lines: where each row stands in the file.
        last: the last such row, from 0.
        note: which lines these are.
    """

    data: bytes
    lines: Sequence[int]
    last: int
    note: Note


def without_torn(
    data: bytes, separator: str, source: str, header: Sequence[str], before: int
) -> WithoutTorn | None:
    """The table with such rows emptied; None where there are none.

    Raises:
        DataError: quotes do not fit; or most rows are of another width, so that the header, or the
            separator, is wrong.
    """
    lines: list[int] = []
    rows: list[list[str]] = []
    torn: list[tuple[int, int, list[str]]] = []
    for line, fields in records(data, separator, source):
        if len(fields) != len(header):
            torn.append((len(rows) - 1, line + before, fields))
            fields = [""] * len(header)
        lines.append(line + before)
        rows.append(fields)
    if not torn:
        return None
    if 2 * len(torn) > len(rows) - 1:
        _, line, fields = torn[0]
        raise _wrong_width(source, line, fields, header)
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    del lines[0]
    return WithoutTorn(text.getvalue().encode(), lines, torn[-1][0], _torn_note(torn, header))


def _torn_note(torn: Sequence[tuple[int, int, Sequence[str]]], header: Sequence[str]) -> Note:
    shown = ", ".join(f"line {line} has {len(fields)}" for _, line, fields in torn[:SHOWN])
    rest = f" and {len(torn) - SHOWN} others" if len(torn) > SHOWN else ""
    message = (
        f"{shown} fields{rest}, where the header has {len(header)}: nothing in "
        f"{'it' if len(torn) == 1 else 'them'} was read"
    )
    return Note(None, torn[0][1], "wrong number of fields", message, "Mend the row in the file")


def _wrong_width(source: str, line: int, fields: Sequence[str], header: Sequence[str]) -> DataError:
    return DataError(
        "wrong number of fields",
        where=f"{source}, line {line}",
        found=len(fields),
        expected=len(header),
        hint=f'The first line must name the columns; here it is "{", ".join(header)[:40]}"'
        if len(header) == 1 or len(header) < len(fields)
        else None,
    )
