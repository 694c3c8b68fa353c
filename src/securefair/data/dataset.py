"""Samples of one participant: features, labels, and what is held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.errors import DataError


@dataclass(frozen=True)
class Samples:
    """Features (B, ...) as float64 and integer labels (B,) in 0..classes-1.

    Raises:
        DataError: shapes disagree, a feature is not finite, or a label is out of range.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    classes: int

    def __post_init__(self) -> None:
        x, y = self.features, self.labels
        if len(x) != len(y) or y.ndim != 1:
            raise DataError(
                "features and labels disagree",
                found=f"{x.shape} and {y.shape}",
                expected="(B, ...) and (B,)",
            )
        if not np.isfinite(x).all():
            row = int(np.flatnonzero(~np.isfinite(x.reshape(len(x), -1)).all(axis=1))[0])
            raise DataError(
                "a feature is NaN or infinite",
                where=f"row {row}",
                hint="Fill missing values, or add a missing-value indicator",
            )
        if len(y) and (y.min() < 0 or y.max() >= self.classes):
            raise DataError(
                "a label is out of range",
                found=int(y.min() if y.min() < 0 else y.max()),
                expected=f"0 to {self.classes - 1}",
            )

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.int64]) -> Samples:
        """The given rows, in that order."""
        return Samples(self.features[rows], self.labels[rows], self.classes)


@dataclass(frozen=True)
class ParticipantData:
    """One participant's name, training samples and held-out test samples."""

    name: str
    train: Samples
    test: Samples
