"""What one participant says of its own table, so that all can agree on rules for it.

A proposal names columns, levels that enough of its patients share, and ranges rounded outwards.
It is made from one table alone and tells its readers nothing else of it. `inference` joins the
proposals of all participants, wherever these run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.config.columns import code
from securefair.data.cells import Column, Row, table_of
from securefair.data.groups import patients_of
from securefair.data.headings import check_known
from securefair.data.identifying import (
    are_dates,
    are_persons,
    are_record_numbers,
    heading_identifies,
    tell_numbers_apart,
    tell_texts_apart,
)
from securefair.data.known import known_of
from securefair.data.shape import MAX_LEVELS, Shape, shape_of
from securefair.data.table import Target
from securefair.errors import ConfigError, DataError

AT_LEAST = 5
"""Patients who must share a level before another hospital reads its name, unless a site says
otherwise."""

NAMES_PATIENTS = "names the patients"
"""Why a column that says whose each row is is no feature."""


class ColumnProposal(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What one participant says of one of its columns.

    Args:
        name: of the column.
        optional: whether a value is missing.
        missing: codes for a missing value that were told from numbers, such as "-999".
        low, high: of the numbers, rounded outwards; None where a text occurs, or nothing at all.
        levels: the values that enough patients share, sorted; none of more than `MAX_LEVELS`
            numbers, and of more texts only so many and one.
        rare: how many further levels there are, which too few patients share.
        tells_rows_apart: whether values repeat as little as identifiers do (`identifying`).
        unused: why the column is no feature by its heading or its values, which are not told then.
    """

    name: str
    optional: bool = False
    missing: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    levels: tuple[str, ...] = ()
    rare: int = 0
    tells_rows_apart: bool | None = None
    unused: str = ""

    def __post_init__(self) -> None:
        low, high = self.low, self.high
        if (low is None) != (high is None) or (
            low is not None and high is not None and not -math.inf < low <= high < math.inf
        ):
            raise ConfigError("not a range", where=f"column {self.name}", found=f"{low} to {high}")

    @property
    def present(self) -> bool:
        """Whether it says anything of values."""
        return self.low is not None or bool(self.levels)

    @property
    def measured(self) -> bool:
        """Whether the values are more than two numbers."""
        few = 1 <= len(self.levels) + self.rare <= 2
        return self.low is not None and not few


