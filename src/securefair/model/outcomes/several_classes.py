"""Three classes and more: a logit for each, symmetric, and the softmax cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from securefair.data.dataset import Samples
from securefair.model.outcomes.columns import Columns
from securefair.model.outcomes.of_classes import OfClasses
from securefair.model.probabilities import log_losses

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Multinomial:
    labels: NDArray[np.int64]

    def total(self, predictors: Array, counts: Array) -> Array:
        result: Array = (counts * log_losses(predictors, self.labels)).sum(1)
        return result

    def derivatives(
        self, columns: Columns, predictors: Array, counts: Array
    ) -> tuple[Array, Array]:
        own, shared = columns.own, columns.shared
        p = softmax(predictors, axis=-1)
        residual = counts[..., None] * (p - np.eye(p.shape[-1])[self.labels])
        gradient = np.concatenate(
            [
                (np.swapaxes(residual, 1, 2) @ own).reshape(len(p), -1),
                np.einsum("snl,nlt->st", residual, shared),
            ],
            axis=1,
        )
        hessian = np.empty((len(p), columns.parameters, columns.parameters))
        for one, likely, often in zip(hessian, p, counts, strict=True):
            _curvature(columns, likely, often, one)
        return gradient, hessian


class SeveralClasses(OfClasses):
    """See the module."""

    name: ClassVar = "several_classes"
    title: ClassVar = "one of several classes"

    def outputs(self, strata: int) -> int:
        """See `StudyOutcome`: a logit a class."""
        return strata

    def likelihood(self, samples: Samples) -> _Multinomial:
        """See `StudyOutcome`."""
        return _Multinomial(samples.labels)


OUTCOME = SeveralClasses()


def _curvature(columns: Columns, p: Array, counts: Array, hessian: Array) -> None:
    """Writes the Hessian (P, P) of one problem: probabilities (n, L) and counts (n,).

    The softmax's second derivative is diag(p) - p p': a weighted square less a square of means.
    """
    own, shared = columns.own, columns.shared
    (samples, width), slopes = p.shape, own.shape[1]
    means = np.concatenate(
        [
            (p[:, :, None] * own[:, None, :]).reshape(samples, -1),
            np.einsum("nl,nlt->nt", p, shared),
        ],
        axis=1,
    )
    means *= np.sqrt(counts)[:, None]
    np.matmul(means.T, means, out=hessian)
    np.negative(hessian, out=hessian)
    weights = counts[:, None] * p
    split = width * slopes
    for logit in range(width):
        block = slice(logit * slopes, (logit + 1) * slopes)
        weighted = weights[:, logit, None] * own
        hessian[block, block] += weighted.T @ own
        crossed = weighted.T @ shared[:, logit]
        hessian[block, split:] += crossed
        hessian[split:, block] += crossed.T
        hessian[split:, split:] += (weights[:, logit, None] * shared[:, logit]).T @ shared[:, logit]
