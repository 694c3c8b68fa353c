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

import numpy as np
from numpy.typing import NDArray

from securefair.data.cells import Column, Row, Table, release_memory, table_of
from securefair.data.identifying import (
    are_dates,
    are_persons,
    heading_identifies,
    tell_numbers_apart,
    tell_texts_apart,
)
from securefair.data.table import Binary, Categorical, Numeric, Rule, TableSpec, Target, code
from securefair.data.unlike import check_shared, mixed
from securefair.errors import DataError

MAX_LEVELS = 20
"""A text column with more different values is no category."""

MOSTLY = 0.9
"""Share of numbers in a column whose other values are worth a line."""

SENTINELS = (9.0, 77.0, 88.0, 99.0, 777.0, 888.0, 999.0, 7777.0, 8888.0, 9999.0, 99999.0, 999999.0)
"""Numbers that people write, with either sign, where a value is missing."""

LEAST_FOR_OUTLIERS = 20
_NAMES_SITES = "one value at each participant, so that it tells whose patient it is"

FAR = 10.0
"""Interquartile ranges beyond the quartiles from which a value sets no range."""


@dataclass(frozen=True)
class ColumnSummary:
    """What one participant says about one of its columns.

    Attributes:
        missing: whether a value is missing.
        low, high: of the numbers; None where a text occurs, or nothing at all.
        levels: the texts that occur, sorted; of more than `MAX_LEVELS` only so many and one.
        tells_rows_apart: whether values repeat as little as identifiers do (`identifying`).
        sentinels: codes for a missing value that were told from numbers, such as "-999".
    """

    name: str
    missing: bool
    low: float | None
    high: float | None
    levels: tuple[str, ...]
    tells_rows_apart: bool | None
    sentinels: tuple[str, ...] = ()


@dataclass(frozen=True)
class InferredTable:
    """Rules that fit all summaries, and why some columns are no features."""

    spec: TableSpec
    unused: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Shape:
    """What the values of one column look like to the table that holds it.

    Attributes:
        rows: how many.
        counted: which different texts are values, neither missing nor a code for missing, (K,).
        numeric: whether all of these are numbers or limits such as "<5", but for a stray few.
        values: each different text as a number, NaN where it is none or not counted, (K,).
        low, high: of the values that are no outliers; NaN where there are none.
        outliers: different texts that are far from all others.
        sentinels: texts that look like codes for a missing value, with their number.
        limits, stray: different texts that are limits, or no numbers among numbers, (K,).
    """

    rows: int
    counted: NDArray[np.bool_]
    numeric: bool
    values: NDArray[np.float64]
    low: float
    high: float
    outliers: tuple[int, ...]
    sentinels: Mapping[str, int]
    limits: NDArray[np.bool_]
    stray: NDArray[np.bool_]

    @property
    def present(self) -> bool:
        """Whether there is any value."""
        return bool(self.counted.any())


def shape_of(column: Column, missing: Sequence[str]) -> Shape:
    """Look at a column of one table.

    Args:
        column: of at least one row.
        missing: codes of a missing value.
    """
    present = ~column.among(set(missing))
    counts = column.counts()
    measured = np.where(present, column.measured, np.nan)
    known = np.isfinite(measured)
    total, numbers = int(counts[present].sum()), int(counts[known].sum())
    all_numbers = bool(present.any()) and numbers == total
    mostly = total > 0 and numbers >= MOSTLY * total and int(known.sum()) > MAX_LEVELS
    sentinels = _sentinels(measured, column.texts, counts) if all_numbers or mostly else {}
    marked = np.array([text in sentinels for text in column.texts], dtype=bool)
    counted = present & ~marked
    values = np.where(counted, measured, np.nan)
    outliers = _outliers(values, counts) if all_numbers else np.zeros(len(counts), dtype=bool)
    within = values[np.isfinite(values) & ~outliers]
    return Shape(
        rows=len(column.codes),
        counted=counted,
        numeric=all_numbers,
        values=values,
        low=float(within.min()) if len(within) else math.nan,
        high=float(within.max()) if len(within) else math.nan,
        outliers=tuple(np.flatnonzero(outliers).tolist()),
        sentinels=sentinels,
        limits=column.limits & counted & (all_numbers or mostly),
        stray=counted & ~known & (mostly and not all_numbers),
    )


def shapes_of(table: Table, missing: Sequence[str]) -> dict[str, Shape]:
    """What every column of a table looks like, by name."""
    shapes = {name: shape_of(column, missing) for name, column in table.columns.items()}
    release_memory()
    return shapes


