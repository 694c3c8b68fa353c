"""What predictors would have to be multiplied by, and moved by, to be right about other patients.

A calibration intercept is what has to be added to predictors so that they are right on average; a
calibration slope what they are to be multiplied by, beside such an intercept: below 1 where they
say too much (Cox, Biometrika 1958; Van Calster et al., BMC Medicine 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of
from securefair.model.outcomes.columns import Columns
from securefair.model.outcomes.likelihood import Likelihood
from securefair.model.transfer.penalised import fit

Array = NDArray[np.float64]

LARGEST = 12.0
"""Of a coefficient, predictors having a deviation of 1: a fit beyond it tells patients apart wholly
and has no minimum."""

_PENALTY = 1e-7
"""So that such a fit ends, near 15; of others it moves no digit that is printed."""

FLAT = 100 * _PENALTY
"""Of a curvature: below it, the likelihood says nothing of a coefficient, and what a fit finds is
of the penalty alone. One event of a count, or one patient of a class, is worth about 1."""


@dataclass(frozen=True)
class Refits:
    """One refit for each of R weightings; NaN where there is none.

    Attributes:
        intercepts: (R,), beside the predictors as they are.
        slopes: (R,), with an intercept of their own.
    """

    intercepts: Array
    slopes: Array


def refit(predictors: Array, samples: Samples, weights: Array) -> Refits:
    """Refit predictors to what is known, by the likelihood of the outcome.

    There is no slope where predictors are alike, and neither number where patients are told apart
    wholly or are all of one class, or nobody had an event; no intercept where everybody has a
    baseline of its own.

    Args:
        predictors: (B, 1).
        samples: of whom they are.
        weights: (R, B), how often each sample counts.
    """
    outcome, rounds = outcome_of(samples), len(weights)
    nothing = np.full(rounds, np.nan)
    spread, middle = float(predictors.std()), float(predictors.mean())
    ones, alike = np.ones((len(samples), 1)), spread <= 1e-9 * (1 + abs(middle))
    moved = nothing
    if outcome.moves:
        moved = _fitted(ones, predictors, samples, weights)
    if alike:
        return Refits(moved, nothing)
    scaled = (predictors - middle) / spread
    own = np.column_stack([scaled, ones]) if outcome.moves else scaled
    return Refits(moved, _fitted(own, 0 * predictors, samples, weights) / spread)


def _fitted(own: Array, offset: Array, samples: Samples, weights: Array) -> Array:
    """The first coefficient of `own`, (R,); NaN where there is no minimum, or no single one."""
    rounds = len(weights)
    columns = Columns(own, np.zeros((len(samples), 1, 0)))
    likelihood = outcome_of(samples).likelihood(samples)
    found = fit(
        columns,
        likelihood,
        np.broadcast_to(offset, (rounds, *offset.shape)),
        np.full((rounds, columns.parameters), _PENALTY),
        weights,
    )
    told = [  # one after the other: all at once would take much memory
        _curvature(columns, likelihood, offset + columns.logits(one), counts)
        for one, counts in zip(found[:, None], weights[:, None], strict=True)
    ]
    there = (np.abs(found) <= LARGEST).all(axis=1) & (np.array(told) > FLAT)
    return np.where(there, found[:, 0], np.nan)


def _curvature(columns: Columns, likelihood: Likelihood, predictors: Array, counts: Array) -> float:
    """Of one fit, of the likelihood by its first coefficient, the others following it."""
    _, (hessian,) = likelihood.derivatives(columns, predictors, counts)
    held = hessian + _PENALTY * np.eye(len(hessian))
    return float(1 / np.linalg.inv(held)[0, 0])
