"""How well attacks do, with intervals: membership inference, and lower bounds on epsilon.

A guarantee is an upper bound on every attack. What one attack reaches is a lower bound, which
tells nothing of better ones: it finds faults in a mechanism, it proves none absent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError

Array = NDArray[np.float64]

LEAST_FALSE_POSITIVES = 10
"""A rate is not stated on fewer: its interval would span a factor of two and more."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A rate and its Clopper-Pearson interval.

    Attributes:
        hits, trials: counts.
        low, high: of the interval.
    """

    hits: int
    trials: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """hits / trials."""
        return self.hits / self.trials


def rate(hits: int, trials: int, *, confidence: float = 0.95) -> Rate:
    """A rate with its two-sided Clopper-Pearson interval; exact for independent trials.

    Raises:
        ConfigError: no trials, or more hits than trials.
    """
    if not 0 <= hits <= trials or trials == 0:
        raise ConfigError("no rate", where="hits", found=f"{hits} of {trials}")
    from scipy import special

    tail, missed = (1 - confidence) / 2, trials - hits
    # Quantiles of beta distributions; none where every trial hit, or none did.
    low = special.betaincinv(hits, missed + 1, tail) if hits else 0.0
    high = special.betaincinv(hits + 1, missed, 1 - tail) if missed else 1.0
    return Rate(hits=hits, trials=trials, low=float(low), high=float(high))


def true_positives_at(
    members: Array, others: Array, false_positive_rate: float
) -> tuple[Rate, Rate] | None:
    """Rates of true and false positives where about that share of the others is taken for members.

    Args:
        members, others: scores, higher for whom the attack takes for a member.
        false_positive_rate: that is aimed at.

    Returns:
        Both rates, or None with fewer than LEAST_FALSE_POSITIVES false positives.
    """
    allowed = math.floor(false_positive_rate * len(others))
    if allowed < LEAST_FALSE_POSITIVES:
        return None
    threshold = np.sort(others)[-allowed]
    return (
        rate(int((members >= threshold).sum()), len(members)),
        rate(int((others >= threshold).sum()), len(others)),
    )


def epsilon_lower_bound(
    without: Array, with_canary: Array, delta: float, *, confidence: float = 0.95
) -> float:
    """An epsilon that the mechanism cannot be below, by runs without and with one patient.

    log((TPR - delta) / FPR) with the ends of Clopper-Pearson intervals (Jagielski, Ullman, Oprea
    2020). The threshold is chosen on the first half of the runs and judged on the second.

    Args:
        without, with_canary: a score of each run, higher where the patient seems to be there.
        delta: of the guarantee that is tested.
        confidence: that the bound holds.
    """
    half = len(without) // 2
    seen = np.sort(np.concatenate([without[:half], with_canary[:half]]))
    chosen = max(
        np.unique(seen[:: max(1, len(seen) // 200)]),
        key=lambda at: _bound(without[:half], with_canary[:half], at, delta, confidence),
    )
    return max(0.0, _bound(without[half:], with_canary[half:], chosen, delta, confidence))


def _bound(
    without: Array, with_canary: Array, threshold: float, delta: float, confidence: float
) -> float:
    # Both intervals hold at once with that confidence.
    each = 1 - (1 - confidence) / 2
    found = rate(int((with_canary >= threshold).sum()), len(with_canary), confidence=each).low
    wrong = rate(int((without >= threshold).sum()), len(without), confidence=each).high
    return math.log((found - delta) / wrong) if found > delta else -math.inf


def likelihood_ratios(observed: Array, shadows: Array, members: NDArray[np.bool_]) -> Array:
    """Scores of the likelihood-ratio attack (Carlini et al. 2022), online, with one variance.

    Args:
        observed: (R,), what the attacked model says of each record: its logit of the right class
            against the others.
        shadows: (S, R), the same of models that the attacker trained.
        members: (S, R), whether that model was trained on that record; each record is a member of
            some and not of others.

    Returns:
        (R,): log-likelihood of the observation among the models with the record, minus without.
    """
    inside = np.where(members, shadows, np.nan)
    outside = np.where(members, np.nan, shadows)
    result: Array = _log_density(observed, inside) - _log_density(observed, outside)
    return result


def _log_density(observed: Array, values: Array) -> Array:
    """Of a normal distribution with each record's mean and all records' standard deviation."""
    means = np.nanmean(values, axis=0)
    deviation = float(np.nanstd(values - means)) + 1e-12
    result: Array = -0.5 * ((observed - means) / deviation) ** 2 - math.log(deviation)
    return result
