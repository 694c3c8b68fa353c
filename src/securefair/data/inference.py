"""Rules for a table that has none yet, from what each participant says about its own columns.

Rows stay where they are. Each participant summarises every column for itself: the smallest and
largest number, the texts that occur, whether a value is missing, and whether values repeat as
little as identifiers do. Only these summaries meet, and ranges are rounded outward, so that they
rarely are a patient's own value. Still, the rules then tell everyone something of everyone's data.
Ranges and levels known beforehand (`TableSpec`) tell nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.data.identifying import (
    are_dates,
    are_persons,
    heading_identifies,
    tell_rows_apart,
)
from securefair.data.rows import Row
from securefair.data.table import Binary, Categorical, Numeric, TableSpec, Target, code
from securefair.errors import DataError

MAX_LEVELS = 20
"""A text column with more different values is no category."""


@dataclass(frozen=True)
class ColumnSummary:
    """What one participant says about one of its columns.

    Attributes:
        missing: whether a value is missing.
        low, high: of the numbers; None where a text occurs, or nothing at all.
        levels: the texts that occur, sorted; of more than `MAX_LEVELS` only so many and one.
        tells_rows_apart: see `identifying.tell_rows_apart`.
    """

    name: str
    missing: bool
    low: float | None
    high: float | None
    levels: tuple[str, ...]
    tells_rows_apart: bool | None


@dataclass(frozen=True)
class InferredTable:
    """Rules that fit all summaries, and why some columns are no features."""

    spec: TableSpec
    unused: Mapping[str, str]


def summarise(rows: Sequence[Row], missing: Sequence[str]) -> list[ColumnSummary]:
    """One participant's summary of each column, in the order of its table.

    Args:
        rows: of one table, at least one.
        missing: codes of a missing value.
    """
    return [_summary(name, [row.fields[name] for row in rows], missing) for name in rows[0].fields]


def infer_table(
    summaries: Mapping[str, Sequence[ColumnSummary]],
    *,
    label: str,
    classes: Sequence[Sequence[str]] = (),
    missing: Sequence[str] = ("",),
) -> InferredTable:
    """Rules for everyone, of what everyone says.

    Two numbers or texts make a binary column, other numbers a numeric one, up to `MAX_LEVELS` texts
    a categorical one. Columns that look like identifiers, names or dates (`identifying`), never
    vary or are empty are left out. That is guesswork: who uses the rules must look, too.

    Args:
        summaries: of each participant, by name.
        label: the column to predict.
        classes: its codes, one class each; by default those that occur, in order.
        missing: codes of a missing value.

    Raises:
        DataError: participants have different columns, the label is not among them or does not
            vary, or no column can be used; names the participant.
    """
    _check_alike(summaries, label)
    columns: list[Numeric | Binary | Categorical] = []
    unused: dict[str, str] = {}
    groups = tuple(tuple(codes) for codes in classes)
    for merged in (_merged(parts) for parts in zip(*_in_one_order(summaries), strict=True)):
        if merged.name == label:
            groups = groups or tuple((level,) for level in _in_order(merged.levels))
            continue
        column = _column(merged)
        if isinstance(column, str):
            unused[merged.name] = column
        else:
            columns.append(column)
    _check_classes(groups, label)
    if not columns:
        raise DataError(
            "no column can be used as a feature",
            found="; ".join(f"{name}: {why}" for name, why in unused.items()),
            hint="Describe the columns in [[table.columns]]",
        )
    spec = TableSpec(
        columns=tuple(columns), target=Target(name=label, groups=groups), missing=tuple(missing)
    )
    return InferredTable(spec, unused)


def infer_classes(
    summaries: Mapping[str, Sequence[ColumnSummary]], label: str
) -> tuple[tuple[str, ...], ...]:
    """The codes of a label that occur anywhere, one class each, in order.

    Raises:
        DataError: it is not a column of everyone's table, or no label of a few classes.
    """
    levels: set[str] = set()
    for name, summary in summaries.items():
        own = next((column for column in summary if column.name == label), None)
        if own is None:
            raise DataError(
                "the label is not a column of the table",
                where=f"participant {name}",
                found=", ".join(column.name for column in summary),
                expected=label,
            )
        levels.update(own.levels)
    groups = tuple((level,) for level in _in_order(sorted(levels)))
    _check_classes(groups, label)
    return groups


def _check_classes(groups: Sequence[Sequence[str]], label: str) -> None:
    if not 2 <= len(groups) <= MAX_LEVELS:
        raise DataError(
            "the label does not name a few classes",
            where=f"column {label}",
            found=f"{'more than ' if len(groups) > MAX_LEVELS else ''}{min(len(groups), 20)}",
            expected=f"2 to {MAX_LEVELS} classes",
            hint="Name another column, or say in table.classes which codes make a class",
        )


def _summary(name: str, cells: Sequence[str], missing: Sequence[str]) -> ColumnSummary:
    present = [cell for cell in cells if cell not in missing]
    numbers = [_number(cell) for cell in present]
    known = [number for number in numbers if number is not None]
    numeric = bool(known) and len(known) == len(present)
    texts = [code(cell) for cell in present]  # "1", "1.0" and "01" are one level
    return ColumnSummary(
        name=name,
        missing=len(present) < len(cells),
        low=min(known) if numeric else None,
        high=max(known) if numeric else None,
        levels=tuple(sorted(set(texts)))[: MAX_LEVELS + 1],
        tells_rows_apart=tell_rows_apart(texts, known if numeric else None),
    )


def _check_alike(summaries: Mapping[str, Sequence[ColumnSummary]], label: str) -> None:
    (first, columns), *others = [
        (name, {column.name for column in summary}) for name, summary in summaries.items()
    ]
    if label not in columns:
        raise DataError(
            "the label is not a column of the table",
            where=f"participant {first}",
            found=", ".join(sorted(columns)),
            expected=label,
        )
    for name, theirs in others:
        if theirs != columns:
            missing, more = sorted(columns - theirs), sorted(theirs - columns)
            raise DataError(
                f"the table has other columns than {first}'s",
                where=f"participant {name}",
                found="; ".join(
                    f"{word} {', '.join(columns)}"
                    for word, columns in (("lacks", missing), ("has also", more))
                    if columns
                ),
                hint="Name the columns alike, or list in [[table.columns]] those to use",
            )


def _in_one_order(
    summaries: Mapping[str, Sequence[ColumnSummary]],
) -> list[list[ColumnSummary]]:
    order = {column.name: at for at, column in enumerate(next(iter(summaries.values())))}
    return [
        sorted(summary, key=lambda column: order[column.name]) for summary in summaries.values()
    ]


def _merged(parts: Sequence[ColumnSummary]) -> ColumnSummary:
    filled = [part for part in parts if part.levels]  # an empty column is of every kind
    lows = [part.low for part in filled if part.low is not None]
    highs = [part.high for part in filled if part.high is not None]
    numeric = bool(filled) and len(lows) == len(filled)
    apart = {part.tells_rows_apart for part in filled} - {None}
    return ColumnSummary(
        name=parts[0].name,
        missing=any(part.missing for part in parts),
        low=min(lows) if numeric else None,
        high=max(highs) if numeric else None,
        levels=tuple(sorted({level for part in parts for level in part.levels})),
        tells_rows_apart=apart == {True} if apart else None,
    )


def _column(summary: ColumnSummary) -> Numeric | Binary | Categorical | str:
    """The rule for a column, or why there is none."""
    name, optional = summary.name, summary.missing
    if not summary.levels:
        return "empty"
    if heading_identifies(name):
        return "looks like an identifier"
    if are_dates(summary.levels):
        return "looks like dates"  # they tell of persons; an age or a time span can be a feature
    if len(summary.levels) == 1:
        return "always the same"
    if are_persons(summary.levels):
        return "looks like names of persons"
    levels = _in_order(summary.levels)
    if len(levels) == 2:
        return Binary(name=name, no=levels[0], yes=levels[1], optional=optional)
    if summary.low is not None and summary.high is not None:
        if summary.tells_rows_apart:
            return "whole numbers that never repeat, as identifiers do"
        low, high = _rounded_outward(summary.low, summary.high)
        return Numeric(name=name, low=low, high=high, optional=optional)
    if len(levels) > MAX_LEVELS:
        return f"more than {MAX_LEVELS} different texts"
    if summary.tells_rows_apart:
        return "texts that hardly repeat, as names do"
    return Categorical(name=name, levels=tuple(levels), optional=optional)


def _rounded_outward(low: float, high: float) -> tuple[float, float]:
    """A range of few digits around a range: (34, 77) becomes (30, 80)."""
    power = math.floor(math.log10(high - low))

    def rounded(value: float, *, up: bool) -> float:
        whole = math.ceil if up else math.floor
        # A power of ten below 1 is divided by instead, so that 0.1 stays 0.1.
        if power >= 0:
            return float(whole(value / 10**power) * 10**power)
        return float(whole(value * 10**-power) / 10**-power)

    return rounded(low, up=False), rounded(high, up=True)


def _in_order(levels: Sequence[str]) -> list[str]:
    """Numbers by size, then texts."""
    return sorted(levels, key=lambda level: (_number(level) is None, _number(level) or 0.0, level))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
