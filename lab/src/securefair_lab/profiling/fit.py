"""Straight lines through measurements."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from securefair.errors import DataError


class LinearFit(msgspec.Struct, frozen=True, kw_only=True):
    """value = fixed + slope * x by least squares, and the share of variance it explains.

    Attributes:
        fixed: value at x = 0, in the measurements' unit.
        slope: growth per unit of x.
        r2: 1 - residual / total sum of squares; 1 where all values are alike.
    """

    fixed: float
    slope: float
    r2: float

    def at(self, x: float) -> float:
        """The line's value."""
        return self.fixed + self.slope * x


def linear_fit(xs: Sequence[float], values: Sequence[float]) -> LinearFit:
    """The least-squares line.

    Raises:
        DataError: fewer than two different x.
    """
    x, y = np.array(xs, dtype=np.float64), np.array(values, dtype=np.float64)
    if len(np.unique(x)) < 2:
        raise DataError("a line needs two different points", found=len(np.unique(x)), expected=2)
    slope = float(np.cov(x, y, ddof=0)[0, 1] / np.var(x))
    fixed = float(y.mean() - slope * x.mean())
    residual = float(((y - fixed - slope * x) ** 2).sum())
    spread = float(((y - y.mean()) ** 2).sum())
    return LinearFit(fixed=fixed, slope=slope, r2=1.0 - residual / spread if spread else 1.0)
