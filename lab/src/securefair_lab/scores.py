"""Classification scores from predicted and true labels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from securefair.errors import DataError


def accuracy(predictions: ArrayLike, labels: ArrayLike) -> float:
    """The share of predictions (B,) that equal the labels (B,).

    Raises:
        DataError: no samples, shapes differ, or a label is not an integer from 0.
    """
    return _accuracy(confusion(predictions, labels))


def balanced_accuracy(predictions: ArrayLike, labels: ArrayLike) -> float:
    """Mean recall over the classes that occur in the labels; arguments and errors as `accuracy`."""
    return _balanced_accuracy(confusion(predictions, labels))


def mcc(predictions: ArrayLike, labels: ArrayLike) -> float:
    """Matthews correlation coefficient, for any number of classes (Gorodkin's R_K), in [-1, 1].

    0.0 where it is undefined: all labels, or all predictions, are of one class. Arguments and
    errors as `accuracy`.
    """
    return _mcc(confusion(predictions, labels))


def confusion(
    predictions: ArrayLike, labels: ArrayLike, classes: int | None = None
) -> NDArray[np.int64]:
    """Counts (M, M): row the true class, column the predicted one.

    Args:
        predictions: predicted classes (B,).
        labels: true classes (B,).
        classes: M; by default the largest class that occurs, plus one.

    Raises:
        DataError: shapes differ, or a class is not an integer in 0..M-1.
    """
    predicted, true = _classes(predictions, "predictions"), _classes(labels, "labels")
    if predicted.shape != true.shape:
        raise DataError(
            "predictions and labels disagree",
            found=f"{predicted.shape} and {true.shape}",
            expected="(B,) and (B,)",
        )
    largest = int(max(predicted.max(initial=-1), true.max(initial=-1)))
    size = largest + 1 if classes is None else classes
    if largest >= size:
        raise DataError("a class is out of range", found=largest, expected=f"0 to {size - 1}")
    return np.bincount(true * size + predicted, minlength=size * size).reshape(size, size)


def _classes(values: ArrayLike, where: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if not array.size:
        array = array.astype(np.int64)  # an empty list is float64 to numpy
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise DataError(
            "not class numbers",
            where=where,
            found=f"{array.dtype} {array.shape}",
            expected="integers (B,)",
            hint="Take the argmax of logits first",
        )
    if array.size and array.min() < 0:
        raise DataError("a class is negative", where=where, found=int(array.min()))
    return array.astype(np.int64)


def _total(counts: NDArray[np.int64]) -> int:
    total = int(counts.sum())
    if not total:
        raise DataError("no samples to score", hint="Hold out at least one sample for testing")
    return total


def _accuracy(counts: NDArray[np.int64]) -> float:
    return int(np.trace(counts)) / _total(counts)


def _balanced_accuracy(counts: NDArray[np.int64]) -> float:
    _total(counts)
    support = counts.sum(axis=1)
    present = support > 0
    return float((np.diagonal(counts)[present] / support[present]).mean())


def _mcc(counts: NDArray[np.int64]) -> float:
    # R_K = (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2)) with c correct of
    # s samples, t_k of class k, p_k predicted as k. Python integers: no overflow, exact zeros.
    s, c = _total(counts), int(np.trace(counts))
    true: list[int] = counts.sum(axis=1).tolist()
    predicted: list[int] = counts.sum(axis=0).tolist()
    covariance = c * s - sum(p * t for p, t in zip(predicted, true, strict=True))
    spread_predicted = s * s - sum(p * p for p in predicted)
    spread_true = s * s - sum(t * t for t in true)
    if not spread_predicted or not spread_true:
        return 0.0
    return covariance / math.sqrt(spread_predicted * spread_true)
