"""What the coefficients of a penalised fit multiply."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Columns:
    """The design of a fit of n samples with L predictors each, of P coefficients.

    The order of coefficients is: those of `own`, predictor by predictor; then those of `shared`.

    Attributes:
        own: (n, K), with L coefficients each, one a predictor.
        shared: (n, L, T), with one coefficient each.
    """

    own: Array
    shared: Array

    @property
    def parameters(self) -> int:
        """L K + T."""
        _, width, teachers = self.shared.shape
        return int(width * self.own.shape[1] + teachers)

    @cached_property
    def flat(self) -> Array:
        """(n, P) where there is one predictor."""
        return np.concatenate([self.own, self.shared[:, 0]], axis=1)

    def logits(self, theta: Array) -> Array:
        """Coefficients (S, P) -> predictors (S, n, L)."""
        width, split = self.shared.shape[1], self.parameters - self.shared.shape[2]
        by_logit = theta[:, :split].reshape(len(theta), width, -1)
        of_teachers: Array = np.einsum("nlt,st->snl", self.shared, theta[:, split:])
        return of_teachers + np.swapaxes(by_logit @ self.own.T, 1, 2)
