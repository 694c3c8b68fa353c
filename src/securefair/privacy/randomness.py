"""Where the noise comes from: the operating system, or a seed in simulations.

Noise that protects somebody is drawn by OpenDP (MIT licence): exact samples of a discrete
Gaussian with the spacing of floating-point numbers, computed in rational arithmetic (Canonne,
Kamath, Steinke 2020) from a cryptographic generator that the operating system seeds. OpenDP also
adds them to what they hide, in the same arithmetic, and rounds afterwards. So neither the gaps
between floating-point numbers (Mironov 2012) nor those of a Box-Muller sampler (Jin, McMurtry,
Rubinstein, Ohrimenko 2022) tell which noise was drawn.

A seeded source repeats itself, so that simulations can be compared and resumed. Whoever knows
the seed takes its noise off again: it never protects anybody.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from securefair.errors import BackendUnavailableError

Array = NDArray[np.float64]

FINE = -1074
"""log2 of the smallest positive floating-point number: no sample is rounded before it is a float.
"""
COARSE = -40
"""For the many numbers of a network: a tenth of the time."""
GRID_MARGIN = 1 + 1e-6
"""Noise on the coarse grid is larger by this, which covers what rounding adds to a sensitivity of 1
(2^-40 sqrt(numbers)) of up to 10^11 numbers."""


class NoiseSource(ABC):
    """What private fits draw from.

    Attributes:
        secure: whether what it draws may protect patients.
    """

    secure: bool

    @abstractmethod
    def gaussian_around(self, values: Array, scale: float, *, coarse: bool = False) -> Array:
        """The values, each with independent Gaussian noise of that standard deviation.

        What protects somebody adds value and noise exactly, and rounds their sum only: were noise
        of a grid added to a float, the rest that the grid leaves of it would tell the float.

        Args:
            values: finite, of any shape.
            scale: finite, at least 0.
            coarse: for many numbers of sensitivity 1 together: value and noise on the coarse grid.

        Raises:
            ValueError: a value or the scale is out of range.
        """

    def gaussian(self, count: int, scale: float) -> Array:
        """(count,) independent Gaussian numbers of that standard deviation; zeros for scale 0."""
        return self.gaussian_around(np.zeros(count), scale)

    @abstractmethod
    def members(self, count: int, rate: float) -> NDArray[np.int64]:
        """Indices, ascending, of whom a Poisson sample takes: each of `count` with that rate."""

    @abstractmethod
    def subset(self, count: int, size: int) -> NDArray[np.int64]:
        """`size` of `count` indices, ascending, each subset equally likely."""


class SystemNoise(NoiseSource):
    """From the operating system, by OpenDP.

    Raises:
        BackendUnavailableError: OpenDP is not installed.
    """

    secure = True

    def __init__(self) -> None:
        try:
            # Not its prelude, which takes pandas, polars and scikit-learn: a second.
            from opendp import domains, measurements, metrics, mod
        except ImportError as error:
            raise BackendUnavailableError(
                "noise that protects patients needs OpenDP",
                where="privacy",
                found=str(error),
                hint="pip install 'securefair[privacy]'",
            ) from error
        mod.enable_features("contrib")
        self._domains, self._measurements, self._metrics = domains, measurements, metrics
        self._coins = random.SystemRandom()

    def gaussian_around(self, values: Array, scale: float, *, coarse: bool = False) -> Array:
        """As `NoiseSource`, exact."""
        _check(values, scale)
        if values.size == 0 or scale == 0:
            return values.copy()
        number = self._domains.atom_domain(T=float, nan=False)
        mechanism = self._measurements.make_gaussian(
            self._domains.vector_domain(number, size=values.size),
            self._metrics.l2_distance(T=float),
            scale=scale * (GRID_MARGIN if coarse else 1.0),
            k=COARSE if coarse else FINE,
        )
        drawn = np.array(mechanism(values.ravel().tolist()), dtype=np.float64)
        return drawn.reshape(values.shape)

    def members(self, count: int, rate: float) -> NDArray[np.int64]:
        """As `NoiseSource`; rates are exact to 2^-53."""
        return np.array([i for i in range(count) if self._coins.random() < rate], dtype=np.int64)

    def subset(self, count: int, size: int) -> NDArray[np.int64]:
        """As `NoiseSource`."""
        return np.array(sorted(self._coins.sample(range(count), size)), dtype=np.int64)


class SeededNoise(NoiseSource):
    """For simulations: equal seeds give equal noise, which protects nobody."""

    secure = False

    def __init__(self, *seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def gaussian_around(self, values: Array, scale: float, *, coarse: bool = False) -> Array:
        """As `NoiseSource`."""
        del coarse  # there is no grid
        _check(values, scale)
        return np.asarray(values + scale * self._rng.standard_normal(values.shape))

    def members(self, count: int, rate: float) -> NDArray[np.int64]:
        """As `NoiseSource`."""
        return np.flatnonzero(self._rng.random(count) < rate)

    def subset(self, count: int, size: int) -> NDArray[np.int64]:
        """As `NoiseSource`."""
        return np.sort(self._rng.choice(count, size, replace=False))


def _check(values: Array, scale: float) -> None:
    if not 0 <= scale < math.inf:
        raise ValueError(f"no standard deviation: {scale}")
    if not np.isfinite(values).all():
        raise ValueError("noise hides no NaN and no infinity")
