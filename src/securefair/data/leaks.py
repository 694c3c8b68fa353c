"""Whether one column alone tells the outcome: it was probably written when that was known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import code
from securefair.data.cells import Column
from securefair.data.findings import Finding
from securefair.data.shape import MAX_LEVELS, Shape

LEAKS = 0.9
"""Share of the errors of the most common answer that a single column takes away."""

LEAST_FOR_LEAKS = 30

MOST_CUT = 20_000
"""Rows that are looked at for the best limit of a number."""

SAME_ORDER = 0.95
"""Rank correlation of a column and a number to predict: hardly any measurement tells so much."""


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


def leaks(
    site: str, name: str, column: Column, shape: Shape, classes: Classes, told: str = "classes"
) -> Iterator[Finding]:
    """Whether one column alone says what is to be predicted; `told` is what the classes are, for
    people."""
    known = classes.of_row >= 0
    labels, counts = classes.of_row[known], classes.counts()
    wrong = len(labels) - max(counts, default=0)
    if len(labels) < LEAST_FOR_LEAKS or not 2 <= len(counts) <= MAX_LEVELS or wrong < 5:
        return
    shares = [_left_in_groups(_groups(column, shape)[known], labels, len(counts))]
    absent = (~shape.counted)[column.codes].astype(np.int64)  # a grade only of those who are ill
    shares.append(_left_in_groups(absent[known], labels, len(counts)))
    if shape.numeric and column.different > 2:
        shares.append(_left_by_cut(shape.values[column.codes][known], labels, len(counts)))
    left = min(shares) * len(labels)
    by_absence = " by whether it is filled in" if shares[1] == min(shares) else ""
    if 1 - left / wrong >= LEAKS:
        yield Finding(
            site=site,
            column=name,
            line=None,
            kind="leakage",
            message=f"this column alone tells {1 - left / len(labels):.0%} of the {told}"
            f"{by_absence}: it is probably written when the outcome is known",
            remedy="Leave it out (--drop of securefair new), unless it is known before the "
            "prediction is needed",
            severity="grave",
        )


def tells_number(
    site: str, name: str, column: Column, shape: Shape, label: Column, told: Shape
) -> Iterator[Finding]:
    """Whether one column puts rows into nearly the same order as the number or the time that is to
    be predicted, by Spearman's correlation."""
    if not (shape.numeric and told.numeric):
        return
    values, numbers = shape.values[column.codes], told.values[label.codes]
    both = np.isfinite(values) & np.isfinite(numbers)
    if both.sum() < LEAST_FOR_LEAKS:
        return
    own, others = _ranks(values[both]), _ranks(numbers[both])
    if not (np.ptp(own) and np.ptp(others)):
        return
    alike = abs(float(np.corrcoef(own, others)[0, 1]))
    if alike >= SAME_ORDER:
        yield Finding(
            site=site,
            column=name,
            line=None,
            kind="leakage",
            message="this column alone tells the number that is to be predicted (rank correlation "
            f"{alike:.2f}): it is probably another form of it",
            remedy="Leave it out (--drop of securefair new), unless it is known before the "
            "prediction is needed",
            severity="grave",
        )


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From 1, the mean of them for equal values."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def _left_in_groups(groups: NDArray[np.int64], labels: NDArray[np.int64], classes: int) -> float:
    """Share of the rows that are not of their group's commonest class; 1 where it says nothing."""
    if groups.max() >= len(labels):
        return 1.0  # texts that hardly repeat
    table = np.zeros((int(groups.max()) + 1, classes))
    np.add.at(table, (groups, labels), 1)
    if (table.sum(axis=1) > 0).sum() > len(labels) / 4:
        return 1.0  # so many groups say nothing
    return float(1 - table.max(axis=1).sum() / len(labels))


def _left_by_cut(values: NDArray[np.float64], labels: NDArray[np.int64], classes: int) -> float:
    """The same for two groups, below and above the best limit: quantiles miss a rare class."""
    if len(values) > MOST_CUT:
        drawn = np.random.default_rng(0).integers(0, len(values), MOST_CUT)
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
