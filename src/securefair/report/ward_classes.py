"""What the first page of a report says of classes alone: how often each is recognised, whether
probabilities come true, and what another threshold would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from securefair.model.outcomes.pictures import came_true
from securefair.records import Picture, Reliability, RunResult
from securefair.words import Words
from securefair.worth.interval import wilson


@dataclass(frozen=True)
class Recognised:
    """One true class of the confusion matrix, all participants together.

    Attributes:
        name: of the class.
        cells: of a hundred samples of this class, how many the models take for each class.
        samples: tested, over all repetitions.
    """

    name: str
    cells: tuple[str, ...]
    samples: int


def recognised(result: RunResult, classes: Sequence[str]) -> list[Recognised]:
    """Rows of the confusion matrix, of all participants together."""
    confusion = result.algorithms[result.algorithm].confusion
    total = np.sum([np.array(matrix) for matrix in confusion.values()], axis=0)
    rows = []
    for name, counts in zip(classes, total.tolist(), strict=True):
        samples: int = sum(counts)
        cells = tuple(f"{100 * one / samples:.0f}" if samples else "" for one in counts)
        rows.append(Recognised(name=name, cells=cells, samples=samples // len(result.seeds)))
    return rows


def probabilities(bins: Sequence[Reliability], seeds: int) -> Picture:
    """Probabilities of classes beside how often they came true; every seed repeats patients."""
    ends = [wilson(one.observed, max(1, one.samples // seeds)) for one in bins]
    return came_true(
        "came_true",
        [one.predicted for one in bins],
        ([one.observed for one in bins], [low for low, _ in ends], [high for _, high in ends]),
        [one.samples for one in bins],
    )


def thresholds(result: RunResult, words: Words) -> list[tuple[str, ...]]:
    """What happens where class 1 is said from another probability on, as rows of text."""

    def shown(share: float | None) -> str:
        return "" if share is None else words.percent(share)

    return [
        (
            words.percent(one.threshold),
            shown(one.sensitivity),
            shown(one.specificity),
            shown(one.right),
        )
        for one in result.algorithms[result.algorithm].thresholds
    ]
