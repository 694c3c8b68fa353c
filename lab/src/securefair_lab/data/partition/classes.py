"""Participants that differ in which classes they hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
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
from securefair_lab.data.partition.sizes import partition_by_shares

_ATTEMPTS = 100  # draws before a minimum size counts as impossible


@dataclass(frozen=True, kw_only=True)
class DirichletPartitioner:
    """Shares drawn from a symmetric Dirichlet distribution: the smaller delta, the more unequal.

    CYCle's text draws the shares once ("a fraction p_n of the total data samples": `by` =
    "quantity"), but the standalone accuracies of its Table 13 fit shares drawn anew for each
    class, which is the default and what DPFL does.

    Args:
        participants: N.
        delta: concentration, above 0.
        by: "class" draws p ~ Dir_N(delta) for each class, "quantity" once for all.
        min_samples: redraw until everyone has as many.
        cap: whoever holds its even share B/N gets nothing of the classes still to be divided,
            unless nobody else is left (Wang et al. 2020; by class only).
    """

    participants: int
    delta: float
    by: Literal["class", "quantity"] = defaults.PARTITION_BY
    min_samples: int = 1
    cap: bool = False

    def __post_init__(self) -> None:
        check_participants(self.participants)
        _check_delta(self.delta)
        _check_min_samples(self.min_samples)
        if self.by not in ("class", "quantity"):
            raise ConfigError(
                "unknown choice", where="by", found=self.by, expected='"class" or "quantity"'
            )
        if self.cap and self.by == "quantity":
            raise ConfigError("only divisions by class can be capped", where="cap", found=self.cap)

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """See `Partitioner`."""
        check_enough(labels, self.participants, self.min_samples)
        concentration = np.full(self.participants, self.delta)

        def draw() -> list[Indices]:
            if self.by == "quantity":
                return partition_by_shares(labels, rng.dirichlet(concentration), rng)
            pieces, held = [], np.zeros(self.participants, dtype=np.int64)
            for samples in samples_by_class(labels, rng).values():
                shares = rng.dirichlet(concentration)
                if self.cap:
                    shares = _capped(shares, held < len(labels) / self.participants)
                sizes = apportion(len(samples), shares, rng)
                held += sizes
                pieces.append(cut(samples, sizes))
            return gather(pieces, rng)

        return _redraw(draw, self.min_samples, "Use a larger delta or fewer participants")


@dataclass(frozen=True, kw_only=True)
class PathologicalPartitioner:
    """Everyone holds only a few classes (DPFL's Patho(c), after McMahan et al.).

    Classes are dealt so that each has as many holders as any other, to within one. The samples of
    a class are then divided among its holders by shares from a Dirichlet distribution (DPFL,
    App. H.5.1); a holder may end up with none of a class, so c is the most it holds.

    Args:
        participants: N.
        classes_each: c.
        delta: concentration of the shares; None divides each class evenly.
        min_samples: redraw until everyone has as many.
        cap: as `DirichletPartitioner`.
    """

    participants: int
    classes_each: int
    delta: float | None = defaults.DELTA
    min_samples: int = 1
    cap: bool = False

    def __post_init__(self) -> None:
        check_participants(self.participants)
        _check_min_samples(self.min_samples)
        if self.delta is not None:
            _check_delta(self.delta)
        if self.classes_each < 1:
            raise ConfigError(
                "out of range", where="classes_each", found=self.classes_each, expected=">= 1"
            )

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """See `Partitioner`.

        Raises:
            DataError: also where there are fewer classes than `classes_each`, or so many that
                some would have no holder.
        """
        check_enough(labels, self.participants, self.min_samples)
        classes = len(np.unique(labels))
        fewest = math.ceil(classes / self.participants)
        if not fewest <= self.classes_each <= classes:
            raise DataError(
                f"{classes} classes cannot be dealt to {self.participants} participants",
                where="classes_each",
                found=self.classes_each,
                expected=f"{fewest} to {classes}",
                hint="Every class needs a holder, and nobody can hold a class twice",
            )

        def draw() -> list[Indices]:
            holds = self._deal(classes, rng)
            pieces, held = [], np.zeros(self.participants, dtype=np.int64)
            for column, samples in enumerate(samples_by_class(labels, rng).values()):
                shares = holds[:, column] / holds[:, column].sum()
                if self.delta is not None:
                    holders = np.flatnonzero(holds[:, column])
                    shares[holders] = rng.dirichlet(np.full(len(holders), self.delta))
                if self.cap:
                    shares = _capped(shares, held < len(labels) / self.participants)
                sizes = apportion(len(samples), shares, rng)
                held += sizes
                pieces.append(cut(samples, sizes))
            return gather(pieces, rng)

        return _redraw(draw, self.min_samples, "Use a larger delta or fewer participants")

    def _deal(self, classes: int, rng: np.random.Generator) -> Indices:
        """Who holds what, (N, classes) of 0 and 1: least held classes first, equals at random."""
        holds = np.zeros((self.participants, classes), dtype=np.int64)
        for own in holds:
            least_held = np.lexsort((rng.random(classes), holds.sum(axis=0)))
            own[least_held[: self.classes_each]] = 1
        return holds


@dataclass(frozen=True, kw_only=True)
class ClassLadderPartitioner:
    """CFFL's imbalanced class numbers: from 1 class for the first participant to all for the last.

    Participant n holds floor(linspace(1, M, N))_n of the M classes (1, 3, 5, 7, 10 for five
    participants and ten classes), drawn at random, each with as many samples as its others to
    within one. All hold equally many samples; the rest is left out.

    Args:
        participants: N.
        samples_each: samples a participant (CFFL: 600), at least M.
    """

    participants: int
    samples_each: int

    def __post_init__(self) -> None:
        check_participants(self.participants)
        _check_min_samples(self.samples_each, "samples_each")

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """See `Partitioner`; leaves samples out.

        Raises:
            DataError: also where `samples_each` is below the number of classes, or a class has
                too few samples for those who drew it.
        """
        check_enough(labels, self.participants, self.samples_each)
        left = list(samples_by_class(labels, rng).values())
        if self.samples_each < len(left):
            raise DataError(
                "too few samples each for all classes",
                where="samples_each",
                found=self.samples_each,
                expected=f"at least {len(left)}",
            )
        parts = []
        for count in np.floor(np.linspace(1, len(left), self.participants)).astype(np.int64):
            classes = rng.permutation(len(left))[:count]
            sizes = apportion(self.samples_each, np.full(count, 1 / count), rng)
            pieces = []
            for c, size in zip(classes, sizes, strict=True):
                if size > len(left[c]):
                    raise DataError(
                        "a class has too few samples left",
                        where=f"class {np.unique(labels)[c]}",
                        found=len(left[c]),
                        expected=f"at least {size}",
                        hint="Use fewer samples_each or fewer participants",
                    )
                pieces.append(left[c][:size])
                left[c] = left[c][size:]
            parts.append(rng.permutation(np.concatenate(pieces)))
        return parts


def _capped(shares: NDArray[np.float64], open_: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The shares of those still open for more, of sum 1; as they were where that is nobody."""
    left = shares * open_
    return left / left.sum() if left.sum() > 0 else shares


def _redraw(draw: Callable[[], list[Indices]], least: int, hint: str) -> list[Indices]:
    """The first draw that gives everyone `least` samples."""
    for _ in range(_ATTEMPTS - 1):
        parts = draw()
        if min(len(part) for part in parts) >= least:
            return parts
    return check_sizes(draw(), least, f"{hint}; {_ATTEMPTS} draws were tried")


def _check_delta(delta: float) -> None:
    if not 0.0 < delta < math.inf:
        raise ConfigError("out of range", where="delta", found=delta, expected="above 0, finite")


def _check_min_samples(samples: int, where: str = "min_samples") -> None:
    if samples < 1:
        raise ConfigError("out of range", where=where, found=samples, expected=">= 1")
