"""Settings are averaged by how well they predict the hospital's own held-out patients.

Pseudo-Bayesian model averaging: with S_c the held-out loss of setting c, summed over all patients
of a cross-validation (log-loss of classes), its weight is proportional to exp(-S_c). A hard choice
by a few dozen patients throws most of a gain away; the average keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of
from securefair.model.outcomes.columns import Columns
from securefair.model.transfer.folds import training_counts
from securefair.model.transfer.penalised import fit

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Validated:
    """Settings of one design, each fitted on all patients and judged on held-out ones.

    Attributes:
        coefficients: (S, P), fitted on all patients.
        held_out: (S, n, L), predictors of each patient by the fit that did not see it; more where
            the outcome needs it (`StudyOutcome.unseen`).
        losses: (S, U), losses of these, of patients where they are separable.
        offsets, penalties: that they were fitted with, (S, n, L) and (S, P).
    """

    coefficients: Array
    held_out: Array
    losses: Array
    offsets: Array
    penalties: Array

    @property
    def scores(self) -> Array:
        """S_c, (S,): held-out loss, summed over all patients, nats."""
        result: Array = self.losses.sum(axis=1)
        return result


def validate(
    columns: Columns,
    samples: Samples,
    offsets: Array,
    penalties: Array,
    folds: NDArray[np.int64],
) -> Validated:
    """Fit every setting on all patients and, fold by fold, without those held out.

    Args:
        columns: of n samples, with P coefficients.
        samples: these; their weights count in fits and in losses, their features do not.
        offsets: (S, n, L).
        penalties: (S, P).
        folds: (n,), as `stratified_folds`.
    """
    outcome, counts = outcome_of(samples), training_counts(folds)
    if samples.weights is not None:
        counts = counts * samples.weights
    likelihood, settings, rounds = outcome.likelihood(samples), len(offsets), len(counts) - 1
    of_all = fit(columns, likelihood, offsets, penalties, np.tile(counts[-1], (settings, 1)))
    # Without a tenth of the patients little changes: two steps from there instead of six.
    theta = fit(
        columns,
        likelihood,
        np.repeat(offsets, rounds, axis=0),
        np.repeat(penalties, rounds, axis=0),
        np.tile(counts[:-1], (settings, 1)),
        start=np.repeat(of_all, rounds, axis=0),
    )
    predictors = columns.logits(theta).reshape(settings, rounds, *offsets.shape[1:])
    unseen = outcome.unseen(predictors + offsets[:, None], folds)
    losses = outcome.held_out(unseen, samples, folds)
    return Validated(of_all, unseen, losses, offsets, penalties)


def averaging_weights(scores: Array) -> Array:
    """w_c proportional to exp(-S_c), (S,)."""
    result: Array = softmax(-scores)
    return result
