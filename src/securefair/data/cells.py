"""A table in memory: every cell as text, a column at a time, with the place of each for errors.

Tables of hospitals are long and repeat themselves, so a column is a dictionary of its different
texts and one number a row. Whatever looks at values looks at each different one once.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from securefair.errors import DataError

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"

LIMIT = r"^[<>]=?\s*[+-]?(\d+\.?\d*|\.\d+)$"

BELOW_A_TITLE = 5
"""Rows among which the headings are looked for where there may be a title above them."""


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


@dataclass(frozen=True)
class Note:
    """What a reader had to decide about a file: nothing is read in a special way unsaid.

    Attributes:
        column: that it is about; None for the whole file.
        line: of the first such value; None where it has none.
        kind: "encoding", "decimal comma", "ambiguous number", ...
        message: what was found and how it was read.
        remedy: what to do if that is wrong.
        settled: whether there is nothing to do otherwise.
    """

    column: str | None
    line: int | None
    kind: str
    message: str
    remedy: str
    settled: bool = False


@dataclass(frozen=True, eq=False)
class Column:
    """One column.

    Attributes:
        cells: (B,) texts without white space around them, as an Arrow dictionary array.
    """

    cells: Any

    @property
    def codes(self) -> NDArray[np.int64]:
        """For each row the number of its text in `texts`, (B,)."""
        return numpy_of(self.cells.indices, pa.int64())

    @cached_property
    def texts(self) -> list[str]:
        """The different texts, in the order of their first row."""
        result: list[str] = self.cells.dictionary.to_pylist()
        return result

    @cached_property
    def different(self) -> int:
        """How many different texts."""
        return len(self.cells.dictionary)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Each different text as a number, NaN where it is none, (K,)."""
        return numbers_in(self.cells.dictionary)

    @cached_property
    def measured(self) -> NDArray[np.float64]:
        """As `numbers`, and a limit such as "<5" is its number, (K,)."""
        if not self.limits.any():
            return self.numbers
        plain = pc.replace_substring_regex(self.cells.dictionary, r"^[<>]=?\s*", "")
        return numbers_in(plain)

    @cached_property
    def limits(self) -> NDArray[np.bool_]:
        """Which different texts are limits, (K,)."""
        return matching(self.cells.dictionary, LIMIT)

    def among(self, codes: Collection[str]) -> NDArray[np.bool_]:
        """Which different texts are one of some codes, or the same number as one, (K,)."""
        texts = texts_of(sorted(codes))
        wanted = numbers_in(texts)
        same: NDArray[np.bool_] = np.isin(self.numbers, wanted[np.isfinite(wanted)])
        found = pc.is_in(self.cells.dictionary, pc.cast(texts, self.cells.dictionary.type))
        same |= numpy_of(found, pa.uint8()).astype(bool)
        return same

    def counts(self) -> NDArray[np.int64]:
        """How often each different text occurs, (K,)."""
        return np.bincount(self.codes, minlength=self.different)

    def first(self, wanted: NDArray[np.bool_]) -> int:
        """The first row whose text is among those marked, of which there must be one."""
        return int(np.flatnonzero(wanted[self.codes])[0])


@dataclass(frozen=True, eq=False)
class Table(Sequence[Row]):
    """Records of one file or query; a sequence of its rows, which are made when they are looked at.

    Attributes:
        source: the name that errors give.
        columns: by name, in order.
        line_of: where a row stands, 1-based; a text file's header is line 1.
        unit: what it counts.
        notes: what the reader had to decide.
        folder: that paths in the table are relative to.
    """

    source: str
    columns: Mapping[str, Column]
    line_of: Callable[[int], int]
    unit: str = "line"
    notes: tuple[Note, ...] = field(default=())
    folder: Path = Path()

    def __len__(self) -> int:
        return next((len(column.cells) for column in self.columns.values()), 0)

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        """A row, or a list of rows."""
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        fields = {name: column.cells[at].as_py() for name, column in self.columns.items()}
        return Row(self.source, self.line_of(at), fields, self.unit)

    def __iter__(self) -> Iterator[Row]:
        names = list(self.columns)
        columns = [column.cells.to_pylist() for column in self.columns.values()]
        for at, cells in enumerate(zip(*columns, strict=True)):
            fields = dict(zip(names, cells, strict=True))
            yield Row(self.source, self.line_of(at), fields, self.unit)

    def without(self, column: str) -> Table:
        """The same rows without a column, where there is one."""
        kept = {name: one for name, one in self.columns.items() if name != column}
        return replace(self, columns=kept)

    def of_rows(self, kept: NDArray[np.int64]) -> Table:
        """Some of the rows, by number."""
        lines, buffer = self.line_of, pa.py_buffer(np.ascontiguousarray(kept, dtype=np.int64))
        rows = pa.Array.from_buffers(pa.int64(), len(kept), [None, buffer])
        columns = {
            name: Column(one.cells.take(rows).dictionary_decode().dictionary_encode())
            for name, one in self.columns.items()
        }
        return replace(self, columns=columns, line_of=lambda at: lines(int(kept[at])))

    def place(self, at: int, column: str) -> str:
        """Of one cell: file, line and column."""
        return f"{self.source}, {self.unit} {self.line_of(at)}, column {column}"


