"""Columns of text as a table, numbers with decimal commas read as numbers, from whatever source.

Points that set thousands apart are told from decimal ones where the file has decimal commas; a
number that may be either is noted.

A file, a workbook, a query and a data frame with the same texts become the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.data.cells import Column, Note, Table, column_of, matching, recoded
from securefair.data.shape import FEW_STRAYS

COMMA_NUMBER = r"^[+-]?\d+,\d+$"
COMMA_IN_NUMBER = r"^([<>]=?\s*)?[+-]?\d*,\d+$"
_DOT_NUMBER = r"^[+-]?\d*\.\d+$"
_THREE_DIGITS = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_POINTED_THREE = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"
_SHORT = r"^[+-]?[1-9]\d{2}$"
_APART = r"^[+-]?[1-9]\d{0,2}([ '\x{2019}\x{a0}\x{202f}]\d{3})+([.,]\d+)?$"
"""1 234, 1'234 and 12 345,6: nobody else writes numbers so."""

_BOTH = r"^[+-]?[1-9]\d{0,2}((\.\d{3}){2,}|(,\d{3}){2,}|(\.\d{3})+,\d+|(,\d{3})+\.\d+)$"
"""1.234.567, 1,234,567, 1.234,5 and 1,234.5."""

_BESIDE = r"^([<>]=?\s*)?[+-]?\d*([.,]\d+)?$"
"""What may stand in a column of decimal commas besides: whole numbers and limits. So may missing
values, and a few other texts, which may be codes of such."""

MANY = 0.05
"""Of the rows with a value, from which whole numbers beside three decimals are worth a line."""

FEW_TEXTS = 0.1
"""Of the rows of a column of numbers that hold other texts, at most, where these differ."""


def table_of_columns(
    header: Sequence[str],
    arrays: Sequence[Any],
    *,
    source: str,
    line_of: Callable[[int], int],
    unit: str = "line",
    notes: Sequence[Note] = (),
    missing: Collection[str] = (),
) -> Table:
    """Arrow arrays of text under their names.

    Args:
        header: names, which differ.
        arrays: without nulls, one a name.
        source, line_of, unit: as of a `Table`.
        notes: what the reader has noted so far.
        missing: codes of a missing value besides the usual ones; they say nothing of commas.
    """
    found = list(notes)
    absent = {*defaults.MISSING, *missing}
    columns = {name: column_of(array) for name, array in zip(header, arrays, strict=True)}
    columns = _with_points(columns, line_of, found, absent)
    return Table(source=source, columns=columns, line_of=line_of, unit=unit, notes=tuple(found))


def _with_points(
    columns: dict[str, Column],
    lines: Callable[[int], int],
    notes: list[Note],
    absent: Collection[str],
) -> dict[str, Column]:
    """Decimal commas become points, column by column, and every such column is noted.

    "1,234" alone is 1.234 or 1234. It counts as decimal where another column of the file surely
    has decimal commas; otherwise it stays a text, and is noted. In such a file "1.234" is 1234.
    """
    kinds = {name: _commas(column, absent) for name, column in columns.items()}
    sure = any(kind == "decimal" for kind in kinds.values())
    result = {}
    for name, column in columns.items():
        kind = kinds[name]
        if kind == "none":
            result[name], noted = _thousands(name, column, lines, absent, sure=sure)
            notes.extend(noted)
            continue
        marked = matching(column.cells.dictionary, r"\d,\d")
        row = column.first(marked)
        example = column.texts[int(column.codes[row])]
        if kind == "decimal" or (kind == "either" and sure):
            result[name] = _pointed(column)
            message = f'decimal commas were read as points: "{example}" and others'
            remedy = "Nothing to do if they are decimal; otherwise export without separators"
            notes.append(Note(name, lines(row), "decimal comma", message, remedy, settled=True))
        else:
            result[name] = column
            message = (
                f'"{example}" is a number with a decimal comma or with thousands apart; '
                "it was left as text"
            )
            remedy = "Export numbers with a decimal point and no separator of thousands"
            notes.append(Note(name, lines(row), "ambiguous number", message, remedy))
    return result


