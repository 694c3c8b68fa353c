"""How far opened numbers are from the same in the clear: what simulations of every kind keep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Audit:
    """Running maximum of |opened - clear|, and the range of the clear numbers."""

    def __init__(self) -> None:
        self.max_abs_error = 0.0
        self._lowest, self._highest = np.inf, -np.inf

    @property
    def extremes(self) -> tuple[float, float, float]:
        """Largest error, smallest and largest number: all that later checks depend on."""
        return self.max_abs_error, float(self._lowest), float(self._highest)

    @extremes.setter
    def extremes(self, values: tuple[float, float, float]) -> None:
        self.max_abs_error, self._lowest, self._highest = values

    @property
    def value_range(self) -> float:
        """Largest minus smallest number in the clear; 0 before anything was opened."""
        return float(self._highest - self._lowest) if self._highest > self._lowest else 0.0

    @property
    def error_over_range(self) -> float:
        """Largest error over the range; 0 before anything was opened."""
        return self.max_abs_error / self.value_range if self.value_range else 0.0

    def compare(self, opened: Array, clear: Array) -> None:
        """Take note of numbers of one answer, both of one shape."""
        self.max_abs_error = max(self.max_abs_error, float(np.abs(opened - clear).max()))
        self._lowest = min(self._lowest, float(clear.min()))
        self._highest = max(self._highest, float(clear.max()))
