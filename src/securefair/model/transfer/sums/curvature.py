"""`curvature`: the fit, the whole of its curvature, and its slope by that.

594 numbers of a fit on 32 features. The curvature is a sum of weighted products of features over
patients: where these are fewer than features, it spans their rows, and columns of 0 and 1 can then
be told patient by patient (docs/notebook/sums.md).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.model.transfer.sums.interface import FitSum

Array = NDArray[np.float64]


class Curvature(FitSum):
    """Every product of two features once."""

    means: ClassVar[str] = "sums.curvature"
    rows: ClassVar[bool] = True

    def curvatures(self, features: int) -> int:
        """The upper triangle."""
        return features * (features + 1) // 2

    def written(self, curvature: Array) -> Array:
        """The upper triangle, row by row."""
        return curvature[np.triu_indices(len(curvature))]

    def read(self, numbers: Array, features: int) -> Array:
        """A symmetric matrix."""
        curvature = np.zeros((features, features))
        upper = np.triu_indices(features)
        curvature[upper] = numbers
        return curvature + np.triu(curvature, 1).T


SUM = Curvature