def _commas(column: Column, absent: Collection[str]) -> str:
    """What the commas within a column's numbers are: "none", "decimal", "either" or "mixed"."""
    texts = column.cells.dictionary
    commas = pc.match_substring_regex(texts, COMMA_NUMBER)
    if not pc.any(commas).as_py():
        return "none"
    others = pc.filter(texts, pc.invert(commas))
    strange = ~matching(texts, f"{_BESIDE}|{COMMA_NUMBER}")
    strange &= ~_absent(column, absent)
    counts = column.counts()
    # A few texts among many different numbers are codes, however often they stand.
    codes = strange.sum() <= FEW_STRAYS and matching(texts, COMMA_NUMBER).sum() > 2 * FEW_STRAYS
    if not codes and counts[strange].sum() > FEW_TEXTS * counts.sum():
        return "none"  # texts such as lists of codes
    if pc.any(pc.match_substring_regex(others, _DOT_NUMBER), min_count=0).as_py():
        return "mixed"
    three = pc.match_substring_regex(pc.filter(texts, commas), _THREE_DIGITS)
    return "either" if pc.all(three).as_py() else "decimal"


def _absent(column: Column, codes: Collection[str]) -> NDArray[np.bool_]:
    return np.array([text in codes for text in column.texts], dtype=bool)


def _thousands(
    name: str,
    column: Column,
    lines: Callable[[int], int],
    absent: Collection[str],
    *,
    sure: bool,
) -> tuple[Column, list[Note]]:
    """A column without decimal commas, and what its separators of thousands are.

    Args:
        name: of the column.
        column: of texts.
        lines: the line of a row.
        absent: codes of a missing value.
        sure: whether the file has decimal commas.
    """
    texts, counts = column.cells.dictionary, column.counts()
    present = ~_absent(column, absent)
    rows = int(counts[present].sum())
    grouped = matching(texts, f"{_APART}|{_BOTH}")
    numbers = grouped | np.isfinite(column.numbers)

    def note(kind: str, marked: NDArray[np.bool_], message: str, remedy: str, done: bool) -> Note:
        row = column.first(marked)
        example = column.texts[int(column.codes[row])]
        return Note(name, lines(row), kind, f'"{example}" {message}', remedy, settled=done)

    plain = "Export numbers with a decimal point and no separator of thousands"
    if grouped.any() and counts[numbers & present].sum() >= (1 - FEW_TEXTS) * rows:
        message = "is a number with thousands apart; it was left as text"
        return column, [note("ambiguous number", grouped, message, plain, done=False)]
    pointed = matching(texts, r"\d\.\d")
    three = matching(texts, _POINTED_THREE)
    if (
        not three.any()
        or not np.isfinite(column.numbers[present]).all()
        or (pointed & ~three).any()
    ):
        return column, []
    if sure:
        message = "and others were read without the point, which sets thousands apart where "
        message += "decimals have commas"
        whole = recoded(
            column,
            {column.texts[at]: column.texts[at].replace(".", "") for at in np.flatnonzero(three)},
        )
        remedy = "Nothing to do if they are thousands; otherwise export without separators"
        return whole, [note("thousands", three, message, remedy, done=True)]
    short = matching(texts, _SHORT)
    others = present & ~three
    if counts[others].sum() < MANY * rows or not short[others].all():
        return column, []
    message = f'stands beside "{column.texts[int(np.flatnonzero(others)[0])]}": its point may set '
    message += "thousands apart, and was read as a decimal point"
    return column, [note("ambiguous number", three, message, plain, done=False)]


def _pointed(column: Column) -> Column:
    texts = column.cells.dictionary
    numbers = pc.match_substring_regex(texts, COMMA_IN_NUMBER)
    dictionary = pc.if_else(numbers, pc.replace_substring(texts, ",", "."), texts)
    return Column(
        pa.DictionaryArray.from_arrays(column.cells.indices, dictionary)
        .cast(pa.string())
        .dictionary_encode()
    )
