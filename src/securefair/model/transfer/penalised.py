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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

Array = NDArray[np.float64]

MAX_STEPS = 100
TOLERANCE = 1e-20  # of the squared Newton decrement, which is twice the distance in the objective
_HALVINGS = 40
_MEMORY = 1 << 23  # most numbers in one temporary array


def outputs(classes: int) -> int:
    """Logits a model has: one difference for two classes, one for each class beyond."""
    return 1 if classes == 2 else classes


def losses(logits: Array, labels: NDArray[np.int64]) -> Array:
    """The loss of each sample, nats: logits (..., n, L) and labels (n,) -> (..., n)."""
    if logits.shape[-1] == 1:
        wrong_way = np.where(labels == 1, -logits[..., 0], logits[..., 0])
        result: Array = np.logaddexp(0.0, wrong_way)
        return result
    every = log_softmax(logits, axis=-1)
    taken: Array = -np.take_along_axis(
        every, np.broadcast_to(labels[:, None], (*every.shape[:-1], 1)), axis=-1
    )[..., 0]
    return taken


def probabilities(logits: Array) -> Array:
    """Logits (..., L) -> probabilities of all classes (..., M)."""
    if logits.shape[-1] == 1:
        return np.concatenate([expit(-logits), expit(logits)], axis=-1)
    result: Array = softmax(logits, axis=-1)
    return result


@dataclass(frozen=True, eq=False)
class Columns:
    """What the coefficients of a fit multiply.

    The order of coefficients is: those of `own`, logit by logit; then those of `shared`.

    Attributes:
        own: (n, K), with L coefficients each, one a logit.
        shared: (n, L, T), with one coefficient each.
    """

    own: Array
    shared: Array

    @property
    def parameters(self) -> int:
        """L K + T."""
        _, width, teachers = self.shared.shape
        return int(width * self.own.shape[1] + teachers)

    def logits(self, theta: Array) -> Array:
        """Coefficients (S, P) -> logits (S, n, L)."""
        width, split = self.shared.shape[1], self.parameters - self.shared.shape[2]
        by_logit = theta[:, :split].reshape(len(theta), width, -1)
        of_teachers: Array = np.einsum("nlt,st->snl", self.shared, theta[:, split:])
        return of_teachers + np.swapaxes(by_logit @ self.own.T, 1, 2)


def fit(
    columns: Columns,
    labels: NDArray[np.int64],
    offsets: Array,
    penalties: Array,
    counts: Array,
) -> Array:
    """The minimisers theta (S, P) of S problems.

    Args:
        columns: of n samples.
        labels: (n,).
        offsets: (S, n, L).
        penalties: (S, P), above 0, so that each problem has one minimum, even without samples.
        counts: (S, n), how often each sample counts; 0 leaves it out.
    """
    size = max(1, _MEMORY // (columns.parameters * max(len(labels), columns.parameters)))
    parts = [
        _newton(
            columns, labels, offsets[i : i + size], penalties[i : i + size], counts[i : i + size]
        )
        for i in range(0, len(offsets), size)
    ]
    return np.concatenate(parts)


def _newton(
    columns: Columns, labels: NDArray[np.int64], offsets: Array, penalties: Array, counts: Array
) -> Array:
    def objective(theta: Array, logits: Array) -> Array:
        value: Array = (counts * losses(logits, labels)).sum(1) + (penalties * theta**2).sum(1) / 2
        return value

    diagonal = np.arange(columns.parameters)
    found = np.zeros((len(offsets), columns.parameters))
    left = np.arange(len(offsets))  # problems that have not converged
    theta, logits = found[left], offsets
    value = objective(theta, logits)
    for _ in range(MAX_STEPS):
        gradient, hessian = _derivatives(columns, labels, logits, counts)
        gradient += penalties * theta
        hessian[:, diagonal, diagonal] += penalties
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        decrement = (step * gradient).sum(1)
        going = decrement > TOLERANCE * (1 + value)
        if not going.all():
            found[left] = theta
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


def _derivatives(
    columns: Columns, labels: NDArray[np.int64], logits: Array, counts: Array
) -> tuple[Array, Array]:
    """Gradient (S, P) and Hessian (S, P, P) of the summed losses."""
    own, shared = columns.own, columns.shared
    width = shared.shape[1]
    if width == 1:
        flat = np.concatenate([own, shared[:, 0]], axis=1)
        p = expit(logits[..., 0])
        gradient = (counts * (p - labels)) @ flat
        hessian = (flat.T * (counts * p * (1 - p))[:, None, :]) @ flat
        return gradient, hessian
    p = softmax(logits, axis=-1)
    residual = counts[..., None] * (p - np.eye(width)[labels])
    gradient = np.concatenate(
        [
            (np.swapaxes(residual, 1, 2) @ own).reshape(len(p), -1),
            np.einsum("snl,nlt->st", residual, shared),
        ],
        axis=1,
    )
    pairs = zip(p, counts, strict=True)
    return gradient, np.stack([_curvature(columns, *pair) for pair in pairs])


def _curvature(columns: Columns, p: Array, counts: Array) -> Array:
    """The Hessian (P, P) of one problem: probabilities (n, L) and counts (n,).

    The softmax's second derivative is diag(p) - p p': a weighted square less a square of means.
    """
    own, shared = columns.own, columns.shared
    (samples, width), slopes = p.shape, own.shape[1]
    means = np.concatenate(
        [
            (p[:, :, None] * own[:, None, :]).reshape(samples, -1),
            np.einsum("nl,nlt->nt", p, shared),
        ],
        axis=1,
    )
    means *= np.sqrt(counts)[:, None]
    hessian: Array = -(means.T @ means)
    weights = counts[:, None] * p
    split = width * slopes
    for logit in range(width):
        block = slice(logit * slopes, (logit + 1) * slopes)
        weighted = weights[:, logit, None] * own
        hessian[block, block] += weighted.T @ own
        crossed = weighted.T @ shared[:, logit]
        hessian[block, split:] += crossed
        hessian[split:, block] += crossed.T
        hessian[split:, split:] += (weights[:, logit, None] * shared[:, logit]).T @ shared[:, logit]
    return hessian
