"""What a caller hands a student, checked: features without labels, predictions, a temperature."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.planner import ExchangePlan
from securefair.circuit.spec import ExchangeSpec
from securefair.data.arrays import array_of
from securefair.data.dataset import Samples
from securefair.errors import DataError

Array = NDArray[np.float64]


def unlabelled_features(plan: ExchangePlan, given: object) -> Array:
    """Features (B, d) alone, where no projection has to be reconstructed.

    Raises:
        DataError: it is no array of floats, values are masked, or the plan needs labels.
    """
    if isinstance(given, tuple):
        raise DataError(
            "features and labels come together as Samples",
            where="samples",
            found=f"a tuple of {len(given)}",
            expected="Samples",
            hint="securefair.make_samples((features, labels)) makes them",
        )
    if not isinstance(given, np.ndarray) or given.dtype.kind != "f":
        raise DataError(
            "features are an array of floats",
            where="samples",
            found=str(getattr(given, "dtype", type(given).__name__)),
            hint="make_samples takes tensors, data sets and tables as well",
        )
    if plan.spec.leaves.rows:
        raise DataError(
            "a projection is reconstructed with the labels of its samples",
            where="samples",
            found="features alone",
            expected="Samples",
        )
    array_of(given, "samples")  # which refuses masked values
    return given


def check_classes(spec: ExchangeSpec, samples: Samples) -> None:
    """Refuse samples of more classes than were agreed; of fewer, some have no sample here.

    Raises:
        DataError: there are more.
    """
    expected = 2 if spec.classes == 1 else spec.classes  # one logit may stand for two
    if samples.classes > expected:
        raise DataError(
            "the samples have other classes than were agreed",
            where="classes",
            found=samples.classes,
            expected=expected,
            hint="make_samples(..., classes=) keeps the place of a class that no sample here has",
        )


def probabilities(spec: ExchangeSpec, given: object) -> Array:
    """A student's softmax outputs (B, M).

    Raises:
        DataError: they are not the probabilities of this many samples and classes.
    """
    found, expected = array_of(given, "predictions"), (spec.samples, spec.classes)
    fits = found.dtype.kind in "fiu" and found.shape == expected and found.min() >= 0
    if not fits or not np.allclose(found.sum(axis=1), 1.0):
        raise DataError(
            "not the probabilities of every sample",
            where="predictions",
            found=found.shape if found.dtype.kind in "fiu" else str(found.dtype),
            expected=f"{expected}, none below 0, rows that sum to 1",
        )
    return found.astype(np.float64)


def check_temperature(given: object) -> None:
    """Refuse what nothing can be divided by.

    Raises:
        DataError: it is no number, or not above 0.
    """
    if not isinstance(given, Real) or not float(given) > 0:
        raise DataError(
            "a temperature is above 0",
            where="temperature",
            found=given,
            expected="a positive number",
        )
