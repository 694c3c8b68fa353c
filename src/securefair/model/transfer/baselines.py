"""Predictors that any gain must be more than."""

from __future__ import annotations

import numpy as np

from securefair.data.dataset import Samples
from securefair.model.transfer.design import INTERCEPT_PENALTY
from securefair.model.transfer.penalised import Columns, fit, outputs
from securefair.model.transfer.polynomial import Polynomial


def most_common(samples: Samples) -> Polynomial:
    """The same answer for every patient: how common each class is among the training patients.

    Frequencies shrunk a little towards equal ones by the penalty of intercepts, so that a class
    that a hospital lacks is unlikely and not impossible.
    """
    width = outputs(samples.classes)
    constant = fit(
        Columns(np.ones((len(samples), 1)), np.empty((len(samples), width, 0))),
        samples.labels,
        np.zeros((1, len(samples), width)),
        np.full((1, width), INTERCEPT_PENALTY),
        np.ones((1, len(samples))),
    )[0]
    return Polynomial(constant, np.zeros((width, samples.features.shape[1])))