def _sentinels(
    values: NDArray[np.float64], texts: Sequence[str], counts: NDArray[np.int64]
) -> dict[str, int]:
    """Codes such as -999 or 9999 that stand far from all other values."""
    known = np.isfinite(values)
    suspect = known & np.isin(np.abs(values), SENTINELS)
    rest = values[known & ~suspect]
    if not suspect.any() or not len(rest):
        return {}
    low, high = float(rest.min()), float(rest.max())
    spread = high - low
    found = {}
    for at in np.flatnonzero(suspect).tolist():
        value = float(values[at])
        gap = max(low - value, value - high)
        negative = value < 0 <= low and gap >= min(spread, 9.0)
        if negative or gap > max(spread, 1.0):
            found[texts[at]] = int(counts[at])
    return found


def _outliers(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which different values are so far out that a range should not follow them."""
    known = np.isfinite(values)
    none = np.zeros(len(values), dtype=bool)
    if known.sum() < LEAST_FOR_OUTLIERS:
        return none
    rows = np.repeat(values[known], counts[known])
    first, third = np.quantile(rows, (0.25, 0.75))
    fence = FAR * (third - first)
    if fence <= 0:
        return none
    far = known & ((values < first - fence) | (values > third + fence))
    return far if counts[far].sum() <= 0.01 * len(rows) + 1 else none


def summarise(rows: Sequence[Row], missing: Sequence[str]) -> list[ColumnSummary]:
    """One participant's summary of each column, in the order of its table.

    Args:
        rows: of one table, at least one.
        missing: codes of a missing value.
    """
    return [_summary(name, one, missing) for name, one in table_of(rows).columns.items()]


def infer_table(
    summaries: Mapping[str, Sequence[ColumnSummary]],
    *,
    label: str,
    classes: Sequence[Sequence[str]] = (),
    missing: Sequence[str] = ("",),
    joined: bool = False,
    given: Sequence[Rule] = (),
) -> InferredTable:
    """Rules for everyone, of what everyone says.

    Two numbers or texts make a binary column, other numbers a numeric one, up to `MAX_LEVELS` texts
    a categorical one. Columns that look like identifiers, names or dates (`identifying`), never
    vary, name the participant or are empty are left out. That is guesswork: who uses the rules
    must look, too.

    Args:
        summaries: of each participant, by name.
        label: the column to predict.
        classes: its codes, one class each; by default those that occur, in order.
        missing: codes of a missing value.
        joined: take levels that differ in case or white space only for one.
        given: rules that need no inference, which come last.

    Columns that not everyone has are left out, too.

    Raises:
        DataError: the label is not among somebody's columns, is a number or a time rather than a
            class, does not vary or is spelt in several ways, or no column can be used.
    """
    common, unused = _common(summaries, label)
    columns: list[Rule] = []
    groups = tuple(tuple(codes) for codes in classes)
    for parts in common:
        merged = _merged(parts, joined=joined)
        if merged.name == label:
            if not groups:
                _check_label(merged, joined=joined)
                check_shared(parts, list(summaries), joined=joined)
            groups = groups or tuple((level,) for level in _in_order(merged.levels))
            continue
        if merged.name in {rule.name for rule in given}:
            continue
        column = _NAMES_SITES if _names_sites(parts) else _column(merged)
        if isinstance(column, str):
            unused[merged.name] = mixed(parts, list(summaries)) or column
        else:
            columns.append(column)
    _check_classes(groups, label)
    columns += given
    if not columns:
        raise DataError(
            "no column can be used as a feature",
            found="; ".join(f"{name}: {why}" for name, why in unused.items()),
            hint="Describe the columns in [[table.columns]]",
        )
    spec = TableSpec(
        columns=tuple(columns),
        target=Target(name=label, groups=groups),
        missing=tuple(missing),
        spellings="joined" if joined else "exact",
    )
    return InferredTable(spec, unused)


def infer_classes(
    summaries: Mapping[str, Sequence[ColumnSummary]], label: str, *, joined: bool = False
) -> tuple[tuple[str, ...], ...]:
    """The codes of a label that occur anywhere, one class each, in order.

    Raises:
        DataError: it is not a column of everyone's table, or no label of a few classes.
    """
    common, _ = _common(summaries, label)
    of_label = next(parts for parts in common if parts[0].name == label)
    merged = _merged(of_label, joined=joined)
    _check_label(merged, joined=joined)
    check_shared(of_label, list(summaries), joined=joined)
    groups = tuple((level,) for level in _in_order(merged.levels))
    _check_classes(groups, label)
    return groups


def _check_classes(groups: Sequence[Sequence[str]], label: str) -> None:
    numbers = [_number(codes[0]) is not None for codes in groups]
    if len(groups) > MAX_LEVELS and all(numbers):
        raise DataError(
            "the label is a number or a time, not a class",
            where=f"column {label}",
            found=f"more than {MAX_LEVELS} different numbers",
            expected=f"2 to {MAX_LEVELS} classes",
            hint="securefair tells classes apart: it fits no regression and no survival times. Add "
            "a column that says whether the number is above a limit, or whether the event came "
            "within a fixed time, and predict that",
        )
    if not 2 <= len(groups) <= MAX_LEVELS:
        raise DataError(
            "the label does not name a few classes",
            where=f"column {label}",
            found=f"{'more than ' if len(groups) > MAX_LEVELS else ''}{min(len(groups), 20)}",
            expected=f"2 to {MAX_LEVELS} classes",
            hint="Name another column, or say in table.classes which codes make a class",
        )


def _summary(name: str, column: Column, missing: Sequence[str]) -> ColumnSummary:
    shape = shape_of(column, missing)
    counts = column.counts()
    kept = np.flatnonzero(shape.counted)
    numeric = shape.numeric and shape.present
    many = len(kept) > 4 * MAX_LEVELS and numeric
    # "1", "1.0" and "01" are one level; of many numbers nobody needs all.
    levels = {code(column.texts[at]) for at in (kept[: 4 * MAX_LEVELS] if many else kept)}
    return ColumnSummary(
        name=name,
        missing=bool(counts[~shape.counted].sum()),
        low=shape.low if numeric else None,
        high=shape.high if numeric else None,
        levels=tuple(sorted(levels))[: MAX_LEVELS + 1],
        tells_rows_apart=_apart(shape, counts),
        sentinels=tuple(shape.sentinels),
    )


def _apart(shape: Shape, counts: NDArray[np.int64]) -> bool | None:
    """See `identifying.tell_texts_apart`, which would need every row."""
    kept = shape.counted
    rows = int(counts[kept].sum())
    if not shape.numeric:
        return tell_texts_apart(int(kept.sum()), rows)
    return tell_numbers_apart(shape.values[kept], counts[kept])


def _common(
    summaries: Mapping[str, Sequence[ColumnSummary]], label: str
) -> tuple[list[list[ColumnSummary]], dict[str, str]]:
    """Everyone's summaries of the columns that all have, in the first one's order; the others."""
    by_name = {site: {one.name: one for one in summary} for site, summary in summaries.items()}
    for site, columns in by_name.items():
        if label not in columns:
            raise DataError(
                "the label is not a column of the table",
                where=f"participant {site}",
                found=", ".join(columns),
                expected=label,
            )
    shared = set.intersection(*(set(columns) for columns in by_name.values()))
    order = list(dict.fromkeys(name for columns in by_name.values() for name in columns))
    others = {}
    for name in order:
        if name not in shared:
            having = [site for site, columns in by_name.items() if name in columns]
            others[name] = f"only in the table of {', '.join(having)}"
    common = [[columns[name] for columns in by_name.values()] for name in order if name in shared]
    return common, others


def _merged(parts: Sequence[ColumnSummary], *, joined: bool = False) -> ColumnSummary:
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
        levels=_spelt_once([level for part in parts for level in part.levels], joined=joined),
        tells_rows_apart=apart == {True} if apart else None,
        sentinels=tuple(sorted({value for part in parts for value in part.sentinels})),
    )


def _names_sites(parts: Sequence[ColumnSummary]) -> bool:
    """Whether a column has one value at each participant, and not the same at all.

    Nobody's patients tell what it means, and a model that learns it learns whose they are.
    """
    constant = all(len(part.levels) == 1 and not part.missing for part in parts)
    return constant and len({part.levels for part in parts}) > 1


def _spelt_once(levels: Sequence[str], *, joined: bool) -> tuple[str, ...]:
    """Different levels, sorted; where spellings are joined, the first of each in that order."""
    once: dict[str, str] = {}
    for level in sorted(set(levels)):
        once.setdefault(code(level, joined=joined), level)
    return tuple(once.values())


def _check_label(label: ColumnSummary, *, joined: bool) -> None:
    """Refuse labels that are no classes, and classes that are spelt in several ways."""
    spelt: dict[str, list[str]] = {}
    for level in label.levels:
        spelt.setdefault(code(level, joined=True), []).append(level)
    variants = [names for names in spelt.values() if len(names) > 1]
    if variants and not joined:
        raise DataError(
            "classes differ in their spelling only",
            where=f"column {label.name}",
            found="; ".join(" and ".join(names) for names in variants),
            hint='Spell them alike, or say spellings = "joined" in [table] '
            "(securefair new --join-spellings)",
        )


def _column(summary: ColumnSummary) -> Numeric | Binary | Categorical | str:
    """The rule for a column, or why there is none."""
    name, optional = summary.name, summary.missing
    sentinels = summary.sentinels
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
        return Binary(name=name, no=levels[0], yes=levels[1], optional=optional, missing=sentinels)
    if summary.low is not None and summary.high is not None:
        if summary.tells_rows_apart:
            return "whole numbers that never repeat, as identifiers do"
        low, high = _rounded_outward(summary.low, summary.high)
        return Numeric(name=name, low=low, high=high, optional=optional, missing=sentinels)
    if len(levels) > MAX_LEVELS:
        return f"more than {MAX_LEVELS} different texts"
    if summary.tells_rows_apart:
        return "texts that hardly repeat, as names do"
    return Categorical(name=name, levels=tuple(levels), optional=optional, missing=sentinels)


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
