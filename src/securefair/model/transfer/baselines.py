"""Predictors that any gain must be more than."""

from __future__ import annotations

import numpy as np

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of
from securefair.model.outcomes.columns import Columns
from securefair.model.transfer.design import INTERCEPT_PENALTY
from securefair.model.transfer.penalised import fit
from securefair.model.transfer.polynomial import Polynomial


def most_common(samples: Samples) -> Polynomial:
    """The same answer for every patient, such as how common each class is in training.

    It is shrunk a little towards 0, equal frequencies, by the penalty of intercepts, so that a
    class that a hospital lacks is unlikely and not impossible.
    """
    outcome = outcome_of(samples)
    width = outcome.outputs(samples.classes)
    constant = fit(
        Columns(np.ones((len(samples), 1)), np.empty((len(samples), width, 0))),
        outcome.likelihood(samples),
        np.zeros((1, len(samples), width)),
        np.full((1, width), INTERCEPT_PENALTY),
        np.ones((1, len(samples))),
    )[0]
    return Polynomial(constant, np.zeros((width, samples.features.shape[1])))
