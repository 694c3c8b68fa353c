"""`gradient`: the fit, the diagonal of its curvature, and its slope by that.

98 numbers of a fit on 32 features. No product of two features is in them, so they hold no table of
how often two findings meet in one patient; of a column of 0 and 1 they hold a count, weighted where
classes are predicted.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.model.transfer.sums.interface import FitSum

Array = NDArray[np.float64]


class Gradient(FitSum):
    """As many curvatures as features."""

    means: ClassVar[str] = "sums.gradient"
    rows: ClassVar[bool] = False
    fewest: ClassVar[int] = 2

    def curvatures(self, features: int) -> int:
        """One a feature."""
        return features

    def written(self, curvature: Array) -> Array:
        """The diagonal."""
        return np.diagonal(curvature).copy()

    def read(self, numbers: Array, features: int) -> Array:
        """A diagonal matrix."""
        del features
        return np.diag(numbers)


SUM = Gradient
