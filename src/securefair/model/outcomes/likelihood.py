"""Minus the log-likelihood of samples, and its derivatives: what a fit needs of an outcome.

And what of samples enters it: what is known of them, and how much each counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.model.outcomes.columns import Columns

Array = NDArray[np.float64]


class Likelihood(Protocol):
    """Minus the log-likelihood, nats, of n samples whose outcomes are known."""

    def total(self, predictors: Array, counts: Array) -> Array:
        """Of S settings, (S,).

        Args:
            predictors: (S, n, L).
            counts: (S, n), how often each sample counts; 0 leaves it out.
        """
        ...

    def derivatives(
        self, columns: Columns, predictors: Array, counts: Array
    ) -> tuple[Array, Array]:
        """Gradient (S, P) and Hessian (S, P, P) of `total` by coefficients of `columns`."""
        ...


class SeparateLikelihood(ABC):
    """A likelihood of one predictor that is a sum over samples."""

    @abstractmethod
    def each(self, predictors: Array) -> Array:
        """Predictors (..., n, 1) -> (..., n)."""

    @abstractmethod
    def bends(self, predictors: Array) -> tuple[Array, Array]:
        """Predictors (S, n) -> first and second derivative of `each` by them, (S, n)."""

    def total(self, predictors: Array, counts: Array) -> Array:
        """See `Likelihood`."""
        result: Array = (counts * self.each(predictors)).sum(1)
        return result

    def derivatives(
        self, columns: Columns, predictors: Array, counts: Array
    ) -> tuple[Array, Array]:
        """See `Likelihood`."""
        flat = columns.flat
        slope, curvature = self.bends(predictors[..., 0])
        # A product with its own transpose: half the work of another one.
        roots = np.sqrt(counts * curvature)[..., None] * flat
        hessian: Array = np.swapaxes(roots, 1, 2) @ roots
        return (counts * slope) @ flat, hessian


def counts_of(samples: Samples) -> Array:
    """How much each sample counts, (n,)."""
    return np.ones(len(samples)) if samples.weights is None else samples.weights


def known_values(samples: Samples) -> Array:
    """What is known of samples that have no classes, (n, k).

    Raises:
        DataError: they have classes.
    """
    if samples.values is None:
        raise DataError("what is known of these samples is a class", found=repr(samples))
    return samples.values
