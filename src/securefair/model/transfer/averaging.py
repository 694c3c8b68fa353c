"""Settings are averaged by how well they predict the hospital's own held-out patients.

Pseudo-Bayesian model averaging: with S_c the held-out log-loss of setting c, summed over all
patients of a cross-validation, its weight is proportional to exp(-S_c). A hard choice by a few
dozen patients throws most of a gain away; the average keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from securefair.model.transfer.folds import training_counts
from securefair.model.transfer.penalised import Columns, fit, losses

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Validated:
    """Settings of one design, each fitted on all patients and judged on held-out ones.

    Attributes:
        coefficients: (S, P), fitted on all patients.
        held_out: (S, n, L), logits of each patient by the fit that did not see it.
        losses: (S, n), log-loss of these.
    """

    coefficients: Array
    held_out: Array
    losses: Array

    @property
    def scores(self) -> Array:
        """S_c, (S,): held-out log-loss, summed over all patients, nats."""
        result: Array = self.losses.sum(axis=1)
        return result


def validate(
    columns: Columns,
    labels: NDArray[np.int64],
    offsets: Array,
    penalties: Array,
    folds: NDArray[np.int64],
    weights: Array | None = None,
) -> Validated:
    """Fit every setting on all patients and, fold by fold, without those held out.

    Args:
        columns: of n samples, with P coefficients.
        labels: (n,).
        offsets: (S, n, L).
        penalties: (S, P).
        folds: (n,), as `stratified_folds`.
        weights: (n,), how much each sample counts, in fits and in losses; None: alike.
    """
    counts, each = training_counts(folds), np.ones(len(labels)) if weights is None else weights
    counts = counts * each
    settings, rounds = len(offsets), len(counts)
    theta = fit(
        columns,
        labels,
        np.repeat(offsets, rounds, axis=0),
        np.repeat(penalties, rounds, axis=0),
        np.tile(counts, (settings, 1)),
    ).reshape(settings, rounds, -1)
    logits = columns.logits(theta.reshape(settings * rounds, -1))
    logits = logits.reshape(settings, rounds, *logits.shape[1:])
    held_out = offsets + logits[:, folds, np.arange(len(labels))]
    return Validated(theta[:, -1], held_out, each * losses(held_out, labels))


def averaging_weights(scores: Array) -> Array:
    """w_c proportional to exp(-S_c), (S,)."""
    result: Array = softmax(-scores)
    return result
