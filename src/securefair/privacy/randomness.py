"""Where the noise comes from: the operating system, or a seed in simulations.

Noise that protects somebody is drawn by OpenDP (MIT licence): exact samples of a discrete
Gaussian with the spacing of floating-point numbers, computed in rational arithmetic (Canonne,
Kamath, Steinke 2020) from a cryptographic generator that the operating system seeds. So neither
the gaps between floating-point numbers (Mironov 2012) nor those of a Box-Muller sampler (Jin,
McMurtry, Rubinstein, Ohrimenko 2022) tell which noise was drawn.

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
"""Noise on the coarse grid is larger by this, which covers what rounding adds to a sensitivity
(2^-40 sqrt(numbers)) of up to 10^11 numbers at clipping norm 1."""


class NoiseSource(ABC):
    """What private fits draw from.

    Attributes:
        secure: whether what it draws may protect patients.
    """

    secure: bool

    @abstractmethod
    def gaussian(self, count: int, scale: float, *, coarse: bool = False) -> Array:
        """(count,) independent Gaussian numbers of that standard deviation; zeros for scale 0."""

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
            import opendp.prelude as opendp
        except ImportError as error:
            raise BackendUnavailableError(
                "noise that protects patients needs OpenDP",
                where="privacy",
                found=str(error),
                hint="pip install 'securefair[privacy]'",
            ) from error
        opendp.enable_features("contrib")
        self._opendp = opendp
        self._coins = random.SystemRandom()

    def gaussian(self, count: int, scale: float, *, coarse: bool = False) -> Array:
        """As `NoiseSource`, exact."""
        if count == 0 or scale == 0:
            return np.zeros(count)
        if not 0 < scale < math.inf:
            raise ValueError(f"no standard deviation: {scale}")
        opendp = self._opendp
        mechanism = opendp.m.make_gaussian(
            opendp.vector_domain(opendp.atom_domain(T=float, nan=False), size=count),
            opendp.l2_distance(T=float),
            scale=scale * (GRID_MARGIN if coarse else 1.0),
            k=COARSE if coarse else FINE,
        )
        return np.array(mechanism([0.0] * count), dtype=np.float64)

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

    def gaussian(self, count: int, scale: float, *, coarse: bool = False) -> Array:  # noqa: ARG002
        """As `NoiseSource`."""
        return scale * self._rng.standard_normal(count)

    def members(self, count: int, rate: float) -> NDArray[np.int64]:
        """As `NoiseSource`."""
        return np.flatnonzero(self._rng.random(count) < rate)

    def subset(self, count: int, size: int) -> NDArray[np.int64]:
        """As `NoiseSource`."""
        return np.sort(self._rng.choice(count, size, replace=False))
