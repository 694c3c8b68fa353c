"""A teacher's logits, moved to how common each class is at the student.

A hospital with many ill patients teaches that illness is common. On another hospital's patients
that is wrong by nearly a constant: the logarithm of the ratio of the odds. Adding one number a
class takes it away and leaves what the teacher says of one patient against another.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

Array = NDArray[np.float64]
Prevalence = Literal["own", "teacher"]
"""Whose class frequencies a student's targets have."""

_PRIOR = 0.5  # of a sample of each class: a class that a student lacks is rare, not impossible
_TOLERANCE = 1e-9  # of a mean probability
_POLISHED = 2


def own_prevalence(logits: Array, labels: NDArray[np.int64], weights: Array | None = None) -> Array:
    """Logits (B, M) plus one number a class, so that mean probabilities are the own frequencies.

    The numbers sum to 0. They minimise a convex function with that gradient.

    Args:
        logits: of a teacher on the student's own training samples.
        labels: (B,) of these samples, in 0..M-1.
        weights: (B,), how much each counts; None: alike.
    """
    from scipy.optimize import minimize  # takes a while to load

    classes = logits.shape[1]
    counts = np.bincount(labels, weights, minlength=classes) + _PRIOR
    wanted = counts / counts.sum()

    def value(shift: Array) -> float:
        return float(logsumexp(logits + shift, axis=1).mean() - wanted @ shift)

    def gradient(shift: Array) -> Array:
        result: Array = softmax(logits + shift, axis=1).mean(axis=0) - wanted
        return result

    def curvature(shift: Array) -> Array:
        p = softmax(logits + shift, axis=1)
        result: Array = np.diag(p.mean(axis=0)) - p.T @ p / len(p)
        return result

    found = minimize(
        value,
        np.log(wanted) - np.log(softmax(logits, axis=1).mean(axis=0).clip(1e-12)),
        jac=gradient,
        hess=curvature,
        method="trust-exact",
        options={"gtol": _TOLERANCE},
    )
    shift: Array = found.x
    for _ in range(_POLISHED):  # to the last digits: everyone must find the same numbers
        shift = shift - np.linalg.lstsq(curvature(shift), gradient(shift), rcond=1e-9)[0]
    moved: Array = logits + (shift - shift.mean())
    return moved
