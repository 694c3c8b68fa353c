"""Public random trees: a fixed set of questions about a patient, the same for everybody.

Every tree asks three questions, "is feature f above t?", the next one by the answer before, and
ends in one of eight leaves. Features and thresholds are drawn once, from a seed that stands here
and from the public range of features, [-1, 1]; nothing is fitted to any patient. A patient's leaves
are features that a linear fit learns steps and interactions from, and that its hospital computes in
the clear before it encrypts them (a public layer).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError

Array = NDArray[np.float64]

TREES, DEPTH = 64, 3
LEAVES_A_TREE: int = 2**DEPTH
QUESTIONS_A_TREE = LEAVES_A_TREE - 1
LEAVES = TREES * LEAVES_A_TREE
SCALE = 8.0**-0.5
"""A patient's leaf: 64 of them have the squared length of eight features at the end of their range,
so that the penalties of linear fits mean much the same."""

_SEED = 0x5ECF41E
_STEPS = 2**16
"""Thresholds are multiples of its inverse: programs of less precision compare them exactly."""


@dataclass(frozen=True, eq=False)
class PublicTrees:
    """Trees as arrays.

    Attributes:
        columns: (T, 7), which feature every question is about; the questions after question i are
            2 i + 1, if the feature is at most the threshold, and 2 i + 2.
        thresholds: (T, 7), multiples of 2^-16 in (-1, 1).

    Raises:
        ModelError: shapes disagree.
    """

    columns: NDArray[np.int64]
    thresholds: Array

    def __post_init__(self) -> None:
        shape = (len(self.columns), QUESTIONS_A_TREE)
        if not self.columns.shape == self.thresholds.shape == shape:
            raise ModelError("these are no public trees", found=self.columns.shape, expected=shape)

    @property
    def leaves(self) -> int:
        """Of all trees."""
        trees = len(self.columns)
        return trees * LEAVES_A_TREE

    def asks_like(self, other: PublicTrees) -> bool:
        """Whether both are the same trees."""
        return np.array_equal(self.columns, other.columns) and np.array_equal(
            self.thresholds, other.thresholds
        )

    def found(self, features: Array) -> Array:
        """Features (B, d) -> (B, leaves): `SCALE` at the leaf that a patient has of each tree."""
        above = features[:, self.columns] > self.thresholds
        at = np.zeros((len(features), len(self.columns)), dtype=np.int64)
        for _ in range(DEPTH):
            at = 2 * at + 1 + np.take_along_axis(above, at[..., None], axis=2)[..., 0]
        leaf = at - QUESTIONS_A_TREE + LEAVES_A_TREE * np.arange(len(self.columns))
        result = np.zeros((len(features), self.leaves))
        np.put_along_axis(result, leaf, SCALE, axis=1)
        return result

    def mapped(self, features: Array) -> Array:
        """Features (B, d) -> features and leaves (B, d + leaves)."""
        return np.concatenate([features, self.found(features)], axis=1)


@lru_cache(maxsize=8)
def public_trees(features: int) -> PublicTrees:
    """Everybody's trees for patients of so many features, 1 or more."""
    rng = np.random.default_rng([_SEED, features])
    columns = rng.integers(0, features, (TREES, QUESTIONS_A_TREE))
    steps = rng.integers(1 - _STEPS, _STEPS, columns.shape)
    return PublicTrees(columns, steps / _STEPS)
