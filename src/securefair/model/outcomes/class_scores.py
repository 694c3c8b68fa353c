"""Scores of predicted probabilities of classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.errors import DataError

Array = NDArray[np.float64]

SCORES = {
    "log_loss": "Log-loss",
    "brier": "Brier",
    "auc": "AUC",
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "calibration_error": "Calibration error",
}
"""Names of all scores, each with its title, in the order of tables."""

LOWER_IS_BETTER = frozenset({"log_loss", "brier", "calibration_error"})

CALIBRATION_BINS = 10
LEAST_PROBABILITY = 1e-15  # a class ruled out costs 34.5 nats, not infinitely many


def probabilistic_scores(
    probabilities: Array, labels: NDArray[np.int64], weights: Array | None = None
) -> dict[str, float | None]:
    """All of `SCORES`; None where a score is undefined.

    Two classes: class 1 is the positive one; brier is mean (p_1 - y)^2. Three and more:
    auc, sensitivity and specificity are means over classes, one against the rest, of those classes
    for which they are defined; brier is the mean of sum_c (p_c - [y = c])^2. The prediction is the
    most probable class, the first of equals. calibration_error is the mean distance between the
    probability of the prediction and how often it is right, over ten bins of equal width.

    Args:
        probabilities: (B, M), rows that sum to 1, B >= 1.
        labels: (B,), in 0..M-1.
        weights: (B,) how much each sample counts; None: alike. At least one is positive.

    Raises:
        DataError: shapes disagree, there are no samples, or a label or probability is out of
            range.
    """
    check_predictions(probabilities, labels)
    classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    counted = np.ones(len(labels)) if weights is None else weights
    only = slice(1, 2) if classes == 2 else slice(None)
    every = np.arange(classes)
    recalls, specificities, areas = [], [], []
    for one in range(classes):
        of_class = labels == one
        found, others = counted[of_class].sum() > 0, counted[~of_class].sum() > 0
        right = predicted[of_class] == one
        recalls.append(np.average(right, weights=counted[of_class]) if found else None)
        rejected = predicted[~of_class] != one
        specificities.append(np.average(rejected, weights=counted[~of_class]) if others else None)
        areas.append(
            float(areas_under_curves(probabilities[:, one], of_class, counted[None])[0])
            if found and others and one in every[only]
            else None
        )
    truth = (labels[:, None] == every).astype(np.float64)
    distances = ((probabilities - truth) ** 2).sum(axis=1) / (2 if classes == 2 else 1)
    of_labels = np.take_along_axis(probabilities, labels[:, None], axis=1)[:, 0]
    surprises = -np.log(np.clip(of_labels, LEAST_PROBABILITY, 1.0))
    return {
        "accuracy": float(np.average(predicted == labels, weights=counted)),
        "balanced_accuracy": _mean(recalls),
        "auc": _mean(areas[only]),
        "sensitivity": _mean(recalls[only]),
        "specificity": _mean(specificities[only]),
        "log_loss": float(np.average(surprises, weights=counted)),
        "brier": float(np.average(distances, weights=counted)),
        "calibration_error": _calibration_error(probabilities, labels, counted),
    }


def check_predictions(probabilities: Array, labels: NDArray[np.int64]) -> None:
    """Refuse what cannot be scored.

    Raises:
        DataError: as `probabilistic_scores`.
    """
    if probabilities.ndim != 2 or labels.shape != probabilities.shape[:1] or not len(labels):
        raise DataError(
            "predictions and labels disagree, or there are none",
            found=f"{probabilities.shape} and {labels.shape}",
            expected="(B, M) and (B,)",
        )
    if labels.min() < 0 or labels.max() >= probabilities.shape[1]:
        raise DataError("a label is out of range", found=int(labels.max()))
    # A NaN fails every comparison.
    if not ((probabilities >= 0) & (probabilities <= 1 + 1e-9)).all():
        raise DataError("a probability is out of range", expected="0 to 1")


def nearly_constant(probabilities: Array) -> bool:
    """Whether a predictor says one class of all but at most 2 % of the patients.

    Whatever such a predictor gains, the most common answer gives as well.
    """
    predicted = probabilities.argmax(axis=1)
    return bool(np.bincount(predicted).max() >= 0.98 * len(predicted))


def areas_under_curves(score: Array, positive: NDArray[np.bool_], weights: Array) -> Array:
    """For each weighting, how often a positive outranks a negative; equals count half.

    The same as from scikit-learn, whose metrics take a second to load and a millisecond each.

    Args:
        score: (B,).
        positive: (B,), which samples are.
        weights: (R, B), of the samples, R times.

    Returns:
        (R,) areas; NaN where positives or negatives have no weight.
    """
    values, at = np.unique(score, return_inverse=True)
    rounds, count = len(weights), len(values)
    places = (at + count * np.arange(rounds)[:, None]).ravel()

    def added(parts: Array) -> Array:
        sums = np.bincount(places, parts.ravel(), rounds * count)
        return sums.astype(float, copy=False).reshape(rounds, count)

    positives, negatives = added(weights * positive), added(weights * ~positive)
    below = negatives.cumsum(axis=1) - negatives / 2
    pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    areas: Array = np.full(rounds, np.nan)
    np.divide((positives * below).sum(axis=1), pairs, out=areas, where=pairs > 0)
    return areas


def _mean(values: list[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def _calibration_error(probabilities: Array, labels: NDArray[np.int64], weights: Array) -> float:
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    bins = np.minimum((confidence * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
    distance = np.bincount(bins, weights=weights * (confidence - right))
    return float(np.abs(distance).sum() / weights.sum())


def weighted_scores(
    probabilities: Array, labels: NDArray[np.int64], weights: NDArray[np.int64] | Array
) -> dict[str, Array]:
    """`probabilistic_scores` for many weightings at once: weights (R, B) -> (R,) of each.

    NaN where a score is undefined. The same numbers as from scikit-learn, in a hundredth of the
    time.
    """
    w = weights.astype(np.float64)
    classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    right = predicted == labels
    every = np.arange(classes)
    truth = labels[:, None] == every
    says = predicted[:, None] == every
    total = w.sum(axis=1)
    of_class, of_others = w @ truth, w @ ~truth
    recalls = ratio(w @ (truth & says), of_class)
    specificities = ratio(w @ ~(truth | says), of_others)
    only = slice(1, 2) if classes == 2 else slice(None)
    areas = np.stack([areas_under_curves(probabilities[:, c], truth[:, c], w) for c in every[only]])
    taken = np.clip(probabilities, LEAST_PROBABILITY, 1.0)[np.arange(len(labels)), labels]
    distances = ((probabilities - truth) ** 2).sum(axis=1) / (2 if classes == 2 else 1)
    confidence = probabilities.max(axis=1)
    bins = np.minimum((confidence * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
    apart = (confidence - right)[:, None] * (bins[:, None] == np.arange(CALIBRATION_BINS))
    return {
        "accuracy": ratio(w @ right, total),
        "balanced_accuracy": means(recalls.T),
        "auc": means(areas),
        "sensitivity": means(recalls[:, only].T),
        "specificity": means(specificities[:, only].T),
        "log_loss": ratio(w @ -np.log(taken), total),
        "brier": ratio(w @ distances, total),
        "calibration_error": ratio(np.abs(w @ apart).sum(axis=1), total),
    }


def ratio(part: Array, whole: Array) -> Array:
    """One over the other; NaN where that is 0."""
    result: Array = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0)
    return result


def means(values: Array) -> Array:
    """Over the first axis, of what is defined; NaN where nothing is."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0))


def count_patients(labels: NDArray[np.int64], classes: int) -> dict[str, int]:
    """Of how many patients each score is a share, for those scores that are one.

    Args:
        labels: (B,), one a patient.
        classes: with more than two, sensitivity and specificity are means over classes.
    """
    found = {"accuracy": len(labels)}
    if classes == 2:
        found |= {"sensitivity": int((labels == 1).sum()), "specificity": int((labels == 0).sum())}
    return {score: patients for score, patients in found.items() if patients}
