"""The numbers of the activation x -> a x^2 + b x + c: where they start, and how they fold."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SQUARE_INITIAL = 0.25
SQUARE_FLOOR = 1 / 32
SLOPE_INITIAL = 0.5


def completed_square(
    a: FloatArray, b: FloatArray, c: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """root, centre and rest, with a x^2 + b x + c = (root (x + centre))^2 + rest.

    Args:
        a: above 0, of any shape; b and c have the same.
    """
    return np.sqrt(a), b / (2 * a), c - b * b / (4 * a)


def log_gain(square: float) -> float:
    """The rho of a coefficient above SQUARE_FLOOR."""
    return math.log((square - SQUARE_FLOOR) / (SQUARE_INITIAL - SQUARE_FLOOR))
