"""Two participants estimate their means: the toy on which CYCle proves Theorem 4.1.

CYCle, App. A and B. Participant i knows theta_hat_i ~ N(theta_i, gamma_i^2), the mean of its own
samples, and the other's. FedAvg gives both the average; CYCle lets each weigh the other by its
reputation. A result is *useful* to i if it is no further from the true theta_i than theta_hat_i
is. The true loss (w - theta_i)^2 decides: by the empirical one theta_hat_i is the minimum, and
every result but itself would be useless.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError

Floats = NDArray[np.float64]

RUNS = 10_000
"""Runs a point, as in CYCle's App. B."""

FULL_TRUST, NO_TRUST = 1.0, 2.0
"""The distances between which Eq. 22 lets a reputation fall from 1 to 0."""


@dataclass(frozen=True)
class Estimates:
    """What the participants know, and what it becomes: all arrays (points, runs).

    Args:
        first, second: theta_hat_1 and theta_hat_2.
    """

    first: Floats
    second: Floats

    @cached_property
    def reputation(self) -> Floats:
        """r of Eq. 22, the same for both: 1 up to d = 1, then 2 - d, and 0 from d = 2.

        d = ((theta_hat_2 - theta_hat_1) / 2)^2.
        """
        distance = ((self.second - self.first) / 2) ** 2
        return np.clip((NO_TRUST - distance) / (NO_TRUST - FULL_TRUST), 0.0, 1.0)

    def cycle(self) -> tuple[Floats, Floats]:
        """w_i = (1 - r/2) theta_hat_i + (r/2) theta_hat_j, Eqs. 20 and 21."""
        half = self.reputation / 2
        return (
            (1 - half) * self.first + half * self.second,
            (1 - half) * self.second + half * self.first,
        )

    def fedavg(self, weight_of_first: Floats | float = 0.5) -> tuple[Floats, Floats]:
        """One result for both: the average (Eq. 11), or a weighted one."""
        w = weight_of_first * self.first + (1 - weight_of_first) * self.second
        return w, w


@dataclass(frozen=True)
class Curve:
    """Usefulness of one method along the grid, a number in [0, 1] for each point.

    The standard error of a number u over R runs is sqrt(u (1 - u) / R), at most 0.005 for 10,000.
    """

    method: str
    participant_1: tuple[float, ...]
    participant_2: tuple[float, ...]


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of one participant's results along the grid."""

    method: str
    participant: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]


@dataclass(frozen=True)
class Figure8:
    """Usefulness against heterogeneity."""

    gaps: tuple[float, ...]  # theta_2 - theta_1
    deviation: float  # gamma, of each participant's estimate
    runs: int
    cycle: Curve
    fedavg: Curve
    cycle_bound: float  # Theorem 4.1: no point of `cycle` may lie below
    fedavg_bound: tuple[float, ...]  # Lemma A.1: no point of `fedavg` may lie above


@dataclass(frozen=True)
class Figure9:
    """Usefulness and spread against imbalance, at equal true means."""

    ratios: tuple[float, ...]  # N_1 / N_2
    samples_2: int
    variance: float  # of a single sample
    runs: int
    cycle: Curve
    fedavg: Curve  # the plain average, Eq. 23
    fedavg_by_size: Curve  # weighted by the numbers of samples, as FedAvg is usually meant
    spreads: tuple[Spread, ...]  # of CYCle's participants 1 and 2, then of FedAvg


def cycle_lower_bound(deviation: float) -> float:
    """Theorem 4.1: usefulness under CYCle is at least exp(-1 / (4 gamma^2)) / 8.

    Args:
        deviation: gamma, above 0.
    """
    return math.exp(-1 / (4 * deviation**2)) / 8


def fedavg_upper_bound(gap: float, deviation: float) -> float:
    """Lemma A.1: usefulness under FedAvg is at most 2 exp(-gamma_G^2 / (5 gamma^2)).

    Args:
        gap: theta_2 - theta_1 = 2 gamma_G (Eq. 9).
        deviation: gamma, above 0.
    """
    return min(1.0, 2 * math.exp(-((gap / 2) ** 2) / (5 * deviation**2)))


def usefulness(results: Floats, estimates: Floats, truth: Floats | float) -> Floats:
    """P((w - theta)^2 <= (theta_hat - theta)^2) of each point: (points, runs) -> (points,).

    Compared as |w - theta| <= |theta_hat - theta|; where w is theta_hat itself, it is useful.
    """
    useful: Floats = (np.abs(results - truth) <= np.abs(estimates - truth)).mean(axis=-1)
    return useful


