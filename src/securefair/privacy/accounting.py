"""What mechanisms cost, alone and together: Google's dp-accounting, privacy loss distributions.

Its distributions are discretised upwards, so every epsilon here is an upper bound. A patient of one
neighbour has no part in the other. Gaussian numbers are given as their standard deviation over
the sensitivity, "noise multiplier".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from securefair.errors import BackendUnavailableError, ConfigError

LEAST_NOISE = 0.3
"""Less is never used: its privacy loss is large, and takes gigabytes to compute."""
MOST_NOISE = 1e6
_FINE = 1.001
"""How much more noise than the least is used, at most."""
_NOTHING = 1e-12
_INTERVAL = (
    1e-3  # of the discretised losses: adds at most 0.0004 to epsilon, at a tenth of the time
)


def accountant() -> ModuleType:
    """The library.

    Raises:
        BackendUnavailableError: it is not installed.
    """
    try:
        import dp_accounting
        import dp_accounting.pld  # a submodule that the package does not import itself
    except ImportError as error:
        raise BackendUnavailableError(
            "epsilon is computed by dp-accounting",
            where="privacy",
            found=str(error),
            hint="pip install 'securefair[privacy]'",
        ) from error
    module: ModuleType = dp_accounting
    return module


@dataclass(frozen=True, kw_only=True)
class SampledGaussian:
    """`steps` noisy sums over Poisson samples: DP-SGD, or at rate 1 plain Gaussian releases.

    Attributes:
        noise_multiplier: LEAST_NOISE or more.
        rate: with which each patient is in a sample, in (0, 1].
        steps: 0 or more.

    Raises:
        ConfigError: out of range.
    """

    noise_multiplier: float
    rate: float = 1.0
    steps: int = 1

    def __post_init__(self) -> None:
        for name, accepted, expected in (
            ("noise_multiplier", self.noise_multiplier >= LEAST_NOISE, f"{LEAST_NOISE} or more"),
            ("rate", 0 < self.rate <= 1, "in (0, 1]"),
            ("steps", self.steps >= 0, "at least 0"),
        ):
            if not accepted:
                raise ConfigError(
                    "no mechanism", where=name, found=getattr(self, name), expected=expected
                )

    def event(self) -> Any:
        """As dp-accounting's description of what happened."""
        dp = accountant()
        one = dp.GaussianDpEvent(self.noise_multiplier)
        if self.rate < 1:
            one = dp.PoissonSampledDpEvent(self.rate, one)
        return dp.SelfComposedDpEvent(one, self.steps)


@functools.lru_cache(maxsize=4096)
def spent(mechanisms: Sequence[SampledGaussian], delta: float) -> float:
    """The epsilon at that delta of all mechanisms together, on the same patients.

    Args:
        mechanisms: a tuple; those of no steps cost nothing.
        delta: in (0, 1).
    """
    active = [one for one in mechanisms if one.steps]
    if not active:
        return 0.0
    dp = accountant()
    if all(one.rate == 1 for one in active):
        # Gaussians compose to one Gaussian, whose delta has a closed form (Balle, Wang 2018).
        together = sum(one.steps / one.noise_multiplier**2 for one in active) ** -0.5
        return float(dp.get_epsilon_gaussian(together, delta))
    account = dp.pld.PLDAccountant(
        dp.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=_INTERVAL
    )
    for one in active:
        account.compose(one.event())
    return float(account.get_epsilon(delta))


@functools.lru_cache(maxsize=1024)
def noise_multiplier(epsilon: float, delta: float, *, rate: float = 1.0, steps: int = 1) -> float:
    """The least noise, down to LEAST_NOISE, with which so many steps cost at most epsilon at delta.

    Args:
        epsilon: above 0.
        delta: in (0, 1).
        rate: of Poisson sampling, in (0, 1].
        steps: at least 1.

    Raises:
        ConfigError: no noise is enough.
    """
    low, high = LEAST_NOISE, 1.0
    while (enough := _cost(high, rate, steps, delta)) > epsilon:
        low, high = high, 2 * high
        if high > MOST_NOISE:
            raise ConfigError(
                "no noise reaches this epsilon",
                where="privacy.epsilon",
                found=epsilon,
                expected="a larger epsilon, or fewer steps",
            )
    # That of little noise takes longest to compute.
    if (little := _cost(low, rate, steps, delta)) <= epsilon:
        return low
    places = 2 ** math.ceil(math.log2(math.log(high / low) / math.log(_FINE)))

    def noise(place: int) -> float:
        return float(low * (high / low) ** (place / places))

    below, above, tries = 0, places, 0
    while above - below > 1:
        tries += 1
        # Costs are nearly a power of the noise. Where they are not, halves come to an end.
        share = 0.5
        if tries % 3 and math.isfinite(little):
            share = math.log(little / epsilon) / math.log(little / max(enough, _NOTHING))
        middle = min(max(below + int(share * (above - below)), below + 1), above - 1)
        cost = _cost(noise(middle), rate, steps, delta)
        if cost <= epsilon:
            above, enough = middle, cost
        else:
            below, little = middle, cost
    return noise(above)


def _cost(noise: float, rate: float, steps: int, delta: float) -> float:
    return spent((SampledGaussian(noise_multiplier=noise, rate=rate, steps=steps),), delta)
