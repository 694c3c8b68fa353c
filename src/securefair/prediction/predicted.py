"""What a model says of some patients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from securefair.data import Table
from securefair.data.encoding import Filled
from securefair.errors import DataError

Array = NDArray[np.float64]

BY_CHANCE = 0.05
"""Patients like those of training are warned of less often than that, a column and table."""

SHOWN = 5
"""Rows that an error names."""

LEAST_STRANGE = 5
"""Patients outside of a range that may be more than chance."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Prediction:
    """What a model says of some patients, in the order in which they came.

    Attributes:
        classes: their names.
        probabilities: (B, M); a row sums to 1. (B, 0) where no classes are told apart.
        outside: for each patient the columns whose value lies outside the range that the model was
            trained on; empty for most. A value that is missing lies nowhere.
        filled: for each patient the columns whose value the model does not know, so that something
            else stood in; empty for most.
        missing: for each patient the columns without a value that the rules let be missing: the
            model knows what that tells. Where no training patient lacked it a warning says so.
        warnings: what was filled in, by column, with the place of the first; and columns that are
            strange in most patients.
        said: (B, K), as the outcome says it, for scores.
        numbers: what is told of each patient, (B,) each, by the name of a column: a probability of
            each class, or what the outcome is told as, such as survival until a horizon.
        unknown: patients, from 0, of whom no column has a value that the model knows: whoever
            writes predictions leaves theirs empty.
        images: for each patient the image as its table or folder names it; empty where the model
            looks at none.
    """

    classes: tuple[str, ...]
    probabilities: Array
    outside: tuple[tuple[str, ...], ...]
    filled: tuple[tuple[str, ...], ...]
    missing: tuple[tuple[str, ...], ...]
    warnings: tuple[str, ...] = ()
    unknown: frozenset[int] = frozenset()
    images: tuple[str, ...] = ()
    numbers: Mapping[str, Array] = field(default_factory=dict)
    said: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def chosen(self) -> list[str]:
        """The most probable class of each patient, the first of equals; none without classes."""
        if not self.classes:
            return []
        return [self.classes[at] for at in self.probabilities.argmax(axis=1)]

    def known(self, values: Sequence[object]) -> list[object]:
        """What is said of each patient, and None of those of whom nothing is known."""
        return [None if at in self.unknown else one for at, one in enumerate(values)]

    def blanked(self, numbers: Array) -> Array:
        """Numbers (B, ...) of each patient, with NaN of those of whom nothing is known."""
        if not self.unknown:
            return numbers
        result = np.array(numbers, dtype=np.float64)
        result[sorted(self.unknown)] = np.nan
        return result

    def refuse_unknown(self) -> None:
        """Refuse patients of whom nothing is known: among classes nothing stands for no class.

        Raises:
            DataError: there is one; names the rows.
        """
        rows = sorted(self.unknown)
        if rows:
            shown = ", ".join(map(str, rows[:SHOWN]))
            more = f" and {len(rows) - SHOWN} others" if len(rows) > SHOWN else ""
            raise DataError(
                "no column has a value that the model knows: no class is predicted",
                where=f"{'row' if len(rows) == 1 else 'rows'} {shown}{more} (the first is row 0)",
                hint="Leave these patients out; predict_proba has NaN there",
            )


def by_patient(filled: Sequence[Filled], patients: int) -> tuple[tuple[str, ...], ...]:
    """For each of so many patients the columns that were filled in."""
    columns: list[list[str]] = [[] for _ in range(patients)]
    for one in filled:
        for row in one.rows.tolist():
            columns[row].append(one.column)
    return tuple(map(tuple, columns))


def unknown_patients(filled: Sequence[Filled], columns: int) -> frozenset[int]:
    """Patients of whom all of so many columns were filled in, some of them unlike in training: what
    the model would say of them it says of nobody."""
    times = Counter(row for one in filled for row in one.rows.tolist())
    strange = {row for one in filled if not one.expected for row in one.rows.tolist()}
    return frozenset(row for row in strange if times[row] == columns)


def unknown_warning(unknown: frozenset[int]) -> tuple[str, ...]:
    """That some patients get no prediction, where there are any."""
    if not unknown:
        return ()
    whom = "1 patient" if len(unknown) == 1 else f"{len(unknown)} patients"
    return (f"of {whom} no column has a value that the model knows: nothing is predicted",)


def filled_warning(filled: Filled) -> str:
    """What was filled in, in one line."""
    count = len(filled.rows)
    whose = "1 patient" if count == 1 else f"{count} patients"
    shown = ", ".join(f'"{text}"' for text in filled.texts[:3])
    more = "" if len(filled.texts) <= 3 else f" and {len(filled.texts) - 3} others"
    what = (
        f"{shown}{more}: unknown to the model, which knows {', '.join(filled.known)}"
        if filled.texts
        else "a value is missing, and none was in training"
    )
    instead = "counted as missing" if filled.as_missing else "the average of training stood in"
    return f"{filled.place}: {what} ({whose}; {instead})"


def never_lacked(
    filled: Sequence[Filled], patients: int, columns: Sequence[str], high: Sequence[float]
) -> list[str]:
    """Columns that may be missing by the rules, as some patients' are and no training patient's.

    Args:
        filled: what is missing or stands in.
        patients: all.
        columns: for each feature the column that it comes from.
        high: largest value of each feature in training. The last one of a column that may be
            missing says that it is.
    """
    last = {column: at for at, column in enumerate(columns)}
    return [
        f"column {one.column}: no value of {len(one.rows)} of {patients} patients; every training "
        "patient had one"
        for one in filled
        if one.expected and high[last[one.column]] <= 0
    ]


def read_specially(rows: object) -> tuple[str, ...]:
    """What the reader of a table had to decide, and may have decided wrongly."""
    notes = rows.notes if isinstance(rows, Table) else ()
    return tuple(
        f"{'' if one.column is None else f'column {one.column}: '}{one.message}. {one.remedy}"
        for one in notes
        if not one.settled
    )


def crowded(column: str, values: Array, low: float, usual: float, high: float) -> list[str]:
    """That all values of a column crowd at one end of what training had, as in another unit.

    Of a value in [0, 1] with mean m, at most (1 - m) / (1 - t) are t or less, and at most m / t are
    t or more (Markov's inequality), whatever the distribution: so all of n values do so by chance
    at most that to the power of n.
    """
    span = high - low
    if span <= 0 or len(values) < LEAST_STRANGE:
        return []
    scaled, mean = (values - low) / span, (usual - low) / span
    largest, least = float(scaled.max()), float(scaled.min())
    # Powers of less than 1 only: others would not tell, and are too large for a number.
    if mean < least <= 1 and (mean / least) ** len(values) < BY_CHANCE:
        where = f"above {least:.0%}"
    elif 0 <= largest < mean and ((1 - mean) / (1 - largest)) ** len(values) < BY_CHANCE:
        where = f"below {largest:.0%}"
    else:
        return []
    return [
        f"column {column}: all {len(values)} patients lie {where} of the range that training "
        "patients had; is the unit the same?"
    ]


def strange_columns(outside: Sequence[Sequence[str]]) -> list[str]:
    """Columns in which most patients are unlike those of the training, as in another unit."""
    counts = Counter(name for columns in outside for name in columns)
    return [
        f"column {name}: {count} of {len(outside)} patients lie outside of what the training "
        "patients had; is the unit, or the coding, the same?"
        for name, count in counts.items()
        if count >= LEAST_STRANGE and 2 * count > len(outside)
    ]
