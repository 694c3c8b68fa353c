"""Collaboration gain: its mean over participants (MCG) and its spread (CGS). CYCle, section 3."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from securefair.errors import DataError

DDOF_TABLES: Literal[0] = 0
"""CGS as in every table of CYCle: the population standard deviation, divided by N."""

DDOF_EQUATION_5: Literal[1] = 1
"""CGS as CYCle's Eq. 5 prints it: divided by N - 1."""


def gains(accuracy: ArrayLike, standalone: ArrayLike) -> NDArray[np.float64]:
    """G_n = A_n - B_n, shape (N,): accuracy with minus without collaboration.

    Raises:
        DataError: the two do not have one finite number per participant, or there is none.
    """
    with_, without = (
        _per_participant(accuracy, "accuracy"),
        _per_participant(standalone, "standalone"),
    )
    if with_.shape != without.shape:
        raise DataError(
            "accuracies with and without collaboration disagree",
            found=f"{len(with_)} and {len(without)} participants",
        )
    return with_ - without


def mva(accuracy: ArrayLike) -> float:
    """Mean validation accuracy: the mean of A_n over participants."""
    return float(_per_participant(accuracy, "accuracy").mean())


def mcg(gains: ArrayLike) -> float:
    """Mean collaboration gain, CYCle Eq. 5: MCG = (1/N) sum_n G_n."""
    return float(_per_participant(gains, "gains").mean())


def cgs(gains: ArrayLike, *, ddof: Literal[0, 1] = DDOF_TABLES) -> float:
    """Collaboration gain spread, CYCle Eq. 5: CGS = sqrt(sum_n (G_n - MCG)^2 / (N - ddof)).

    Args:
        gains: (N,) gains.
        ddof: `DDOF_TABLES` (0) or `DDOF_EQUATION_5` (1); the two differ by sqrt(N / (N - 1)).

    Raises:
        DataError: fewer than ddof + 1 participants.
    """
    values = _per_participant(gains, "gains")
    if len(values) <= ddof:
        raise DataError(
            "too few participants for a spread",
            where="gains",
            found=len(values),
            expected=f"at least {ddof + 1} at ddof = {ddof}",
        )
    return float(values.std(ddof=ddof))


def cgs_over_seeds(means: ArrayLike, spreads: ArrayLike, seeds: int) -> float:
    """Spread of the gains of all participants of all seeds together, ddof 0; of one seed CGS.

    Args:
        means: (N,) of each participant's gain over the seeds.
        spreads: (N,) standard deviations of it over the seeds, ddof 1; 0 for one seed.
        seeds: how many.

    Raises:
        DataError: the two do not have one finite number per participant.
    """
    between = _per_participant(means, "means").var()
    within = np.mean(_per_participant(spreads, "spreads") ** 2) * (seeds - 1) / seeds
    return float(np.sqrt(between + within))


def no_gain_bound(mean: float, spread: float) -> float:
    """Upper bound of P(G <= 0), the chance that a participant gains nothing; in [0, 1].

    One-sided Chebyshev (Cantelli): P(G <= 0) <= 1 / (1 + (MCG/CGS)^2) for any distribution of G
    with mean MCG > 0 and standard deviation CGS; for MCG <= 0 it says nothing and the result is
    1.0. With `mcg` and `cgs(ddof=0)` of N participants it holds exactly for a participant drawn at
    random from these N, and of several seeds with `cgs_over_seeds` for one of a seed drawn at
    random; as a statement on participants to come it is an estimate.

    Args:
        mean: MCG.
        spread: CGS or `cgs_over_seeds`, not negative; 0 with a positive mean gives 0.0 (everyone
            gains alike).

    Raises:
        DataError: a value is not finite, or the spread is negative.
    """
    if not np.isfinite([mean, spread]).all() or spread < 0:
        raise DataError(
            "no such mean and spread", found=f"{mean}, {spread}", expected="finite, spread >= 0"
        )
    if mean <= 0:
        return 1.0
    if spread == 0:
        return 0.0
    # hypot: neither square overflows or vanishes
    return (spread / float(np.hypot(spread, mean))) ** 2


def _per_participant(values: ArrayLike, where: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise DataError(
            "not one number per participant", where=where, found=array.shape, expected="(N,)"
        )
    if not np.isfinite(array).all():
        raise DataError("a number is NaN or infinite", where=where, found=array.tolist())
    return array
