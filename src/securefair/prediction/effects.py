"""What a kept model looks at: how what it predicts moves with each column, and how surely.

Of a patient with the hospital's usual values one column changes by a step, all others stay. Of a
linear model that is the coefficient, in units of the column; of any other one its slope there.
Estimates with intervals are of linear fits: `model.transfer.estimates` says what they rest on.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import TableSpec, feature_names
from securefair.data.sheets import csv_text, unguarded
from securefair.errors import DataError
from securefair.prediction.hospital_model import HospitalModel

if TYPE_CHECKING:
    from securefair.model.outcomes import StudyOutcome
    from securefair.model.transfer import LinearEstimates

Array = NDArray[np.float64]

STEPS = 10
"""A step of a measurement is at most such a part of its range: 1, 2 or 5 times a power of ten."""

COUNTED = 2
"""A range from a whole number to another, and so wide, has a step of 1 at least: it may be a
score, which knows no tenths, and of a measurement 1 is what people speak of as well."""


@dataclass(frozen=True)
class ColumnEffect:
    """One change of one column.

    Attributes:
        column: its name.
        step: by how much a measurement grows, in its unit; None for a code.
        code, instead: what a code changes to, and from; empty for a measurement.
        growth: by how much the predictor grows, such as the logarithm of class 1's odds.
    """

    column: str
    step: float | None
    code: str
    instead: str
    growth: float


class ColumnEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one column, as a ratio or a difference with percentile intervals.

    Attributes:
        column, step, code, instead: as of `ColumnEffect`.
        effect: what is estimated, such as "odds_ratio" (`StudyOutcome.effect`).
        fit: "alone", or "together" with what peers said.
        value: the estimate.
        low_90, high_90, low_95, high_95: ends of intervals.
    """

    column: str
    step: float | None
    code: str
    instead: str
    effect: str
    fit: Literal["alone", "together"]
    value: float
    low_90: float
    high_90: float
    low_95: float
    high_95: float


def effects(model: HospitalModel) -> list[ColumnEffect]:
    """Of every column, in the order of the table; empty where nobody could read them.

    That is: of more than two classes, of samples that came as numbers, and of images.
    """
    table = model.record.table
    if table is None or not model.outcome.effect:
        return []
    usual = np.array(model.record.usual)
    changes = list(_changes(table, usual))
    if not changes:
        return []
    before = np.stack([one[1] for one in changes])
    after = np.stack([one[2] for one in changes])
    grown = (_predictors(model, after) - _predictors(model, before)).tolist()
    return [
        ColumnEffect(one.column, one.step, one.code, one.instead, by)
        for (one, _, _), by in zip(changes, grown, strict=True)
    ]


def estimates_of(
    table: TableSpec, usual: Array, found: LinearEstimates, outcome: StudyOutcome, half: float
) -> list[ColumnEstimate]:
    """Estimates of every change, alone before together; none where no single number says them.

    They have the digits of `estimates_csv`: a report says the same before and after they are read.

    Args:
        table: rules that made features of columns.
        usual: (d,), mean features of the hospital's training patients.
        found: coefficients of these features.
        outcome: that is predicted.
        half: half the agreed range of a number that is predicted; of no account elsewhere.
    """
    from securefair.model.transfer import intervals  # needs scipy, which reading does not

    changes = list(_changes(table, usual))
    if not outcome.effect or not changes:
        return []
    differences = np.stack([after - before for _, before, after in changes])
    rows: list[ColumnEstimate] = []
    fits: list[tuple[Literal["alone", "together"], Array]] = [
        ("alone", found.alone),
        ("together", found.together),
    ]
    drawn = [outcome.effect_of(one[:, 0] @ differences.T, half) for _, one in fits]
    for at, (change, _, _) in enumerate(changes):
        for (fit, _), values in zip(fits, drawn, strict=True):
            ends = intervals(values[:, at]).ravel().tolist()
            value, low_90, high_90, low_95, high_95 = map(_rounded, (float(values[0, at]), *ends))
            rows.append(
                ColumnEstimate(
                    column=change.column,
                    step=change.step,
                    code=change.code,
                    instead=change.instead,
                    effect=outcome.effect,
                    fit=fit,
                    value=value,
                    low_90=low_90,
                    high_90=high_90,
                    low_95=low_95,
                    high_95=high_95,
                )
            )
    return rows


ESTIMATES = "estimates.csv"
"""File of a run, and of a kept model."""

DIGITS = 6
"""Of every number in it."""


def estimates_csv(estimates: Mapping[str, Sequence[ColumnEstimate]]) -> str:
    """One row an estimate, with the hospital before it; six digits."""
    names = ColumnEstimate.__struct_fields__
    rows = [["hospital", *names]]
    for hospital, found in estimates.items():
        for row in found:
            cells = [getattr(row, name) for name in names]
            rows.append([hospital, *("" if one is None else _written(one) for one in cells)])
    return csv_text(rows)


def read_estimates(path: Path) -> list[ColumnEstimate]:
    """The rows of one hospital's `estimates_csv`; none where there is no such file.

    Raises:
        DataError: it is no such file.
    """
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows: Iterable[dict[str, str]] = csv.DictReader(file)
            found = [
                {key: unguarded(value) for key, value in row.items() if key != "hospital"}
                for row in rows
            ]
        steps = [{**row, "step": row["step"] or None} for row in found]
        return msgspec.convert(steps, list[ColumnEstimate], strict=False)
    except (OSError, ValueError, KeyError, csv.Error, msgspec.ValidationError) as error:
        raise DataError(
            "this is no file of estimates", where=str(path), found=str(error)
        ) from error


def _written(cell: str | float) -> str:
    return cell if isinstance(cell, str) else f"{cell:.{DIGITS}g}"


def _rounded(value: float) -> float:
    return float(_written(value))


def _predictors(model: HospitalModel, features: Array) -> Array:
    """Of each patient, (B,); bounded where the model is certain of a class."""
    found = model.outcome.predictors(model.said(features))
    if found is None:
        raise DataError("several predictors have no single effect", where=model.record.hospital)
    return found[:, 0]


def _changes(table: TableSpec, usual: Array) -> Iterator[tuple[ColumnEffect, Array, Array]]:
    """Each change, with the patient before and after it."""
    at = 0
    for column in table.columns:
        width = len(feature_names(column))
        if isinstance(column, NumericColumn):
            step = _step(column.low, column.high)
            half = step / (column.high - column.low)
            middle = min(max(usual[at], half - 1.0), 1.0 - half)  # within the range on both sides
            yield (
                ColumnEffect(column.name, step, "", "", 0.0),
                _with(usual, at, middle - half),
                _with(usual, at, middle + half),
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


def _step(low: float, high: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten that is at most a tenth of the width; 1 where
    that is less and the range may be that of a score."""
    width = high - low
    most = width / STEPS
    power: float = 10.0 ** math.floor(math.log10(most) + 1e-9)
    step = max(times * power for times in (1, 2, 5) if times * power <= most * (1 + 1e-9))
    counted = width >= COUNTED and float(low).is_integer() and float(high).is_integer()
    return max(step, 1.0) if counted else step