def figure_8(
    gaps: Sequence[float] = tuple(np.linspace(0.0, 5.0, 51).tolist()),
    *,
    deviation: float = 1.0,
    runs: int = RUNS,
    seed: int = 0,
) -> Figure8:
    """CYCle, Figure 8: theta_1 = 0, theta_2 from 0 to 5, equal variances.

    The draws are the same at every point, so that curves are smooth and differ by the gap alone.
    App. B.1 calls theta_2 itself gamma_G, which by Eq. 9 is half of it.

    Args:
        gaps: theta_2 - theta_1 at each point.
        deviation: gamma of both estimates, above 0.
        runs: 1 or more.
        seed: of the draws.

    Raises:
        ConfigError: an argument is out of range.
    """
    _check_grid("gaps", gaps, -math.inf)
    _check_draws("deviation", deviation, runs)
    noise = np.random.default_rng(seed).normal(scale=deviation, size=(2, 1, runs))
    theta_2 = np.array(gaps, dtype=np.float64)[:, None]
    known = Estimates(np.broadcast_to(noise[0], (len(gaps), runs)), theta_2 + noise[1])
    return Figure8(
        gaps=tuple(gaps),
        deviation=deviation,
        runs=runs,
        cycle=_curve("CYCle", known.cycle(), known, theta_2),
        fedavg=_curve("FedAvg", known.fedavg(), known, theta_2),
        cycle_bound=cycle_lower_bound(deviation),
        fedavg_bound=tuple(fedavg_upper_bound(gap, deviation) for gap in gaps),
    )


def figure_9(
    ratios: Sequence[float] = tuple(np.linspace(1.0, 10.0, 37).tolist()),
    *,
    samples_2: int = 1,
    variance: float = 5.0,
    runs: int = RUNS,
    seed: int = 0,
) -> Figure9:
    """CYCle, Figure 9: both true means 0, participant 1 with more and more samples.

    The paper states neither N_2 nor the ratios. With many samples both estimates come so close
    that every reputation is 1 and CYCle is the plain average; N_2 = 1 shows what its text says of
    FedAvg and of the variances.

    Args:
        ratios: N_1 / N_2 at each point, above 0; N_1 need not be whole.
        samples_2: N_2.
        variance: sigma^2 of a single sample, above 0.
        runs: 1 or more.
        seed: of the draws, the same at every point.

    Raises:
        ConfigError: an argument is out of range.
    """
    _check_grid("ratios", ratios, 0.0)
    _check_draws("variance", variance, runs)
    if samples_2 < 1:
        raise ConfigError("out of range", where="samples_2", found=samples_2, expected="1 or more")
    noise = np.random.default_rng(seed).normal(size=(2, 1, runs))
    ratio = np.array(ratios, dtype=np.float64)[:, None]
    deviation_2 = math.sqrt(variance / samples_2)
    known = Estimates(
        noise[0] * deviation_2 / np.sqrt(ratio),
        np.broadcast_to(noise[1] * deviation_2, (len(ratios), runs)),
    )
    cycle, fedavg = known.cycle(), known.fedavg()
    by_size = known.fedavg(ratio / (1 + ratio))
    return Figure9(
        ratios=tuple(ratios),
        samples_2=samples_2,
        variance=variance,
        runs=runs,
        cycle=_curve("CYCle", cycle, known, 0.0),
        fedavg=_curve("FedAvg", fedavg, known, 0.0),
        fedavg_by_size=_curve("FedAvg by size", by_size, known, 0.0),
        spreads=(
            _spread("CYCle", 1, cycle[0]),
            _spread("CYCle", 2, cycle[1]),
            _spread("FedAvg", 1, fedavg[0]),
        ),
    )


def _curve(
    method: str, results: tuple[Floats, Floats], known: Estimates, theta_2: Floats | float
) -> Curve:
    return Curve(
        method,
        tuple(usefulness(results[0], known.first, 0.0).tolist()),
        tuple(usefulness(results[1], known.second, theta_2).tolist()),
    )


def _spread(method: str, participant: int, results: Floats) -> Spread:
    return Spread(
        method,
        participant,
        tuple(results.mean(axis=-1).tolist()),
        tuple(results.std(axis=-1).tolist()),
    )


def _check_grid(name: str, points: Sequence[float], above: float) -> None:
    if not points or not all(above < point < math.inf for point in points):
        raise ConfigError(
            "not a grid",
            where=name,
            found=tuple(points),
            expected=f"finite numbers above {above}, at least one",
        )


def _check_draws(name: str, spread: float, runs: int) -> None:
    if not 0 < spread < math.inf:
        raise ConfigError("out of range", where=name, found=spread, expected="above 0, finite")
    if runs < 1:
        raise ConfigError("out of range", where="runs", found=runs, expected="1 or more")
