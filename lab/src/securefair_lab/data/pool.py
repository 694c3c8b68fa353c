"""A data set before it is divided: features come into being only for the rows someone takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data import Samples
from securefair.errors import DataError
from securefair_lab.data.partition.interface import samples_by_class

Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Labels (B,), and the features of any rows on demand.

    Dividing is done on row numbers, so that a data set of images stays bytes, and is in memory
    once, until a participant's share becomes float32.

    Args:
        labels: in 0..classes-1.
        classes: M.
        features_of: rows -> their samples, in that order.
        sites: where each sample comes from, for natural participants.

    Raises:
        DataError: a label is out of range, or there is not one site a sample.
    """

    labels: NDArray[np.int64]
    classes: int
    features_of: Callable[[Rows], Samples]
    sites: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        y = self.labels
        if len(y) and (y.min() < 0 or y.max() >= self.classes):
            raise DataError(
                "a label is out of range",
                found=int(y.min() if y.min() < 0 else y.max()),
                expected=f"0 to {self.classes - 1}",
            )
        if self.sites is not None and len(self.sites) != len(y):
            raise DataError("not one site a sample", found=len(self.sites), expected=len(y))

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Rows) -> Pool:
        """The given rows, in that order; no features are made yet."""
        return Pool(
            labels=self.labels[rows],
            classes=self.classes,
            features_of=lambda inner: self.features_of(rows[inner]),
            sites=None if self.sites is None else tuple(self.sites[row] for row in rows),
        )

    def samples(self) -> Samples:
        """All of them, with their features."""
        return self.features_of(np.arange(len(self)))


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A named pool for training and, where the data set comes with one, a pool for testing."""

    name: str
    train: Pool
    test: Pool | None = None


def pool_of(samples: Samples, sites: tuple[str, ...] | None = None) -> Pool:
    """Samples that are in memory already, as a pool."""
    return Pool(
        labels=samples.labels, classes=samples.classes, features_of=samples.take, sites=sites
    )


def balanced_subset(pool: Pool, each: int, rng: np.random.Generator) -> Pool:
    """`each` samples of every class, in random order (CFFL: 11,687 of each of Adult's two).

    Raises:
        DataError: a class has fewer.
    """
    by_class = samples_by_class(pool.labels, rng)
    for label in range(pool.classes):
        found = len(by_class.get(label, ()))
        if not 1 <= each <= found:
            raise DataError(
                "a class has not as many samples",
                where=f"class {label}",
                found=each,
                expected=f"1 to {found}",
            )
    return pool.take(rng.permutation(np.concatenate([rows[:each] for rows in by_class.values()])))
