"""Who is better off, by one rule for every output: paired differences, shrunk over hospitals.

A hospital's own test patients are few. What a collaboration did for the others is evidence as
well, as far as hospitals are alike, and how alike they are the same differences tell. Of hospital h
we have d_h, the mean difference over its test patients between the best control's score and the
collaboration's (positive is better), with its standard error s_h over patients:

    d_h ~ N(theta_h, s_h^2),   theta_h ~ N(mu, tau^2),   mu flat,   tau ~ half-Cauchy(root mean s^2)

which is the random-effects model of meta-analysis (DerSimonian and Laird 1986) with the uncertainty
of tau kept, as three hospitals cannot tell it (Gelman 2006: half-Cauchy). A hospital is said to be
better off where P(theta_h > 0) is at least 95 % and its own patients do not say the opposite
(d_h > 0), worse off where it is at most 5 % and d_h < 0. One hospital by itself is judged by d_h
and s_h alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

Told = Literal["better", "worse", "unclear"]

SURE = 0.95
"""Probability from which a difference is called one."""

_NORMAL = NormalDist()
_QUANTILES = (np.arange(101) + 0.5) / 101  # of the half-Cauchy; all weigh alike


@dataclass(frozen=True)
class Shrunk:
    """What is known of one hospital's difference.

    Attributes:
        gain: posterior mean; positive is better.
        se: posterior standard deviation.
        told: by `SURE`.
    """

    gain: float
    se: float
    told: Told


def told_of(gain: float | None, error: float | None) -> Told:
    """What one difference is called by itself, such as a mean over hospitals."""
    if not gain or not error:  # one patient has no error, and tells nothing
        return "unclear"
    return _told(_NORMAL.cdf(gain / error), gain)


def shrunk(gains: Mapping[str, tuple[float, float]]) -> dict[str, Shrunk]:
    """Every hospital's difference, drawn towards the mean over hospitals.

    Args:
        gains: by hospital, its difference and the standard error of that over its test patients.
            Equal predictions have neither and tell nothing of others.
    """
    found = {name: Shrunk(gain, 0.0, told_of(gain, 0.0)) for name, (gain, _) in gains.items()}
    names = [name for name, (_, error) in gains.items() if error > 0]
    if not names:
        return found
    d, s = np.array([gains[name] for name in names]).T
    variances = s**2
    taus = math.sqrt(float(variances.mean())) * np.tan(_QUANTILES * math.pi / 2)
    weights = 1 / (variances + taus[:, None] ** 2)  # (taus, hospitals)
    total = weights.sum(axis=1)
    mu = weights @ d / total
    # Likelihood of tau with mu integrated out, up to a constant.
    log = 0.5 * (np.log(weights).sum(axis=1) - np.log(total))
    log -= 0.5 * (weights * (d - mu[:, None]) ** 2).sum(axis=1)
    probable = np.exp(log - log.max())
    probable /= probable.sum()
    share = weights * variances  # of the mean over hospitals in each one's posterior mean
    means = share * mu[:, None] + (1 - share) * d
    spreads = np.sqrt((1 - share) * variances + share**2 / total[:, None])
    gain = probable @ means
    se = np.sqrt(probable @ (spreads**2 + means**2) - gain**2)
    for at, name in enumerate(names):
        above = [_NORMAL.cdf(z) for z in (means[:, at] / spreads[:, at]).tolist()]
        told = _told(float(probable @ above), float(d[at]))
        found[name] = Shrunk(float(gain[at]), float(se[at]), told)
    return found


def _told(probability: float, own: float) -> Told:
    if probability >= SURE and own > 0:
        return "better"
    return "worse" if probability <= 1 - SURE and own < 0 else "unclear"
