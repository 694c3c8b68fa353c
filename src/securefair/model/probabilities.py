"""Logits and probabilities of classes, the form in which every model of classes speaks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def outputs(classes: int) -> int:
    """Logits a fit has: one difference for two classes, one for each class beyond."""
    return 1 if classes == 2 else classes


def probabilities_of(logits: Array) -> Array:
    """Logits (..., L) -> probabilities of all classes (..., M); one logit stands for two."""
    from scipy.special import expit, softmax  # takes a while to load

    if logits.shape[-1] == 1:
        return np.concatenate([expit(-logits), expit(logits)], axis=-1)
    result: Array = softmax(logits, axis=-1)
    return result


def log_losses(logits: Array, labels: NDArray[np.int64]) -> Array:
    """The loss of each sample, nats: logits (..., n, L) and labels (n,) -> (..., n)."""
    from scipy.special import log_softmax

    if logits.shape[-1] == 1:
        wrong_way = np.where(labels == 1, -logits[..., 0], logits[..., 0])
        result: Array = np.logaddexp(0.0, wrong_way)
        return result
    every = log_softmax(logits, axis=-1)
    taken: Array = -np.take_along_axis(
        every, np.broadcast_to(labels[:, None], (*every.shape[:-1], 1)), axis=-1
    )[..., 0]
    return taken
