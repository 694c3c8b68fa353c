"""What the values of a column look like to the table that holds it: numbers, codes, slips."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data.cells import Column, Table, release_memory

MAX_LEVELS = 20
"""A text column with more different values is no category."""

MOSTLY = 0.9
"""Share of numbers in a column whose other values are worth a line."""

SENTINELS = (9.0, 77.0, 88.0, 99.0, 777.0, 888.0, 999.0, 7777.0, 8888.0, 9999.0, 99999.0, 999999.0)
"""Numbers that people write, with either sign, where a value is missing."""

LARGEST = 1e150
"""As which larger numbers of either sign count: their squares and sums of these would be none."""

LEAST_OTHERS = 5
"""Different values beside a 0 or -1 from which it can be told that it is none of them."""

FEW_STRAYS = 5
"""Different texts among numbers that are slips or codes of missing values, not levels."""

LEAST_FOR_OUTLIERS = 20

FEW_FAR = 0.05
"""Share of rows that may be outliers; more are a part of the column."""

GAP, EACH_SIDE = 4.0, 0.05
"""Ratio of neighbouring values from which there may be two units, and the share of the rows on
either side, at least: fewer are outliers."""

FAR = 10.0
"""Interquartile ranges beyond the quartiles from which a value sets no range."""


@dataclass(frozen=True, eq=False)
class Shape:
    """What the values of one column look like to the table that holds it.

    Attributes:
        rows: how many.
        counted: which different texts are values, neither missing nor a code for missing, (K,).
        numeric: whether all of these are numbers or limits such as "<5", but for a stray few.
        values: each different text as a number, at most `LARGEST`; NaN where it is none or not
            counted, (K,).
        low, high: of the values that are no outliers; NaN where there are none.
        outliers: different texts that are far from all others.
        sentinels: texts that look like codes for a missing value, with their number.
        piled: different texts such as 99 that may be such codes, by how often they stand, though
            measurements come near.
        parted: the largest value of those below a wide gap and the least above it, where each side
            may be the same measurement in another unit; None of most columns.
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
    piled: Mapping[int, int]
    parted: tuple[float, float] | None
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
    measured = np.where(present, np.clip(column.measured, -LARGEST, LARGEST), np.nan)
    known = np.isfinite(measured)
    total, numbers = int(counts[present].sum()), int(counts[known].sum())
    all_numbers = bool(present.any()) and numbers == total
    mostly = total > 0 and numbers >= MOSTLY * total and int(known.sum()) > MAX_LEVELS
    strays = present & ~known
    few = 0 < int(strays.sum()) <= FEW_STRAYS and int(known.sum()) > 2 * FEW_STRAYS
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
        piled=_piled(values, counts) if all_numbers else {},
        parted=_parted(np.where(outliers, math.nan, values), counts) if all_numbers else None,
        limits=column.limits & counted & (all_numbers or mostly),
        stray=strays & ((mostly or few) and not all_numbers),
    )


def shapes_of(table: Table, missing: Sequence[str]) -> dict[str, Shape]:
    """What every column of a table looks like, by name."""
    shapes = {name: shape_of(column, missing) for name, column in table.columns.items()}
    release_memory()
    return shapes


def _sentinels(
    values: NDArray[np.float64], texts: Sequence[str], counts: NDArray[np.int64]
) -> dict[str, int]:
    """Codes such as -999 or 9999 that stand far from all other values; 0, -1 and whatever else is
    the only number below 0 and repeats among them."""
    known = np.isfinite(values)
    found = {}
    below = known & (values < 0)
    alone = below & (values == np.rint(values)) & (counts > 1) & (below.sum() == 1)
    for at in np.flatnonzero((known & np.isin(values, (0.0, -1.0))) | alone).tolist():
        if _stands_apart(float(values[at]), values[known & (values != values[at])]):
            found[texts[at]] = int(counts[at])
            known &= values != values[at]
    suspect = known & np.isin(np.abs(values), SENTINELS)
    rest = values[known & ~suspect]
    if not suspect.any() or not len(rest):
        return found
    low, high = float(rest.min()), float(rest.max())
    spread = high - low
    for at in np.flatnonzero(suspect).tolist():
        value = float(values[at])
        gap = max(low - value, value - high)
        negative = value < 0 <= low and gap >= min(spread, 9.0)
        if negative or gap > max(spread, 1.0):
            found[texts[at]] = int(counts[at])
    return found


def _piled(values: NDArray[np.float64], counts: NDArray[np.int64]) -> dict[int, int]:
    """Codes such as 99 that are the largest value and stand far more often than any other, or more
    often than all that is near them: people of 97 and 98 are as many as those of 99."""
    known = np.flatnonzero(np.isfinite(values))
    if len(known) <= MAX_LEVELS:
        return {}
    last = int(known[values[known].argmax()])
    others = counts[known[known != last]]
    often = int(counts[last])
    if values[last] not in SENTINELS or often < LEAST_OTHERS:
        return {}
    below = known[known != last]
    near = values[below] > values[last] - (values[last] - values[below].min()) / 4
    alone = often > counts[below[near]].sum()
    return {last: often} if alone or often >= 2 * int(others.max()) else {}


def _parted(values: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[float, float] | None:
    """The two values around a gap that is wider, as a ratio, than either side of it."""
    known = np.flatnonzero(values > 0)
    if len(known) <= MAX_LEVELS or (values < 0).any():
        return None
    order = known[values[known].argsort()]
    ordered, rows = values[order], counts[order].cumsum()
    at = int((ordered[1:] / ordered[:-1]).argmax())
    low, high = float(ordered[at]), float(ordered[at + 1])
    within = max(low / float(ordered[0]), float(ordered[-1]) / high)
    few = min(int(rows[at]), int(rows[-1] - rows[at]))
    wide = high / low >= max(GAP, within)
    return (low, high) if wide and few >= max(LEAST_OTHERS, EACH_SIDE * rows[-1]) else None


def _stands_apart(value: float, rest: NDArray[np.float64]) -> bool:
    """Whether 0 or -1 is no measurement beside these: all others are larger, and no neighbours.

    Nobody has a body mass index of 0, but many have a score of 0; and -1 beside counts is a code.
    """
    others = np.unique(rest)
    if len(others) < LEAST_OTHERS or others[0] < 0:
        return False
    whole = bool((others == np.rint(others)).all())
    if value < 0 and (others[0] > 0 or whole):
        return True
    usual = float(np.median(np.diff(others)))
    gap, spread = float(others[0]) - value, float(others[-1] - others[0])
    return gap > 3 * usual and gap >= spread / 4


def _outliers(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which different values are so far out that a range should not follow them."""
    if np.isfinite(values).sum() < LEAST_FOR_OUTLIERS:
        return np.zeros(len(values), dtype=bool)
    return far_from_all(values, counts)


def far_from_all(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The same where a few values repeat, as days do: of what is predicted one slip spoils all.

    Args:
        values: (K,) different ones, NaN where none is.
        counts: (K,) how often each occurs.
    """
    known = np.isfinite(values)
    none = np.zeros(len(values), dtype=bool)
    if counts[known].sum() < LEAST_FOR_OUTLIERS:
        return none
    rows = np.repeat(values[known], counts[known])
    first, third = np.quantile(rows, (0.25, 0.75))
    fence = FAR * (third - first)
    if fence <= 0:
        return none
    far = known & ((values < first - fence) | (values > third + fence))
    return far if counts[far].sum() <= FEW_FAR * len(rows) + 1 else none
