"""From a few released weighted sums back to the teacher's logits, as far as they determine them.

The student knows the weights (rows R, (q, B)) and has a prior of how logits vary over its
samples (covariance K, `kernel`). Given the released R Z it takes the posterior mean

    Z^ = K R^T (R K R^T + noise)^-1 R Z

which is a fixed linear map of the released numbers: `Reconstructor` computes it once per student
and basis, and every later answer costs one matrix product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.errors import ModelError
from securefair.model.kernel import SampleKernel

RANK_TOLERANCE = 1e-9  # of the largest singular value of the rows


class Reconstructor:
    """The map from released numbers to logits, for one student's samples and one basis.

    With as many independent rows as samples, and no noise, the reconstruction is exact whatever the
    prior. `unexplained` is the share of the logits' variance over the samples, their mean
    not counted, that the prior expects to stay unknown: 0 for certainty, 1 for knowing nothing
    but the mean. It depends on features, labels and basis only, so it can be told before any
    answer; measured on real teachers, the share truly missed was mostly below it.

    Args:
        samples: the student's samples, flat features.
        rows: (q, B) weights of the samples in each released number.
        noise_std: standard deviation of each released number's error, for logits of order 1.
        kernel: the prior; `SampleKernel(samples)` by default.

    Raises:
        ModelError: rows do not fit the samples, are all zero, or the noise is negative.
    """

    def __init__(
        self,
        samples: Samples,
        rows: NDArray[np.float64],
        noise_std: float = 0.0,
        *,
        kernel: SampleKernel | None = None,
    ) -> None:
        if rows.ndim != 2 or rows.shape[1] != len(samples) or not rows.any():
            raise ModelError(
                "the basis does not fit the samples",
                where="rows",
                found=f"{rows.shape}" if rows.any() else "only zeros",
                expected=f"(q, {len(samples)}) weights, not all zero",
            )
        if not noise_std >= 0:
            raise ModelError("not a standard deviation", where="noise_std", found=noise_std)
        if kernel is None:
            kernel = SampleKernel(samples)
        # Work with orthonormal rows, R = U S V: their Gram matrix is as well conditioned as K
        # allows, and repeated or dependent rows simply drop out.
        u, s, v = np.linalg.svd(rows, full_matrices=False)
        rank = int(np.sum(s > RANK_TOLERANCE * s[0]))
        u, s, v = u[:, :rank], s[:rank], v[:rank]
        ones = np.ones((len(samples), 1))
        product = kernel.product(np.concatenate([v.T, ones], axis=1))
        covariance, of_sum = product[:, :-1], product[:, -1]
        gram = v @ covariance + np.diag((noise_std / s) ** 2)
        factor = np.linalg.cholesky((gram + gram.T) / 2)
        explained = np.linalg.solve(factor, covariance.T)  # (rank, B): K - its square is posterior
        self.operator: NDArray[np.float64] = explained.T @ np.linalg.solve(factor, (u / s).T)
        """(B, q): logits = operator @ released."""

        def spread(total: float, variance_of_sum: float) -> float:
            """Expected variance over the samples around their own mean, times B."""
            return total - variance_of_sum / len(samples)

        before = spread(float(kernel.variance.sum()), float(of_sum.sum()))
        after = before - spread(float((explained**2).sum()), float((explained.sum(1) ** 2).sum()))
        self.unexplained: float = min(1.0, max(0.0, after / before)) if before > 0 else 0.0

    def logits(self, released: NDArray[np.float64]) -> NDArray[np.float64]:
        """Released numbers (q, M) -> logits (B, M).

        Raises:
            ModelError: another number of rows was released than the basis has.
        """
        if released.ndim != 2 or len(released) != self.operator.shape[1]:
            raise ModelError(
                "the released numbers do not fit the basis",
                found=released.shape,
                expected=f"({self.operator.shape[1]}, classes)",
            )
        result: NDArray[np.float64] = self.operator @ released
        return result
