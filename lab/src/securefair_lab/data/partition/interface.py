"""What every partitioner promises, and the arithmetic they share."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError, DataError

Indices = NDArray[np.int64]


class Partitioner(Protocol):
    """Divides samples among participants; how is the business of each implementation.

    Laws: the parts are disjoint, in random order within, and none is empty; together they are all
    samples, except where an implementation says that it leaves some out; equal labels and
    generators in equal states give equal parts.
    """

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """The samples of each participant, as indices into `labels`.

        Args:
            labels: class of each sample (B,), integers from 0.
            rng: source of every draw.

        Raises:
            DataError: these samples cannot be divided so; the hint says what could be.
        """
        ...


def check_participants(participants: int) -> None:
    """Refuse a number of participants below 1, as a ConfigError."""
    if participants < 1:
        raise ConfigError(
            "not a number of participants",
            where="participants",
            found=participants,
            expected=">= 1",
        )


def check_enough(labels: Indices, participants: int, each: int = 1) -> None:
    """Refuse labels that are not (B,) classes, or too few for `each` samples a participant."""
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or (len(labels) and labels.min() < 0):
        raise DataError(
            "not class labels",
            where="labels",
            found=f"{labels.dtype} {labels.shape}",
            expected="integers from 0, (B,)",
        )
    if len(labels) < participants * each:
        raise DataError(
            f"too few samples for {participants} participants",
            found=len(labels),
            expected=f"at least {participants * each}",
            hint="Use fewer participants or more samples",
        )


def samples_by_class(labels: Indices, rng: np.random.Generator) -> dict[int, Indices]:
    """The samples of each class that occurs, in random order."""
    order = rng.permutation(len(labels)).astype(np.int64)
    return {int(c): order[labels[order] == c] for c in np.unique(labels)}


def apportion(total: int, shares: NDArray[np.float64], rng: np.random.Generator) -> Indices:
    """Whole numbers that add up to `total`, each within one of its share of it.

    Largest remainder: round down, then one more to those that rounding hurt most; equals at
    random, so that no participant is favoured over many classes.

    Args:
        total: to be divided, not negative.
        shares: (N,) not negative, of sum 1.
        rng: decides between equals.
    """
    exact = total * shares
    parts = np.floor(exact + 1e-9).astype(np.int64)  # 0.29 * 100 is 28.999...
    hurt_most = np.lexsort((rng.random(len(shares)), np.round(parts - exact, 9)))
    parts[hurt_most[: total - int(parts.sum())]] += 1
    return parts


def cut(samples: Indices, sizes: Indices) -> list[Indices]:
    """Consecutive pieces of these sizes; what is left over belongs to nobody."""
    ends = np.cumsum(sizes)
    return [samples[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def gather(pieces: list[list[Indices]], rng: np.random.Generator) -> list[Indices]:
    """Each participant's pieces joined in random order; `pieces[c][n]` is n's share of class c."""
    return [rng.permutation(np.concatenate(own)) for own in zip(*pieces, strict=True)]


def check_sizes(parts: list[Indices], least: int, hint: str) -> list[Indices]:
    """The parts, refused as a DataError where a participant has fewer than `least` samples."""
    for n, part in enumerate(parts, start=1):
        if len(part) < least:
            raise DataError(
                f"participant {n} of {len(parts)} would hold too few samples",
                found=len(part),
                expected=f"at least {least}",
                hint=hint,
            )
    return parts
