"""95 % intervals of shares of patients, honest where all of few are right.

A bootstrap over 8 patients of whom 8 are right draws 8 right ones every time: its standard error is
0, though other patients may well be wrong. Wilson's score interval (1927) says 68 % to 100 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist, harmonic_mean

from securefair.errors import DataError

Interval = tuple[float, float]

CONFIDENCE = 0.95
_NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def wilson(share: float, patients: int) -> Interval:
    """Wilson's score interval of a share: its low and high end, in [0, 1].

    Args:
        share: of patients, in [0, 1]. A mean over repetitions is no count: the nearest one is
            taken, and as patients vary less in such a mean, the interval is rather too wide.
        patients: different ones, at least 1, each counted once whatever the repetitions.

    Raises:
        DataError: there is no patient, or the share is out of range.
    """
    if patients < 1 or not 0 <= share <= 1:
        raise DataError(
            "no share of patients", found=f"{share} of {patients}", expected="0 to 1 of 1 or more"
        )
    nearest, spread = round(share * patients) / patients, _NORMAL**2 / patients
    middle = nearest + spread / 2
    half = math.sqrt(spread * nearest * (1 - nearest) + spread**2 / 4)
    low, high = ((middle + side * half) / (1 + spread) for side in (-1, 1))
    # Rounding must not leave out a share of 0 or 1.
    return (0.0 if nearest == 0 else low), (1.0 if nearest == 1 else high)


def alike(patients: Iterable[int]) -> int:
    """So many patients of one hospital tell as much as a mean over hospitals with these numbers.

    The mean of H shares has the variance p (1 - p) sum_h 1/n_h / H^2 where they are alike.
    """
    each = list(patients)
    return max(1, round(len(each) * harmonic_mean(each)))
