"""What a kept model looks at: how the odds of its second class move with each column.

Of a patient with the hospital's usual values one column changes by a step, all others stay. Of a
linear model that is the coefficient, in units of the column; of any other one its slope there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import feature_names
from securefair.prediction.hospital_model import HospitalModel

Array = NDArray[np.float64]

STEPS = 10
"""A step of a measurement is at most such a part of its range: 1, 2 or 5 times a power of ten."""


@dataclass(frozen=True)
class ColumnEffect:
    """One change of one column.

    Attributes:
        column: its name.
        step: by how much a measurement grows, in its unit; None for a code.
        code, instead: what a code changes to, and from; empty for a measurement.
        log_odds: by how much the logarithm of class 1's odds grows.
    """

    column: str
    step: float | None
    code: str
    instead: str
    log_odds: float


def effects(model: HospitalModel) -> list[ColumnEffect]:
    """Of every column, in the order of the table; empty where nobody could read them.

    That is: of more than two classes, of samples that came as numbers, and of images.
    """
    table = model.record.table
    if table is None or len(model.record.classes) != 2:
        return []
    usual = np.array(model.record.usual)
    changes = list(_changes(model, usual))
    if not changes:
        return []
    before = np.stack([one[1] for one in changes])
    after = np.stack([one[2] for one in changes])
    grown = (_log_odds(model, after) - _log_odds(model, before)).tolist()
    return [
        ColumnEffect(one.column, one.step, one.code, one.instead, by)
        for (one, _, _), by in zip(changes, grown, strict=True)
    ]


def _log_odds(model: HospitalModel, features: Array) -> Array:
    """Of class 1, bounded where the model is certain."""
    odds = np.clip(model.probabilities(features), 1e-12, 1.0)
    result: Array = np.log(odds[:, 1]) - np.log(odds[:, 0])
    return result


def _changes(model: HospitalModel, usual: Array) -> Iterator[tuple[ColumnEffect, Array, Array]]:
    """Each change, with the patient before and after it."""
    table, at = model.record.table, 0
    for column in () if table is None else table.columns:
        width = len(feature_names(column))
        if isinstance(column, NumericColumn):
            step = _step(column.high - column.low)
            half = step / (column.high - column.low)
            yield (
                ColumnEffect(column.name, step, "", "", 0.0),
                _with(usual, at, usual[at] - half),
                _with(usual, at, usual[at] + half),
            )
        elif isinstance(column, BinaryColumn):
            yield (
                ColumnEffect(column.name, None, column.yes, column.no, 0.0),
                _with(usual, at, -1.0),
                _with(usual, at, 1.0),
            )
        elif isinstance(column, CategoricalColumn):
            levels = range(at, at + len(column.levels))
            none = usual.copy()
            none[at : at + len(column.levels)] = 0.0
            for level in levels[1:]:  # each against the first, at every hospital alike
                yield (
                    ColumnEffect(
                        column.name, None, column.levels[level - at], column.levels[0], 0.0
                    ),
                    _with(none, at, 1.0),
                    _with(none, level, 1.0),
                )
        at += width


def _with(patient: Array, at: int, value: float) -> Array:
    changed = patient.copy()
    changed[at] = value
    return changed


def _step(width: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten that is at most a tenth of the width."""
    most = width / STEPS
    power: float = 10.0 ** math.floor(math.log10(most) + 1e-9)
    return max(times * power for times in (1, 2, 5) if times * power <= most * (1 + 1e-9))
