"""What one hospital should look at in its own table before it runs: one finding, one line.

Everything here is computed from one table alone. `between` compares what several say of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import code
from securefair.data.cells import Column, Note, Table
from securefair.data.identifying import are_dates, are_persons, heading_identifies
from securefair.data.shape import MAX_LEVELS, Shape
from securefair.errors import SecureFairError

Array = NDArray[np.float64]

FEW = 10
"""Patients of a class from which nothing can be learnt."""

LEAKS = 0.9
"""Share of the errors of the most common answer that a single column takes away."""

LEAST_FOR_LEAKS = 30
LEAST_COLUMNS = 5
"""In narrower tables different patients often have equal rows."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to look at.

    Attributes:
        site: whose table.
        column: of the table; None for the whole table.
        line: of the file, of the first such value; None where there is no one place.
        kind: one word or a few with underscores, the same for all findings of a kind.
        message: what was found, and what was made of it.
        remedy: what to do.
        severity: "warning", or "refusal" where a run would not start.
        values: texts of the table that it is about, as they stand there.
    """

    site: str
    column: str | None
    line: int | None
    kind: str
    message: str
    remedy: str
    severity: Literal["warning", "refusal"] = "warning"
    values: tuple[str, ...] = ()


def site_findings(
    site: str, table: Table, shapes: Mapping[str, Shape], *, label: str, joined: bool = False
) -> Iterator[Finding]:
    """What one table shows by itself.

    Args:
        site: its name.
        table: at least one row.
        shapes: of its columns.
        label: the column to predict, which is among its columns.
        joined: whether spellings that differ in case only are one level.
    """
    for note in table.notes:
        yield _noted(site, note)
    classes = Classes.of(table.columns[label], shapes[label], joined=joined)
    for name, column in table.columns.items():
        shape = shapes[name]
        yield from _of_column(site, name, column, shape, table, is_label=name == label)
        if name != label and shape.present and not heading_identifies(name):
            yield from _leak(site, name, column, shape, classes)
    yield from _few(site, label, classes)
    yield from _duplicates(site, table)


def refusal(error: SecureFairError) -> Finding:
    """An error as a finding, for programs that read lists of findings."""
    return Finding(
        site="",
        column=None,
        line=None,
        kind="refused",
        message=str(error),
        remedy=error.hint or "",
        severity="refusal",
    )


def _noted(site: str, note: Note) -> Finding:
    return Finding(
        site=site,
        column=note.column,
        line=note.line,
        kind=note.kind.replace(" ", "_"),
        message=note.message,
        remedy=note.remedy,
    )


def _of_column(
    site: str, name: str, column: Column, shape: Shape, table: Table, *, is_label: bool
) -> Iterator[Finding]:
    """Sentinels, outliers, limits, stray texts, dates, identifiers, constants."""

    def finding(
        kind: str, message: str, remedy: str, row: int | None = None, values: Sequence[str] = ()
    ) -> Finding:
        return Finding(
            site=site,
            column=name,
            line=None if row is None else table.line_of(row),
            kind=kind,
            message=message,
            remedy=remedy,
            values=tuple(values),
        )

    if not shape.present:
        yield finding("empty_column", "there is no value", "Leave the column out")
        return
    if heading_identifies(name) and not is_label:
        yield finding(
            "identifier",
            "the heading names an identifier; the column is no feature",
            "Leave it out of the table: nobody else needs it",
        )
        return
    texts = [column.texts[at] for at in np.flatnonzero(shape.counted)[:50]]
    if are_dates(texts):
        yield finding(
            "date",
            f'the values are dates, such as "{texts[0]}"; the column is no feature',
            "Give a time span instead, such as an age or days since admission",
            values=texts[:1],
        )
        return
    if are_persons(texts):
        yield finding(
            "identifier",
            "the values look like names of persons; the column is no feature",
            "Leave it out of the table",
        )
        return
    if not is_label and int(shape.counted.sum()) == 1 and shape.rows >= 2:
        yield finding(
            "constant_column",
            f'every patient has the same value, "{texts[0]}"',
            "It tells nothing here; keep it only if it differs elsewhere",
            values=texts[:1],
        )
    for value, count in shape.sentinels.items():
        at = column.texts.index(value)
        yield finding(
            "sentinel",
            f'"{value}" stands {"once" if count == 1 else f"{count} times"} and looks like a code '
            "for a missing value",
            f'Say missing = ["{value}"] for this column, or correct the table',
            column.first(np.arange(column.different) == at),
            [value],
        )
    for at in shape.outliers[:3]:
        yield finding(
            "outlier",
            f'"{column.texts[at]}" is far from all other values, {shape.low:g} to {shape.high:g}; '
            "a range that is inferred does not follow it, and the value is clipped",
            "Correct it if it is a slip, or write the range yourself",
            column.first(np.arange(column.different) == at),
            [column.texts[at]],
        )
    if shape.limits.any():
        row = column.first(shape.limits)
        text = column.texts[int(column.codes[row])]
        yield finding(
            "censored",
            f'"{text}" is a limit; it counts as the limit itself',
            "Nothing to do, or write what your laboratory recommends instead",
            row,
            [text],
        )
    if shape.stray.any():
        row = column.first(shape.stray)
        text = column.texts[int(column.codes[row])]
        yield finding(
            "not_a_number",
            f'"{text}" stands among numbers',
            "Correct it, or add it to the codes of missing values",
            row,
            [text],
        )


@dataclass(frozen=True, eq=False)
class Classes:
    """The label of every row.

    Attributes:
        names: of the classes.
        of_row: (B,) the class of each row, -1 where it is missing.
    """

    names: tuple[str, ...]
    of_row: NDArray[np.int64]

    @classmethod
    def of(cls, label: Column, shape: Shape, *, joined: bool) -> Classes:
        """The classes in a column."""
        codes = [code(text, joined=joined) for text in label.texts]
        names = sorted({one for one, counts in zip(codes, shape.counted, strict=True) if counts})
        place = {name: at for at, name in enumerate(names)}
        of_text = [
            place[one] if counts else -1 for one, counts in zip(codes, shape.counted, strict=True)
        ]
        return cls(tuple(names), np.array(of_text, dtype=np.int64)[label.codes])

    def counts(self) -> list[int]:
        """Rows of each class."""
        counts: list[int] = np.bincount(
            self.of_row[self.of_row >= 0], minlength=len(self.names)
        ).tolist()
        return counts


def _few(site: str, label: str, classes: Classes) -> Iterator[Finding]:
    if len(classes.names) > MAX_LEVELS:
        return  # no label of classes: refused elsewhere
    for name, count in zip(classes.names, classes.counts(), strict=True):
        if count < FEW:
            yield Finding(
                site=site,
                column=label,
                line=None,
                kind="few_of_a_class",
                message=f'only {count} patients are of class "{name}"',
                remedy="Join it with another class, or expect nothing for it",
            )


def _leak(
    site: str, name: str, column: Column, shape: Shape, classes: Classes
) -> Iterator[Finding]:
    """Whether one column alone says what is to be predicted."""
    known = classes.of_row >= 0
    labels, counts = classes.of_row[known], classes.counts()
    wrong = len(labels) - max(counts, default=0)
    if len(labels) < LEAST_FOR_LEAKS or not 2 <= len(counts) <= MAX_LEVELS or wrong < 5:
        return
    shares = [_left_in_groups(_groups(column, shape)[known], labels, len(counts))]
    if shape.numeric and column.different > 20:
        shares.append(_left_by_cut(shape.values[column.codes][known], labels, len(counts)))
    left = min(shares) * len(labels)
    if 1 - left / wrong >= LEAKS:
        yield Finding(
            site=site,
            column=name,
            line=None,
            kind="leakage",
            message=f"this column alone tells {1 - left / len(labels):.0%} of the classes: it is "
            "probably written when the outcome is known",
            remedy="Leave it out, unless it is known before the prediction is needed",
        )


def _left_in_groups(groups: NDArray[np.int64], labels: NDArray[np.int64], classes: int) -> float:
    """Share of the rows that are not of their group's commonest class; 1 where it says nothing."""
    if groups.max() >= len(labels):
        return 1.0  # texts that hardly repeat
    table = np.zeros((int(groups.max()) + 1, classes))
    np.add.at(table, (groups, labels), 1)
    if (table.sum(axis=1) > 0).sum() > len(labels) / 10:
        return 1.0  # so many groups say nothing
    return float(1 - table.max(axis=1).sum() / len(labels))


