"""Pictures of two classes: who is told apart, what comes true, and what acting is worth.

Curves are on grids and dots are of parts of `LEAST` patients or more: no single patient is in them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.model.outcomes.pictures import (
    MOST_PARTS,
    SHARES,
    came_true,
    parts_of,
    rounded,
    ticks_between,
)
from securefair.records import Picture, PictureSeries

Array = NDArray[np.float64]

GRID = np.linspace(0.0, 1.0, 21)
"""Shares of the one class that are taken for the other."""

THRESHOLDS = np.linspace(0.02, 0.6, 30)
"""Probabilities from which on somebody is treated."""


def class_pictures(probability: Array, labels: NDArray[np.int64]) -> list[Picture]:
    """Of the probability of class 1; none where all patients are of one class.

    Args:
        probability: (B,), in [0, 1].
        labels: (B,), 0 or 1.
    """
    ill = labels == 1
    if ill.all() or not ill.any():
        return []
    from scipy.stats import binomtest  # loads long, and only pages of scores need it

    found = [_told_apart(probability, ill)]
    parts = parts_of(probability, MOST_PARTS)
    if parts:
        ends = [
            binomtest(int(ill[part].sum()), len(part)).proportion_ci(method="wilson")
            for part in parts
        ]
        seen = [float(ill[part].mean()) for part in parts]
        found.append(
            came_true(
                "came_true",
                rounded([float(probability[part].mean()) for part in parts]),
                (
                    rounded(seen),
                    rounded([one.low for one in ends]),
                    rounded([one.high for one in ends]),
                ),
                [len(part) for part in parts],
            )
        )
    return [*found, _worth(probability, ill)]


def _told_apart(probability: Array, ill: NDArray[np.bool_]) -> Picture:
    """The receiver operating characteristic, between equal probabilities as if by lot."""
    order = np.unique(probability)[::-1]
    false, true = (
        np.array([0.0, *(float((probability[of] >= one).mean()) for one in order)])
        for of in (~ill, ill)
    )
    share = np.interp(GRID, false, true)
    x, y = np.append(0.0, GRID), np.append(0.0, share)
    curve = PictureSeries(name="told_apart", form="line", x=rounded(x), y=rounded(y))
    return Picture(
        name="roc",
        x_ticks=SHARES,
        y_ticks=SHARES,
        series=[curve],
        x_shares=True,
        y_shares=True,
        alike=True,
    )


def _worth(probability: Array, ill: NDArray[np.bool_]) -> Picture:
    """The decision curve, beside treating all; treating nobody is 0."""
    odds = THRESHOLDS / (1 - THRESHOLDS)
    treated = probability[:, None] >= THRESHOLDS
    model = (treated & ill[:, None]).mean(axis=0) - odds * (treated & ~ill[:, None]).mean(axis=0)
    everybody = ill.mean() - odds * (~ill).mean()
    ticks = ticks_between(min(0.0, float(model.min())), max(float(model.max()), float(ill.mean())))
    shown = everybody >= ticks[0]
    return Picture(
        name="worth",
        x_ticks=[0.0, 0.2, 0.4, 0.6],
        y_ticks=ticks,
        series=[
            PictureSeries(name="by_model", form="line", x=rounded(THRESHOLDS), y=rounded(model)),
            PictureSeries(
                name="everybody",
                form="line",
                x=rounded(THRESHOLDS[shown]),
                y=rounded(everybody[shown]),
            ),
        ],
        x_shares=True,
    )
