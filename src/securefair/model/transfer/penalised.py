"""Penalised logistic and multinomial fits with an offset, many settings at once.

One problem is: find theta that minimises

    sum_i c_i loss(y_i, o_i + D_i theta) + 1/2 sum_p penalty_p theta_p^2

with the logistic loss of one logit (two classes: the logit of class 1 against class 0) or the
softmax cross-entropy of M symmetric logits (three classes and more). scikit-learn's fits take no
offset and leave the intercept unpenalised, so this is Newton's method with step halving. Settings
and folds of a cross-validation differ in offset, penalties and counts only: they share the design
and are solved side by side, which takes a tenth of the time that scipy's optimisers take.

A design has columns with a coefficient of their own for every logit (a patient's features), and
columns with one coefficient for all logits (a teacher's logits). That most entries of D are zeros
is worth a factor of ten with ten classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.model.outcomes.columns import Columns
from securefair.model.outcomes.likelihood import Likelihood

Array = NDArray[np.float64]

MAX_STEPS = 100
TOLERANCE = 1e-11
"""Of the squared Newton decrement, twice the distance in the objective: a last step squares it."""
_HALVINGS = 40
_FEW = 24  # coefficients below which a call for each problem takes longer than it saves
_MEMORY = 1 << 23  # most numbers in one temporary array


def fit(
    columns: Columns,
    likelihood: Likelihood,
    offsets: Array,
    penalties: Array,
    counts: Array,
    start: Array | None = None,
    tolerance: float = TOLERANCE,
) -> Array:
    """The minimisers theta (S, P) of S problems.

    Args:
        columns: of n samples.
        likelihood: of these samples.
        offsets: (S, n, L).
        penalties: (S, P), above 0, so that each problem has one minimum, even without samples.
        counts: (S, n), how often each sample counts; 0 leaves it out.
        start: (S, P), minimisers of problems like these; zeros without any.
        tolerance: see `TOLERANCE`.
    """
    if start is None:
        start = np.zeros((len(offsets), columns.parameters))
    size = max(1, _MEMORY // (columns.parameters * max(len(columns.own), columns.parameters)))
    parts = [
        _newton(
            columns,
            likelihood,
            offsets[part],
            penalties[part],
            counts[part],
            start[part],
            tolerance,
        )
        for part in (slice(i, i + size) for i in range(0, len(offsets), size))
    ]
    return np.concatenate(parts)


def _newton(
    columns: Columns,
    likelihood: Likelihood,
    offsets: Array,
    penalties: Array,
    counts: Array,
    theta: Array,
    tolerance: float,
) -> Array:
    def objective(theta: Array, logits: Array) -> Array:
        value: Array = likelihood.total(logits, counts) + (penalties * theta**2).sum(1) / 2
        return value

    diagonal = np.arange(columns.parameters)
    found = np.zeros_like(theta)
    left = np.arange(len(offsets))  # problems that have not converged
    logits = offsets + columns.logits(theta)
    value = objective(theta, logits)
    for _ in range(MAX_STEPS):
        gradient, hessian = likelihood.derivatives(columns, logits, counts)
        gradient += penalties * theta
        hessian[:, diagonal, diagonal] += penalties
        step = _solved(hessian, gradient)
        decrement = (step * gradient).sum(1)
        going = decrement > tolerance * (1 + value)
        if not going.all():
            found[left] = theta - step
            if not going.any():
                break
            left, theta, value, step = left[going], theta[going], value[going], step[going]
            offsets, penalties, counts = offsets[going], penalties[going], counts[going]
            decrement = decrement[going]
        length = np.ones(len(theta))
        for _ in range(_HALVINGS):
            trial = theta - length[:, None] * step
            trial_logits = offsets + columns.logits(trial)
            trial_value = objective(trial, trial_logits)
            # Rounding can hide the last, tiny improvements: then a full step is right as well.
            worse = trial_value > value - 1e-4 * length * decrement + 1e-13 * (1 + value)
            if not worse.any():
                break
            length = np.where(worse, length / 2, length)
        theta, logits, value = trial, trial_logits, trial_value
    else:
        found[left] = theta
    return found


def _solved(hessians: Array, gradients: Array) -> Array:
    """H^-1 g of every problem, (S, P), H being symmetric and positive definite.

    Cholesky's factorisation takes half the time of the one that suits any matrix.
    """
    found = np.empty(gradients.shape)
    if gradients.shape[1] < _FEW:
        found[:] = np.linalg.solve(hessians, gradients[..., None])[..., 0]
        return found
    from scipy.linalg.lapack import dposv  # takes a while to load

    for at, (hessian, gradient) in enumerate(zip(hessians, gradients, strict=True)):
        _, found[at], failed = dposv(hessian.T, gradient, lower=1)
        if failed:  # rounding has made a small curvature negative
            found[at] = np.linalg.solve(hessian, gradient)
    return found
