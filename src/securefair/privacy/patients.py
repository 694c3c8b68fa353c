"""Whose rows are whose: the unit that a private fit protects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.privacy.randomness import NoiseSource

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Patients:
    """Which patient each row belongs to.

    Attributes:
        of_row: (n,), index of the row's patient in 0..count-1.
        count: number of patients; each has at least one row.
    """

    of_row: NDArray[np.int64]
    count: int

    @classmethod
    def one_row_each(cls, rows: int) -> Patients:
        """For a table in which no patient appears twice: every row is a patient of its own."""
        return cls(np.arange(rows), rows)

    @classmethod
    def named(cls, names: Sequence[str]) -> Patients:
        """By the unit column of a table.

        Args:
            names: (n,), equal for rows of one patient. They are compared and then forgotten.

        Raises:
            DataError: a name is empty: nobody knows whose row that is.
        """
        for row, name in enumerate(names):
            if not str(name).strip():
                raise DataError(
                    "a row without a patient",
                    where=f"row {row}",
                    expected="the unit column names the patient of every row",
                )
        found, of_row = np.unique(np.array([str(name) for name in names]), return_inverse=True)
        return cls(of_row.astype(np.int64), len(found))

    @classmethod
    def of(cls, samples: Samples) -> Patients:
        """As the samples say; every row is a patient of its own where they say nothing."""
        if samples.patients is None:
            return cls.one_row_each(len(samples))
        found, of_row = np.unique(samples.patients, return_inverse=True)
        return cls(of_row.astype(np.int64), len(found))

    def take(self, rows: NDArray[np.int64]) -> Patients:
        """Of the given rows, in that order."""
        found, of_row = np.unique(self.of_row[rows], return_inverse=True)
        return Patients(of_row.astype(np.int64), len(found))

    def limited(self, most: int, noise: NoiseSource) -> NDArray[np.int64]:
        """Rows, ascending, of which no patient has more than `most`: whom has more, at random."""
        kept: list[NDArray[np.int64]] = []
        for patient in range(self.count):
            rows = np.flatnonzero(self.of_row == patient)
            kept.append(rows if len(rows) <= most else rows[noise.subset(len(rows), most)])
        return np.sort(np.concatenate(kept)) if kept else np.empty(0, dtype=np.int64)

    def weights(self) -> Array:
        """(n,), 1 / rows of its patient: a patient's loss is the mean over its rows."""
        return 1.0 / np.bincount(self.of_row, minlength=self.count)[self.of_row]


def check_finite(features: NDArray[np.floating]) -> None:
    """Refuse what no length bounds; samples are checked when they are made, arrays may change.

    Args:
        features: (n, ...).

    Raises:
        DataError: a feature is NaN or infinite; names the first row and feature.
    """
    wrong = np.argwhere(~np.isfinite(features))
    if len(wrong):
        row, *place = wrong[0].tolist()
        raise DataError(
            "a feature is NaN or infinite",
            where=f"row {row}, feature {', '.join(map(str, place))}",
            found=float(features[tuple(wrong[0])]),
            expected="finite numbers: the noise is for features of a bounded length",
        )


def shortened(features: Array, norm: float) -> Array:
    """Rows (n, d) of at most that Euclidean length; longer ones keep their direction.

    Raises:
        DataError: a feature is NaN or infinite.
    """
    check_finite(features)
    # In units of each row's largest feature, so that no square is above the largest float.
    largest = np.maximum(np.abs(features).max(axis=1, keepdims=True, initial=0.0), 1e-300)
    features = features * np.minimum(1.0, norm / largest)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    # A hair below: float64 products of the result must not exceed the norm either.
    shortened: Array = features * np.minimum(1.0, (1 - 1e-12) * norm / np.maximum(lengths, 1e-300))
    return shortened