def table_of(rows: Sequence[Row]) -> Table:
    """Rows as a table; a table as it is.

    Raises:
        DataError: rows have different columns.
    """
    if isinstance(rows, Table):
        return rows
    names = list(rows[0].fields) if rows else []
    strange = next((row for row in rows if list(row.fields) != names), None)
    if strange is not None:
        raise DataError(
            "rows have different columns",
            where=strange.source,
            found=", ".join(strange.fields),
            expected=", ".join(names),
        )
    return Table(
        source=rows[0].source if rows else "table",
        columns={name: column_of([row.fields[name] for row in rows]) for name in names},
        line_of=lambda at: rows[at].line,
        unit=rows[0].unit if rows else "line",
    )


def stacked(first: Table, second: Table) -> Table:
    """The rows of one table and those of another behind them; paths are relative to the first's.

    Raises:
        DataError: they have different columns.
    """
    both = table_of([*first, *second])
    return replace(both, notes=(*first.notes, *second.notes), folder=first.folder)


def column_of(cells: Any) -> Column:
    """Texts, or an Arrow array of texts without nulls, as a column."""
    array = cells if isinstance(cells, pa.Array) else texts_of(cells)
    if not isinstance(array, pa.DictionaryArray):
        array = array.dictionary_encode()
    trimmed = pc.utf8_trim_whitespace(array.dictionary)
    if not trimmed.equals(array.dictionary):  # texts may have become alike
        array = pa.DictionaryArray.from_arrays(array.indices, trimmed)
        array = array.dictionary_decode().dictionary_encode()
    return Column(array)


def recoded(column: Column, texts: Mapping[str, str]) -> Column:
    """A column with other texts for some of its own."""
    others = texts_of([texts.get(text, text) for text in column.texts])
    array = pa.DictionaryArray.from_arrays(column.cells.indices, others)
    return Column(array.dictionary_decode().dictionary_encode())


def heading_of(text: str) -> str:
    """A heading as it is looked up: accents are one with their letters, and spaces usual ones; in
    files of Macintoshes and of web pages they are not."""
    whole = unicodedata.normalize("NFC", text.replace("\ufeff", "").replace("\u200b", ""))
    return re.sub("[\xa0\u2007\u202f]", " ", whole).strip()


def check_header(header: Sequence[str], where: str, below: Iterable[Sequence[str]] = ()) -> None:
    """Refuse names of columns that cannot be told apart, and a title.

    Args:
        header: that names them.
        where: it stands.
        below: the first rows under it, of which it may be the title.

    Raises:
        DataError: there is none, two are alike, or the headings stand in one of those below.
    """
    if not any(header):
        raise DataError("the table is empty", where=where, expected="a line of column names")
    if (len(header) == 1 or "" in header) and any(_titled(header, row) for row in below):
        raise DataError(
            "this names no columns: it looks like a title",
            where=where,
            found=next(filter(None, header)),
            hint="Delete the lines above the headings",
        )
    if "" in header:
        raise DataError(
            "a column has no name",
            where=where,
            found=f"column {list(header).index('') + 1} of {len(header)}",
            hint="Name it, or leave it out; pandas leaves out its index with index=False",
        )
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise DataError(
            "columns share a name",
            where=where,
            found=", ".join(repeated),
            hint="Give each a name of its own; of a text file the first line names the columns",
        )


def _titled(title: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row names columns under a title: twice as many texts or more, and no number."""
    names = [text for text in row if text]
    wider = len(names) >= 2 * sum(map(bool, title))
    return wider and bool(title[0]) and not any(re.fullmatch(r"[-+\d.,]+", one) for one in names)


def matching(texts: Any, pattern: str) -> NDArray[np.bool_]:
    """Which of an Arrow array of texts a pattern occurs in."""
    return numpy_of(pc.match_substring_regex(texts, pattern), pa.uint8()).astype(bool)


def numpy_of(array: Any, kind: Any) -> NDArray[Any]:
    """Numbers as an array of a type; nulls are any number.

    Arrow's own way imports pandas wherever that is installed: 35 MB and half a second.
    """
    array = pc.cast(array, kind)
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(0, dtype=kind.to_pandas_dtype())
    return np.frombuffer(data, dtype=kind.to_pandas_dtype())[array.offset :][: len(array)]


def texts_of(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array, which `pa.array` imports pandas for."""
    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    content = pa.py_buffer(b"".join(parts))
    array = pa.LargeStringArray.from_buffers(len(parts), pa.py_buffer(ends), content)
    return pc.cast(array, pa.string())


def release_memory() -> None:
    """Give back what Arrow keeps for later: several times what a table needs."""
    pa.default_memory_pool().release_unused()


def numbers_in(texts: Any) -> NDArray[np.float64]:
    """An Arrow array of texts as numbers, NaN where a text is none; infinite ones are none. A minus
    may be the typographic one, which word processors write."""
    texts = pc.replace_substring(texts, "\N{MINUS SIGN}", "-")
    fits = pc.match_substring_regex(texts, NUMBER)
    plain = pc.replace_substring_regex(texts, r"^\+", "")
    nothing = pa.nulls(1, pa.string())[0]  # `pa.scalar` imports pandas
    numbers = pc.cast(pc.if_else(fits, plain, nothing), pa.float64())
    result = numpy_of(numbers, pa.float64())
    known = numpy_of(pc.is_valid(numbers), pa.uint8()).astype(bool)
    return np.where(known & np.isfinite(result), result, np.nan)
