"""Who is better off, by one rule for every output: paired differences, shrunk over hospitals.

A hospital's own test patients are few. What a collaboration did for the others is evidence as
well, as far as hospitals are alike, and how alike they are the same differences tell. Of hospital h
we have d_h, the mean difference over its test patients between the best control's score and the
collaboration's (positive is better), with its standard error s_h over patients:

    d_h ~ N(theta_h, s_h^2),   theta_h ~ N(mu, tau^2),   mu flat,   tau ~ half-Cauchy(root mean s^2)

which is the random-effects model of meta-analysis (DerSimonian and Laird 1986) with the uncertainty
of tau kept, as three hospitals cannot tell it (Gelman 2006: half-Cauchy). A hospital is said to be
better off where P(theta_h > 0) is at least 95 % and its own patients do not say the opposite
(d_h > 0), worse off where it is at most 5 % / m and d_h < 0. One hospital by itself is judged by
d_h and s_h alone. Three things keep both errors below 5 %:

- The control is the best of m by the same patients, on average over hospitals: at one of them
  another may be better. Whoever is better than it is better on average than each, so that costs
  "better" some power and no truth. But one of m is easily better by chance: "worse" needs 5 % / m
  (Bonferroni), as any of them would have been compared with.
- Differences of few patients are skewed: a control is now and then far off. Probabilities are of
  d_h made symmetric by Hall's cubic transformation (1992), from the third moment of its bootstrap.
- What differs by less than half a percent of what the control scores is called no difference.
  Where a score's zero depends on the label's unit, as that of a density, it is 0.005: then errors
  differ by half a percent (`StudyOutcome.level`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Judgement = Literal["better", "worse", "unclear"]

SURE = 0.95
"""Probability from which a difference is called one."""

LEAST = 0.005
"""Share of the control's score from which a difference is called one."""

FEW = 30
"""Test patients below which a verdict is false more often than that: errors of so few are
themselves uncertain."""

_NORMAL = NormalDist()
_QUANTILES = (np.arange(101) + 0.5) / 101  # of the half-Cauchy; all weigh alike


class LossDifference(NamedTuple):
    """How much better than a control.

    Attributes:
        gain: over test patients; positive is better.
        error: its standard error over patients.
        skew: of its distribution over other patients, 0 where that is symmetric.
    """

    gain: float
    error: float
    skew: float = 0.0

    @property
    def symmetric(self) -> float:
        """The gain by whose distance from 0, in errors, normal quantiles can judge (Hall 1992)."""
        t, a = self.gain / self.error, self.skew
        return self.error * (t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6)


@dataclass(frozen=True)
class Against:
    """What a difference is from.

    Attributes:
        controls: of so many this one is the best by the same patients.
        level: its score, mean over hospitals (`StudyOutcome.level`); 0 where that is not known.
    """

    controls: int = 1
    level: float = 0.0

    def told(self, probability: float, own: float, gain: float) -> Judgement:
        """What a difference is called.

        Args:
            probability: that it is positive.
            own: what a hospital's own patients say.
            gain: as large as it is taken to be.
        """
        if abs(gain) < LEAST * abs(self.level):
            return "unclear"
        if probability >= SURE and own > 0:
            return "better"
        worse = probability <= (1 - SURE) / max(1, self.controls) and own < 0
        return "worse" if worse else "unclear"


@dataclass(frozen=True)
class Shrunk:
    """What is known of one hospital's difference.

    Attributes:
        gain: posterior mean; positive is better.
        se: posterior standard deviation.
        told: by `Against`.
    """

    gain: float
    se: float
    told: Judgement


@dataclass(frozen=True)
class _Posterior:
    """Of every hospital's difference: mean, standard deviation, probability that it is positive."""

    gain: Array
    se: Array
    positive: Array


def told_of(difference: LossDifference | None, against: Against) -> Judgement:
    """What one difference is called by itself, such as a mean over hospitals."""
    if difference is None or not difference.gain or not difference.error:
        return "unclear"  # equal predictions have no error, and tell nothing
    positive = _NORMAL.cdf(difference.symmetric / difference.error)
    return against.told(positive, difference.gain, difference.gain)


def shrunk(gains: Mapping[str, LossDifference], against: Against) -> dict[str, Shrunk]:
    """Every hospital's difference, drawn towards the mean over hospitals.

    Args:
        gains: by hospital. Equal predictions have no error and tell nothing of others.
        against: what they are from.
    """
    found = {name: Shrunk(one.gain, 0.0, "unclear") for name, one in gains.items()}
    names = [name for name, one in gains.items() if one.error > 0]
    if not names:
        return found
    d = np.array([gains[name].gain for name in names])
    s = np.array([gains[name].error for name in names])
    as_seen = _posterior(d, s)
    judged = _posterior(np.array([gains[name].symmetric for name in names]), s)
    for at, name in enumerate(names):
        gain = float(as_seen.gain[at])
        told = against.told(float(judged.positive[at]), gains[name].gain, gain)
        found[name] = Shrunk(gain, float(as_seen.se[at]), told)
    return found


def _posterior(d: Array, s: Array) -> _Posterior:
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
    above = [[_NORMAL.cdf(z) for z in row] for row in (means / spreads).tolist()]
    return _Posterior(gain, se, probable @ np.array(above))
