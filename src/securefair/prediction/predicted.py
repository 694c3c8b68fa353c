"""What a model says of some patients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from securefair.data.encoding import Filled

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Prediction:
    """What a model says of some patients, in the order in which they came.

    Attributes:
        classes: their names.
        probabilities: (B, M); a row sums to 1. (B, 0) where no classes are told apart.
        outside: for each patient the columns whose value lies outside the range that the model was
            trained on; empty for most.
        filled: for each patient the columns whose value the model does not know, so that something
            else stood in; empty for most.
        missing: for each patient the columns without a value that some training patients lacked as
            well: the model has learnt what that tells.
        warnings: what was filled in, by column, with the place of the first; and columns that are
            strange in most patients.
        said: (B, K), as the outcome says it, for scores.
        numbers: what is told of each patient, (B,) each, by the name of a column: a probability of
            each class, or what the outcome is told as, such as survival until a horizon.
        images: for each patient the image as its table or folder names it; empty where the model
            looks at none.
    """

    classes: tuple[str, ...]
    probabilities: Array
    outside: tuple[tuple[str, ...], ...]
    filled: tuple[tuple[str, ...], ...]
    missing: tuple[tuple[str, ...], ...]
    warnings: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    numbers: Mapping[str, Array] = field(default_factory=dict)
    said: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def chosen(self) -> list[str]:
        """The most probable class of each patient, the first of equals; none without classes."""
        if not self.classes:
            return []
        return [self.classes[at] for at in self.probabilities.argmax(axis=1)]


def by_patient(filled: Sequence[Filled], patients: int) -> tuple[tuple[str, ...], ...]:
    """For each of so many patients the columns that were filled in."""
    columns: list[list[str]] = [[] for _ in range(patients)]
    for one in filled:
        for row in one.rows.tolist():
            columns[row].append(one.column)
    return tuple(map(tuple, columns))


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
