"""Fairness as a correlation: do those who bring more, receive more? (CFFL, Definition 1)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from securefair.errors import DataError


@dataclass(frozen=True)
class Correlation:
    """A Pearson coefficient in [-1, 1] and its two-sided p-value in [0, 1].

    The p-value is the chance of a coefficient at least as far from 0 if the two quantities were
    independent and normal. Two points are always on a line: coefficient +-1, p-value 1.
    """

    coefficient: float
    p_value: float


def collaborative_fairness(standalone: ArrayLike, accuracy: ArrayLike) -> Correlation | None:
    """Pearson(B, A) over participants: CFFL's collaborative fairness, CYCle's Definition 1.

    Near 1 even where the strong participants lost accuracy (CYCle, section 3): read it together
    with MCG and CGS. None where it is undefined (see `pearson`).
    """
    return pearson(standalone, accuracy)


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation | None:
    """Pearson's correlation of two (N,) arrays; None if N < 2 or one of them is constant.

    Raises:
        DataError: the shapes differ, or an entry is NaN or infinite.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(
            "cannot correlate", found=f"{first.shape} and {second.shape}", expected="(N,) and (N,)"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise DataError("a number to correlate is NaN or infinite")
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    r = float(_standardised(first) @ _standardised(second))
    r = min(1.0, max(-1.0, r))  # rounding may overshoot by an ulp
    return Correlation(r, _p_value(r, len(first)))


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centred and of unit norm; scaled to [0, 1] first, so that tiny or huge spreads survive."""
    centred = (values - values.min()) / np.ptp(values)
    centred -= centred.mean()
    return np.asarray(centred / np.linalg.norm(centred), dtype=np.float64)


def _p_value(r: float, n: int) -> float:
    if n == 2:
        return 1.0
    # Imported here: it takes longer to load than all else in this module.
    from scipy.special import betainc

    # t = r sqrt((n-2)/(1-r^2)) is Student-t with n-2 degrees of freedom, and
    # P(|T| >= |t|) = I_x((n-2)/2, 1/2) at x = (n-2)/(n-2+t^2) = 1 - r^2.
    return float(betainc((n - 2) / 2, 0.5, (1.0 - r) * (1.0 + r)))
