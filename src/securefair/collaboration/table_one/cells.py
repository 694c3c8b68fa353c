"""A hospital's own patients, counted in cells that the agreed rules name.

Every patient is in one cell of each variable: in a level or a bin, or, where the rules let values
be missing, among those without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import (
    BinaryColumn,
    CategoricalColumn,
    ColumnRule,
    NumericColumn,
)
from securefair.data import feature_names

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

BINS = 32
"""Of a measurement, of equal width over its agreed range; values beyond are in the outer ones. A
power of two: those that may not be told are counted with their neighbours, two by two."""


@dataclass(frozen=True)
class Variable:
    """A column of the table, or the outcome.

    Attributes:
        name: of the column.
        levels: its codes; none of a measurement.
        low, high: agreed range of a measurement.
        optional: values may be missing; those are counted in the last cell.
    """

    name: str
    levels: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    optional: bool = False

    @property
    def measured(self) -> bool:
        """Whether it is a measurement."""
        return not self.levels

    @property
    def valued(self) -> int:
        """Levels or bins."""
        return BINS if self.measured else len(self.levels)

    @property
    def cells(self) -> int:
        """Levels or bins, and where values may be missing one for these."""
        return self.valued + self.optional

    def in_unit(self, scaled: float) -> float:
        """What [-1, 1] stands for."""
        return self.low + (scaled + 1) / 2 * (self.high - self.low)


@dataclass(frozen=True, eq=False)
class OwnVariable:
    """One variable of one hospital.

    Attributes:
        cell: (n,) the cell in which each patient is counted.
        scaled: (n,) a measurement in [-1, 1]; NaN where it is missing; empty for levels. Nothing
            of it leaves: it is for the hospital's own column.
        cells: that there are.
    """

    cell: Counts
    scaled: Array
    cells: int

    @property
    def counts(self) -> Counts:
        """Of every cell."""
        return np.bincount(self.cell, minlength=self.cells)

    def filled(self) -> OwnVariable:
        """Of a measurement, with missing values counted in the bin of the own median: as of a
        hospital where these patients have that value."""
        there = np.sort(self.cell[self.cell < BINS])
        middle = there[(len(there) - 1) // 2] if len(there) else BINS // 2
        return replace(self, cell=np.where(self.cell < BINS, self.cell, middle))


def bins_of(scaled: Array) -> Counts:
    """The bin of each value in [-1, 1]; `BINS` where it is missing."""
    bins = np.clip(np.floor((np.nan_to_num(scaled) + 1) / 2 * BINS), 0, BINS - 1)
    return np.where(np.isnan(scaled), BINS, bins).astype(np.int64)


def variables_of(
    label: str,
    columns: Sequence[ColumnRule],
    classes: Sequence[str],
    within: tuple[float, float] | None = None,
) -> list[Variable]:
    """The outcome, if it has levels or an agreed range, and every column but images.

    Args:
        label: name of the outcome.
        columns: the agreed rules.
        classes: names of the outcome's levels; none where it has none.
        within: agreed range of an outcome that is a number.
    """
    found = [Variable(label, tuple(classes))] if classes else []
    if within is not None:
        found.append(Variable(label, low=within[0], high=within[1]))
    for rule in columns:
        match rule:
            case NumericColumn():
                found.append(
                    Variable(rule.name, low=rule.low, high=rule.high, optional=rule.optional)
                )
            case BinaryColumn():
                found.append(Variable(rule.name, (rule.no, rule.yes), optional=rule.optional))
            case CategoricalColumn():
                found.append(Variable(rule.name, rule.levels, optional=rule.optional))
    return found


def own_variables(
    columns: Sequence[ColumnRule],
    classes: Sequence[str],
    features: Array,
    labels: Counts,
    number: Array | None = None,
) -> list[OwnVariable]:
    """The patients of one hospital, in the order of `variables_of`.

    Args:
        columns, classes: as there.
        features: (n, d), as the rules make them.
        labels: (n,) numbers of classes.
        number: (n,) an outcome that is a number, in [-1, 1]; None where it has no agreed range.
    """
    nothing, at = np.empty(0), 0
    found = [OwnVariable(labels, nothing, len(classes))] if classes else []
    if number is not None:
        inside = np.clip(number, -1, 1)
        found.append(OwnVariable(bins_of(inside), inside, BINS))
    for rule in columns:
        width = len(feature_names(rule))
        part = features[:, at : at + width]
        at += width
        missing = part[:, -1] > 0 if rule.optional else np.zeros(len(part), dtype=bool)
        match rule:
            case NumericColumn():
                scaled = np.where(missing, np.nan, part[:, 0])
                found.append(OwnVariable(bins_of(scaled), scaled, BINS + rule.optional))
            case BinaryColumn():
                cell = np.where(missing, 2, part[:, 0] > 0).astype(np.int64)
                found.append(OwnVariable(cell, nothing, 2 + rule.optional))
            case CategoricalColumn():
                levels = len(rule.levels)
                cell = np.where(missing, levels, part[:, :levels].argmax(axis=1))
                found.append(OwnVariable(cell.astype(np.int64), nothing, levels + rule.optional))
    return found
