"""A teacher's logits, moved to how common each class is at the student.

A hospital with many ill patients teaches that illness is common. On another hospital's patients
that is wrong by nearly a constant: the logarithm of the ratio of the odds. Adding one number a
class takes it away and leaves what the teacher says of one patient against another.
"""

from __future__ import annotations

import logging
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

_log = logging.getLogger(__name__)

Array = NDArray[np.float64]
Prevalence = Literal["own", "teacher"]
"""Whose class frequencies a student's targets have."""

PRIOR = 0.5
"""Of a sample of each class: a class that a student lacks is rare, not impossible."""

_TOLERANCE = 1e-9  # of a mean probability
_POLISHED = 2
_MOST_STEPS = 200
_LEAST_DAMPING = 1e-9
_ROUNDING = 1e-13
_MISSED = 1e-6  # of a mean probability: such a result is worth a warning
_MILD = 10.0  # logits, within which steps never get stuck
_SHARPER = 4.0


def own_prevalence(
    logits: Array,
    labels: NDArray[np.int64],
    weights: Array | None = None,
    *,
    prior: float = PRIOR,
) -> Array:
    """Logits (B, M) plus one number a class, so that mean probabilities are the own frequencies,
    each class counting so much of a sample more.

    The numbers sum to 0. They minimise a convex function with that gradient. Logits of millions,
    of a model that diverged, may be too coarse for any such numbers: a warning in the log then
    says by how much frequencies are missed.

    Args:
        logits: of a teacher on the student's own training samples.
        labels: (B,) of these samples, in 0..M-1.
        weights: (B,), how much each counts; None: alike.
        prior: samples of each class beside the own; 0 only where every class is there, as the
            number of one that is not would be infinite.
    """
    classes = logits.shape[1]
    counts = np.bincount(labels, weights, minlength=classes) + prior
    wanted = counts / counts.sum()
    start = np.log(wanted) - np.log(softmax(logits, axis=1).mean(axis=0).clip(1e-12))
    shift, missed = _shift(logits, wanted, start)
    if missed > _TOLERANCE:
        other, left = _sharpened(logits, wanted)
        if left < missed:
            shift, missed = other, left
    if not missed <= _MISSED:
        _log.warning(
            "class frequencies are %.2g off after a shift of a teacher's logits of up to %.2g",
            missed,
            np.abs(logits).max(),
        )
    moved: Array = logits + (shift - shift.mean())
    return moved


def _sharpened(logits: Array, wanted: Array) -> tuple[Array, float]:
    """From a milder model of the same order to this one, each beginning where the last ended: of
    nearly certain logits, probabilities jump, and steps find no slope."""
    spread = float(np.ptp(logits, axis=1).max())
    heat = max(1.0, spread / _MILD)
    shift: Array = np.zeros(len(wanted))
    while True:
        shift, missed = _shift(logits / heat, wanted, shift)
        if heat == 1.0:
            return shift, missed
        cooler = max(1.0, heat / _SHARPER)
        shift, heat = shift * (heat / cooler), cooler


def _shift(logits: Array, wanted: Array, shift: Array) -> tuple[Array, float]:
    """One number a class (M,), found from a first guess, and by how much a frequency is missed."""
    classes = len(wanted)

    def around(shift: Array) -> tuple[float, Array, Array]:
        """The function, its gradient and its curvature."""
        moved = logits + shift
        top = moved.max(axis=1, keepdims=True)
        p = np.exp(moved - top)
        sums = p.sum(axis=1, keepdims=True)
        p /= sums
        mean = p.mean(axis=0)
        value = float((np.log(sums) + top).mean() - wanted @ shift)
        return value, mean - wanted, np.diag(mean) - p.T @ p / len(p)

    value, gradient, curvature = around(shift)
    damping = _LEAST_DAMPING
    for _ in range(_MOST_STEPS):  # Newton's, shorter where it is no parabola
        if np.abs(gradient).max() <= _TOLERANCE:
            break
        # A number that is added to all of them changes nothing: 1 makes up for that direction.
        step = np.linalg.solve(curvature + damping * np.eye(classes) + 1.0, gradient)
        trial = around(shift - step)
        if trial[0] <= value + _ROUNDING * (1 + abs(value)):
            shift = shift - step
            value, gradient, curvature = trial
            damping = max(damping / 10, _LEAST_DAMPING)
        else:
            damping *= 10
    for _ in range(_POLISHED):  # to the last digits: everyone must find the same numbers
        finer = shift - np.linalg.lstsq(curvature, gradient, rcond=1e-9)[0]
        _, left, curved = around(finer)
        if np.abs(left).max() > np.abs(gradient).max():
            break
        shift, gradient, curvature = finer, left, curved
    return shift, float(np.abs(gradient).max())