class Proposal(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What one participant says of its table.

    Args:
        label: the column to predict.
        classes: its codes, one class each, where they are agreed on; none for those that occur.
        outcome: what it is where it is no class, a name of `model.outcomes`.
        beside: columns that say the rest of what is known then, such as whether an event came.
        missing: codes of a missing value in any column.
        patient_column: the column that says whose each row is; "" where every row is a patient.
        columns: in the order of the table, the label among them.

    Raises:
        ConfigError: two columns of one name, no label, or patients who are no column beside it.
    """

    label: str
    classes: tuple[tuple[str, ...], ...] = ()
    outcome: str = ""
    beside: tuple[str, ...] = ()
    missing: tuple[str, ...] = defaults.MISSING
    patient_column: str = ""
    columns: tuple[ColumnProposal, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if self.label not in names or len(set(names)) < len(names):
            raise ConfigError(
                "a proposal needs each column once, the label among them",
                where="columns",
                found=", ".join(names),
                expected=self.label,
            )
        if self.patient_column and self.patient_column not in {*names} - {self.label}:
            raise ConfigError(
                "patients are named by a column beside the label",
                where="patient_column",
                found=self.patient_column,
            )


def propose(
    rows: Sequence[Row],
    *,
    label: str,
    classes: Sequence[Sequence[str]] = (),
    at_least: int = AT_LEAST,
    missing: Sequence[str] = defaults.MISSING,
    target: Target | None = None,
    patient_column: str | None = None,
) -> Proposal:
    """What one participant's own rows say.

    Args:
        rows: of its table, at least one.
        label: the column to predict.
        classes: its codes, one class each, where they are agreed on.
        at_least: patients who must share a level, or a class, before it is named.
        missing: codes of a missing value.
        target: what is predicted where that is no class. Of its columns nothing is proposed but
            the range of the label.
        patient_column: names whose each row is, so that a patient's rows count once; rows that
            name nobody count as one. None: every row is a patient of its own.

    Raises:
        ConfigError: `at_least` is below 1.
        DataError: there is no such label or patient column, the label is a number rather than a
            class, a class has fewer patients than that, or a value is none that the outcome knows.
    """
    if at_least < 1:
        raise ConfigError("out of range", where="at_least", found=at_least, expected="1 or more")
    table = table_of(rows)
    known = () if target is None else (target.name, *target.beside)
    check_known(table, known or (label,))
    groups = tuple(tuple(codes) for codes in classes)
    whose = None
    if patient_column is not None:
        whose = patients_of(table, patient_column, all_named=False)
    ends = None
    if target is None:
        _check_label(table.columns[label], whose, missing, label, groups, at_least)
    else:
        known_of(table, target, missing)  # which refuses what is wrong with them
        numbers = table.columns[label].numbers
        ends = rounded_outwards(float(np.nanmin(numbers)), float(np.nanmax(numbers)))
    columns = [
        # Agreed classes count whole: a code of few patients must not be named beside them.
        _plain(name, ends)
        if name in known or (groups and name == label)
        else ColumnProposal(name=name, unused=NAMES_PATIENTS)
        if name == patient_column
        else _proposed(name, _once(one, whose), missing, at_least, is_label=name == label)
        for name, one in table.columns.items()
        if name not in known[1:]
    ]
    return Proposal(
        label=label,
        classes=groups,
        outcome="" if target is None else target.outcome,
        beside=known[1:],
        missing=tuple(missing),
        patient_column=patient_column or "",
        columns=tuple(columns),
    )


def _plain(name: str, ends: tuple[float, float] | None) -> ColumnProposal:
    """Of a label: its range, or nothing where its classes are agreed on."""
    low, high = ends or (None, None)
    return ColumnProposal(name=name, low=low, high=high)


def check_classes(groups: Sequence[Sequence[str]], label: str, *, least: int = 2) -> None:
    """Refuse what does not name a few classes.

    Raises:
        DataError: there are fewer than `least` or too many; says so where they are numbers.
    """
    if len(groups) > MAX_LEVELS and all(number(codes[0]) is not None for codes in groups):
        raise DataError(
            "the label is a number or a time, not a class",
            where=f"column {label}",
            found=f"more than {MAX_LEVELS} different numbers",
            expected=f"2 to {MAX_LEVELS} classes",
            hint='Say what it is: table.outcome = "number", "count" or "time" (--outcome, or '
            "--time and --event, of securefair new)",
        )
    if not least <= len(groups) <= MAX_LEVELS:
        raise DataError(
            "the label does not name a few classes",
            where=f"column {label}",
            found=f"more than {MAX_LEVELS}"
            if len(groups) > MAX_LEVELS
            else "; ".join(", ".join(codes) for codes in groups) or "none",
            expected=f"2 to {MAX_LEVELS} classes",
            hint="Name another column, or say in table.classes which codes make a class; codes of "
            "a missing value (--missing) are none",
        )


def number(text: str) -> float | None:
    """A text as a finite number, None where it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _once(
    column: Column, whose: NDArray[np.int64] | None, same: Callable[[str], object] = code
) -> Column:
    """A column in which a patient says everything once, so that its rows count patients.

    Args:
        column: of B rows.
        whose: each row is, (B,); None: of another patient.
        same: gives equal things for texts that mean the same.
    """
    if whose is None:
        return column
    things: dict[object, int] = {}
    thing = np.array([things.setdefault(same(text), len(things)) for text in column.texts])
    _, first = np.unique(whose * len(things) + thing[column.codes], return_index=True)
    return Column(column.cells.take(np.sort(first)))


def _check_label(
    column: Column,
    whose: NDArray[np.int64] | None,
    missing: Sequence[str],
    label: str,
    groups: tuple[tuple[str, ...], ...],
    at_least: int,
) -> None:
    """Refuse a label of too many values, and classes of too few patients to be named."""
    _check_groups(groups, label)
    of_code = {code(one): codes for codes in groups for one in codes}
    column = _once(column, whose, lambda text: of_code.get(code(text), code(text)))
    counts = _levels(column, shape_of(column, missing))
    classes = Counter[tuple[str, ...]]()
    for level, count in counts.items():
        classes[of_code.get(level, (level,))] += count
    check_classes(groups or list(classes), label, least=0)
    beside = [level for level in counts if groups and level not in of_code]
    if beside:
        raise DataError(
            "codes of the label belong to no class",
            where=f"column {label}",
            found=", ".join(beside[:5]),
            expected=", ".join(one for codes in groups for one in codes),
            hint="Name them with --class, or leave these patients out",
        )
    if classes and min(classes.values()) < at_least:
        raise DataError(
            "a class has too few patients to be named",
            where=f"column {label}",
            found=min(classes.values()),
            expected=f"at least {at_least} of each class",
            hint="Agree on classes that join codes, and give them with --class",
        )


def _check_groups(groups: Sequence[Sequence[str]], label: str) -> None:
    """Refuse classes that are given, but are one, or share a code."""
    if groups:
        check_classes(groups, label)
    codes = [one for group in groups for one in group]
    twice = [one for one, times in Counter(codes).items() if times > 1]
    if twice:
        raise DataError(
            "a code of the label is in two classes",
            where=f"column {label}",
            found=", ".join(twice),
            hint="Name each code once with --class",
        )


def _proposed(
    name: str, column: Column, missing: Sequence[str], at_least: int, *, is_label: bool
) -> ColumnProposal:
    shape = shape_of(column, missing)
    optional = bool(column.counts()[~shape.counted].sum())
    counts = _levels(column, shape)
    kept = np.flatnonzero(shape.counted)[: 4 * MAX_LEVELS]
    why = None if is_label else _identifies(name, [column.texts[at] for at in kept])
    if why is None and not is_label and _of_records(shape, column):
        why = "whole numbers that hardly repeat, as identifiers do"
    if why is not None:
        return ColumnProposal(name=name, optional=optional, unused=why)
    numeric = shape.numeric and shape.present
    named = sorted(level for level, count in counts.items() if is_label or count >= at_least)
    many = numeric and len(counts) > MAX_LEVELS and not is_label
    low = high = None
    if numeric and (len(counts) > 2 or len(named) == len(counts)):
        low, high = rounded_outwards(shape.low, shape.high)
    elif numeric and named:  # of two numbers one is rare
        values = [shape.values[at] for at, text in enumerate(column.texts) if code(text) in named]
        low, high = rounded_outwards(min(values), max(values))
    return ColumnProposal(
        name=name,
        optional=optional,
        missing=tuple(shape.sentinels),
        low=low,
        high=high,
        levels=() if many else tuple(named)[: MAX_LEVELS + 1],
        rare=0 if many else len(counts) - len(named),
        tells_rows_apart=_apart(shape, column),
    )


def _levels(column: Column, shape: Shape) -> dict[str, int]:
    """How often each level occurs; of very many numbers not all, since nobody needs them."""
    kept = np.flatnonzero(shape.counted)
    if shape.numeric and len(kept) > 4 * MAX_LEVELS:
        kept = kept[: 4 * MAX_LEVELS]
    counts, levels = column.counts(), dict[str, int]()
    for at in kept.tolist():  # "1", "1.0" and "01" are one level
        level = code(column.texts[at])
        levels[level] = levels.get(level, 0) + int(counts[at])
    return levels


def _identifies(name: str, texts: Sequence[str]) -> str | None:
    """Why a column tells of persons or days rather than of an illness, or None."""
    if not texts:
        return None
    if heading_identifies(name, texts):
        return "looks like an identifier"
    if are_dates(texts):
        return "looks like dates"  # they tell of persons; an age or a time span can be a feature
    return "looks like names of persons" if are_persons(texts) else None


def _of_records(shape: Shape, column: Column) -> bool:
    """See `identifying.are_record_numbers`: such a column's range is not told either."""
    kept = shape.counted
    return shape.numeric and are_record_numbers(shape.values[kept], column.counts()[kept])


def _apart(shape: Shape, column: Column) -> bool | None:
    """See `identifying.tell_texts_apart`, which would need every row."""
    kept, counts = shape.counted, column.counts()
    if not shape.numeric:
        return tell_texts_apart(int(kept.sum()), int(counts[kept].sum()))
    return tell_numbers_apart(shape.values[kept], counts[kept])


def rounded_outwards(low: float, high: float) -> tuple[float, float]:
    """A range of few digits around a range: (34, 77) becomes (30, 80), (54, 54) (50, 60)."""
    span = high - low or abs(low)
    if not 1e-300 < span < 1e300:
        return float(low), float(high)  # 0, or numbers that no rounding can be computed of
    power = math.floor(math.log10(span))

    def rounded(value: float, *, up: bool) -> float:
        whole = math.ceil if up else math.floor
        # A power of ten below 1 is divided by instead, so that 0.1 stays 0.1.
        if power >= 0:
            return float(whole(value / 10**power) * 10**power)
        return float(whole(value * 10**-power) / 10**-power)

    # Floats of numpy are none to whoever writes a proposal as TOML.
    return float(min(low, rounded(low, up=False))), float(max(high, rounded(high, up=True)))
