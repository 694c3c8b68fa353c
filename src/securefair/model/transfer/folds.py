"""Which fold of a cross-validation holds which of a hospital's own patients out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.data.split import one_row_each

FOLDS = 5


def stratified_folds(
    samples: Samples, rng: np.random.Generator, folds: int = FOLDS
) -> NDArray[np.int64]:
    """The fold of each sample, (n,), in 0..folds-1.

    Rows of one patient are in one fold: held-out scores of a model that has seen the others would
    praise what knows patients by heart. One row of each is dealt, of its rarest class.

    Guarantees of what is dealt: folds differ by at most one sample in size, and by at most one
    sample of any class. Unlike scikit-learn's splitter this takes classes with fewer samples than
    folds, and fewer samples than folds: some folds are then empty, and every sample has one of its
    own.
    """
    one = one_row_each(samples)
    if len(one) == len(samples):
        return _dealt(samples.labels, rng, folds)
    at = np.searchsorted(samples.who[one], samples.who)
    return _dealt(samples.labels[one], rng, folds)[at]


def _dealt(labels: NDArray[np.int64], rng: np.random.Generator, folds: int) -> NDArray[np.int64]:
    result = np.empty(len(labels), dtype=np.int64)
    order = rng.permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    # Dealt in turn, one class after the other.
    result[by_class] = np.arange(len(labels)) % folds
    return result


def training_counts(folds: NDArray[np.int64]) -> NDArray[np.float64]:
    """How often each sample counts in each fold's fit, (folds, n), and in the last row for all."""
    number = int(folds.max(initial=0)) + 1
    held_out = folds[None, :] == np.arange(number)[:, None]
    return np.concatenate([~held_out, np.ones((1, len(folds)), dtype=bool)]).astype(np.float64)
