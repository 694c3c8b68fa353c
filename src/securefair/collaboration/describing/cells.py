"""A hospital's own patients, counted in cells that the agreed rules name.

Every patient is in one cell of each variable: in a level or a bin, or among those without a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import TableSpec, feature_names

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

BINS = 20
"""Of a measurement, of equal width over its agreed range; values beyond are in the outer ones."""


@dataclass(frozen=True)
class Variable:
    """A column of the table, or the outcome.

    Attributes:
        name: of the column.
        levels: its codes; none of a measurement.
        low, high: agreed range of a measurement.
    """

    name: str
    levels: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0

    @property
    def measured(self) -> bool:
        """Whether it is a measurement."""
        return not self.levels

    @property
    def cells(self) -> int:
        """Levels or bins, and the last one for patients without a value."""
        return (BINS if self.measured else len(self.levels)) + 1

    def in_unit(self, scaled: float) -> float:
        """What [-1, 1] stands for."""
        return self.low + (scaled + 1) / 2 * (self.high - self.low)


@dataclass(frozen=True, eq=False)
class OwnVariable:
    """One variable of one hospital.

    Attributes:
        cell: (n,) the cell of each patient.
        scaled: (n,) a measurement in [-1, 1]; NaN where it is missing; empty for levels.
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
        """With the mean of own values in place of missing ones."""
        mean = float(np.nanmean(self.scaled)) if np.isfinite(self.scaled).any() else 0.0
        scaled = np.where(np.isnan(self.scaled), mean, self.scaled)
        return OwnVariable(bins_of(scaled), scaled, self.cells)

    @property
    def moments(self) -> Array:
        """Sums of values and of their squares, (2,)."""
        return np.array([np.nansum(self.scaled), np.nansum(self.scaled**2)])


def bins_of(scaled: Array) -> Counts:
    """The bin of each value in [-1, 1]; `BINS` where it is missing."""
    bins = np.clip(np.floor((np.nan_to_num(scaled) + 1) / 2 * BINS), 0, BINS - 1)
    return np.where(np.isnan(scaled), BINS, bins).astype(np.int64)


def variables_of(spec: TableSpec, classes: Sequence[str]) -> list[Variable]:
    """The outcome, if it has classes, and every column but images.

    Args:
        spec: the agreed rules.
        classes: names of the outcome's classes; none where it has none.
    """
    found = [Variable(spec.target.name, tuple(classes))] if classes else []
    for rule in spec.columns:
        match rule:
            case NumericColumn():
                found.append(Variable(rule.name, low=rule.low, high=rule.high))
            case BinaryColumn():
                found.append(Variable(rule.name, (rule.no, rule.yes)))
            case CategoricalColumn():
                found.append(Variable(rule.name, rule.levels))
    return found


def own_variables(
    spec: TableSpec, classes: Sequence[str], features: Array, labels: Counts
) -> list[OwnVariable]:
    """The patients of one hospital, in the order of `variables_of`.

    Args:
        spec, classes: as there.
        features: (n, d), as the rules make them.
        labels: (n,) numbers of classes.
    """
    nothing, at = np.empty(0), 0
    found = [OwnVariable(labels, nothing, len(classes) + 1)] if classes else []
    for rule in spec.columns:
        width = len(feature_names(rule))
        part = features[:, at : at + width]
        at += width
        missing = part[:, -1] > 0 if rule.optional else np.zeros(len(part), dtype=bool)
        match rule:
            case NumericColumn():
                scaled = np.where(missing, np.nan, part[:, 0])
                found.append(OwnVariable(bins_of(scaled), scaled, BINS + 1))
            case BinaryColumn():
                cell = np.where(missing, 2, part[:, 0] > 0).astype(np.int64)
                found.append(OwnVariable(cell, nothing, 3))
            case CategoricalColumn():
                levels = len(rule.levels)
                cell = np.where(missing, levels, part[:, :levels].argmax(axis=1))
                found.append(OwnVariable(cell.astype(np.int64), nothing, levels + 1))
    return found