def _left_by_cut(
    values: NDArray[np.float64], labels: NDArray[np.int64], classes: int, most: int = 20_000
) -> float:
    """The same for two groups, below and above the best limit: quantiles miss a rare class."""
    if len(values) > most:
        drawn = np.random.default_rng(0).integers(0, len(values), most)
        values, labels = values[drawn], labels[drawn]
    values = np.where(np.isfinite(values), values, np.inf)  # missing ones are one group
    order = np.argsort(values)
    below = np.cumsum(np.eye(classes)[labels[order]], axis=0)
    right = below.max(axis=1) + (below[-1] - below).max(axis=1)
    ends = np.append(values[order][1:] != values[order][:-1], True)
    return float(1 - right[ends].max() / len(values))


def _groups(column: Column, shape: Shape) -> NDArray[np.int64]:
    """For each row a group of like values: the level, or the quantile of a number."""
    if shape.numeric and column.different > 20:
        values = shape.values
        known = np.isfinite(values)
        rows = values[column.codes]
        parts = min(20, max(2, len(rows) // 20))
        cuts = np.unique(np.nanquantile(rows, np.linspace(0, 1, parts + 1)[1:-1]))
        groups = np.where(known, np.searchsorted(cuts, np.where(known, values, 0.0)), len(cuts) + 1)
        return groups[column.codes].astype(np.int64)
    return column.codes


def _duplicates(site: str, table: Table) -> Iterator[Finding]:
    names = [name for name in table.columns if not heading_identifies(name)]
    if len(names) < LEAST_COLUMNS:
        return
    mixed = np.zeros(len(table), dtype=np.uint64)
    for name in names:
        mixed = (mixed ^ table.columns[name].codes.astype(np.uint64)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        mixed ^= mixed >> np.uint64(29)
    _, first = np.unique(mixed, return_index=True)
    repeated = len(table) - len(first)
    if not repeated:
        return
    original = np.zeros(len(table), dtype=bool)
    original[first] = True
    row = int(np.flatnonzero(~original)[0])
    yield Finding(
        site=site,
        column=None,
        line=table.line_of(row),
        kind="duplicate_rows",
        message=f"{repeated} rows repeat an earlier row but for identifiers; in a test part they "
        "make a model look better than it is",
        remedy="Keep one row a patient. Whether another hospital has the same patient cannot be "
        "looked at: nobody compares patients in the clear",
    )
