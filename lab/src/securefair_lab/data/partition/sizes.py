"""Participants that differ in how much they hold, while everyone's classes are mixed alike."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError, DataError
from securefair_lab.data.partition.interface import (
    Indices,
    apportion,
    check_enough,
    check_participants,
    check_sizes,
    cut,
    gather,
    samples_by_class,
)

_HINT = "Use fewer participants, more equal shares or more samples"


@dataclass(frozen=True, kw_only=True)
class IidPartitioner:
    """Homogeneous: everyone gets equally many samples of every class.

    What a class has beyond a multiple of N goes to the last participant. CYCle, section 5.1.
    """

    participants: int

    def __post_init__(self) -> None:
        check_participants(self.participants)

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """See `Partitioner`."""
        check_enough(labels, self.participants)
        pieces = []
        for samples in samples_by_class(labels, rng).values():
            sizes = np.full(self.participants, len(samples) // self.participants)
            sizes[-1] += len(samples) % self.participants
            pieces.append(cut(samples, sizes))
        return check_sizes(gather(pieces, rng), 1, _HINT)


@dataclass(frozen=True, kw_only=True)
class RatioPartitioner:
    """Each participant gets its ratio of every class, to within one sample.

    FairSL uses 0.1/0.3/0.6 and 0.10/0.12/0.38/0.40.

    Args:
        ratios: one a participant, positive, of sum 1.
    """

    ratios: tuple[float, ...]

    def __post_init__(self) -> None:
        if (
            not self.ratios
            or not all(ratio > 0 for ratio in self.ratios)
            or not math.isclose(sum(self.ratios), 1.0, abs_tol=1e-9)
        ):
            raise ConfigError(
                "not ratios", where="ratios", found=self.ratios, expected="positive, of sum 1"
            )

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """See `Partitioner`."""
        check_enough(labels, len(self.ratios))
        return check_sizes(partition_by_shares(labels, np.array(self.ratios), rng), 1, _HINT)


@dataclass(frozen=True, kw_only=True)
class ImbalancedPartitioner:
    """CYCle's imbalanced(kappa, m): the first m participants are large, the others share the rest.

    Args:
        participants: N.
        kappa: share of every class that each large participant gets, in (0, 1).
        large: m, below N; `large` * `kappa` must leave a rest.
    """

    participants: int
    kappa: float
    large: int = 1

    def __post_init__(self) -> None:
        check_participants(self.participants)
        if not 1 <= self.large < self.participants:
            raise ConfigError(
                "out of range",
                where="large",
                found=self.large,
                expected=f"1 to {self.participants - 1}",
            )
        if not 0.0 < self.kappa < 1.0 / self.large:
            raise ConfigError(
                "out of range",
                where="kappa",
                found=self.kappa,
                expected=f"above 0 and below 1/{self.large}",
            )

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """See `Partitioner`."""
        check_enough(labels, self.participants)
        small = self.participants - self.large
        rest = (1.0 - self.large * self.kappa) / small
        shares = np.array([self.kappa] * self.large + [rest] * small)
        return check_sizes(partition_by_shares(labels, shares, rng), 1, _HINT)


@dataclass(frozen=True, kw_only=True)
class PowerLawPartitioner:
    """CFFL's imbalanced data size: participant n of N holds a share proportional to n^exponent.

    The first has the least and the last the most; samples are drawn regardless of their class.
    The paper states neither the exponent nor the sizes.

    Args:
        participants: N.
        exponent: 0 is even, 1 linear; larger is more unequal.
        samples: how many to hand out in all (CFFL: 600 a participant on MNIST), leaving the
            others out; None for all.
    """

    participants: int
    exponent: float = 1.0
    samples: int | None = None

    def __post_init__(self) -> None:
        check_participants(self.participants)
        if not 0.0 <= self.exponent < math.inf:
            raise ConfigError(
                "out of range", where="exponent", found=self.exponent, expected="0 or more, finite"
            )
        if self.samples is not None and self.samples < self.participants:
            raise ConfigError(
                "too few for everyone",
                where="samples",
                found=self.samples,
                expected=f"at least {self.participants}",
            )

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """See `Partitioner`; leaves samples out where `samples` says so."""
        check_enough(labels, self.participants)
        total = len(labels) if self.samples is None else self.samples
        if total > len(labels):
            raise DataError(
                "more samples wanted than there are",
                where="samples",
                found=total,
                expected=f"at most {len(labels)}",
            )
        # (n/N)^exponent: n^exponent itself would overflow for large exponents
        weights = (np.arange(1, self.participants + 1) / self.participants) ** self.exponent
        sizes = np.sort(apportion(total, weights / weights.sum(), rng))
        parts = cut(rng.permutation(len(labels)).astype(np.int64), sizes)
        return check_sizes(parts, 1, "Use a smaller exponent, fewer participants or more samples")


def partition_by_shares(
    labels: Indices, shares: NDArray[np.float64], rng: np.random.Generator
) -> list[Indices]:
    """Every class divided in the same shares (N,), to within one sample; parts may be empty."""
    pieces = [
        cut(samples, apportion(len(samples), shares, rng))
        for samples in samples_by_class(labels, rng).values()
    ]
    return gather(pieces, rng)
