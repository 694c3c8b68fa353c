"""Whether two sets of scores differ by more than chance: Student's t-test."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from securefair.errors import DataError


@dataclass(frozen=True)
class PairedDifference:
    """Mean of the second scores minus mean of the first, and how surprising it is.

    The p-value is two-sided: the chance of a difference at least as large if both had one mean.
    """

    mean: float
    statistic: float  # t, of the sign of `mean`
    p_value: float  # in [0, 1]


def t_test(first: ArrayLike, second: ArrayLike, *, paired: bool = False) -> PairedDifference | None:
    """Student's t-test of two sets of scores; None where neither varies, so that t is undefined.

    FairSL compares consecutive participants so, over the folds of a repeated cross-validation.
    Scores of overlapping training parts are not independent: such p-values are too small (Nadeau
    and Bengio 2003), and say less than they seem to.

    Args:
        first: (N,) scores.
        second: (M,) scores; as many as `first` if paired.
        paired: the i-th scores belong together (one fold); otherwise equal variances are assumed.

    Raises:
        DataError: fewer than two scores, different numbers of paired ones, or one is not finite.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or b.ndim != 1 or min(len(a), len(b)) < 2 or (paired and len(a) != len(b)):
        raise DataError(
            "cannot compare",
            found=f"{a.shape} and {b.shape}",
            expected="two or more scores each" + (", equally many" if paired else ""),
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise DataError("a score is NaN or infinite")
    if paired:
        apart = b - a
        freedom, error = len(apart) - 1, math.sqrt(apart.var(ddof=1) / len(apart))
    else:
        freedom = len(a) + len(b) - 2
        variance = (len(a) * a.var() + len(b) * b.var()) / freedom
        error = math.sqrt(variance * (1 / len(a) + 1 / len(b)))
    mean = float(b.mean() - a.mean())
    # What is left of equal numbers after rounding is no spread.
    if error <= 1e-12 * max(float(np.abs(a).max()), float(np.abs(b).max())):
        return None
    t = mean / error
    # Imported here: it takes longer to load than all else in this package.
    from scipy.special import betainc

    # P(|T| >= |t|) = I_x(n/2, 1/2) at x = n / (n + t^2), for n degrees of freedom.
    return PairedDifference(mean, t, float(betainc(freedom / 2, 0.5, freedom / (freedom + t * t))))
