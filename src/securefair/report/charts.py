"""Geometry of the report's figures, in percent of the drawing area; the template draws it.

Percentages, because an SVG with percent coordinates follows the width of the page while its
text keeps its size: the same figure is readable on a phone and on paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from securefair.records import RoundRecord


@dataclass(frozen=True)
class Bar:
    """One horizontal bar: left end and width, and the ends of its whisker if it has one."""

    x: float
    width: float
    whisker: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """One line of a plot: points "x,y x,y ..." in a box of 100 by 100, y downwards."""

    algorithm: str
    points: str
    last: float


@dataclass(frozen=True)
class Panel:
    """One small plot: a participant's accuracy over rounds."""

    name: str
    low: float
    high: float
    curves: list[Curve]


def accuracy_bar(accuracy: float, spread: float = 0.0) -> Bar:
    """A bar from zero; an accuracy in [0, 1] fills that share of the width."""
    ends = (max(accuracy - spread, 0.0) * 100, min(accuracy + spread, 1.0) * 100)
    return Bar(x=0.0, width=accuracy * 100, whisker=ends if spread > 0 else None)


def gain_scale(gains: Sequence[float]) -> float:
    """The largest gain that a diverging axis must show: a round number of points, at least 1."""
    largest = max((abs(gain) * 100 for gain in gains), default=0.0)
    for step in (1, 2, 5, 10, 15, 20, 30, 50, 100):
        if largest <= step:
            return step / 100
    return 1.0


def gain_bar(gain: float, scale: float) -> Bar:
    """A bar from the middle: to the right for a gain, to the left for a loss."""
    width = min(abs(gain) / scale, 1.0) * 50
    return Bar(x=50.0 if gain >= 0 else 50.0 - width, width=width)


def panels(
    rounds: Sequence[RoundRecord], algorithms: Sequence[str], names: Sequence[str]
) -> list[Panel]:
    """Accuracy over rounds, one panel a participant, all on the same axes.

    Algorithms without a second round have no curve, as one point draws no line. Without any curve
    there is no panel.
    """
    by_algorithm = {
        name: sorted((r for r in rounds if r.algorithm == name), key=lambda r: r.round)
        for name in algorithms
    }
    drawn = {name: records for name, records in by_algorithm.items() if len(records) > 1}
    values = [value for records in drawn.values() for r in records for value in r.accuracy]
    if not values:
        return []
    low, high = _bounds(min(values), max(values))
    return [
        Panel(
            name=name,
            low=low,
            high=high,
            curves=[
                Curve(
                    algorithm=algorithm,
                    points=_polyline([r.accuracy[at] for r in records], low, high),
                    last=records[-1].accuracy[at],
                )
                for algorithm, records in drawn.items()
            ],
        )
        for at, name in enumerate(names)
    ]


def shade(reputation: float | None) -> str:
    """The style class of a heat map cell: "s0" to "s10", or "none" without a reputation."""
    if reputation is None:
        return "none"
    # Halves go up, as in the script that moves the slider; Python's round would go to even.
    return f"s{math.floor(min(max(reputation, 0.0), 1.0) * 10 + 0.5)}"


def _bounds(low: float, high: float) -> tuple[float, float]:
    """Multiples of five per cent around the data, at least ten points apart, within [0, 1]."""
    floor, ceiling = math.floor(low * 20), math.ceil(high * 20)
    if ceiling - floor < 2:
        floor = max(floor - 1, 0)
        ceiling = floor + 2
    return floor / 20, ceiling / 20


def _polyline(values: Sequence[float], low: float, high: float) -> str:
    last = max(len(values) - 1, 1)
    pairs = (
        f"{at / last * 100:.2f},{(high - value) / (high - low) * 100:.2f}"
        for at, value in enumerate(values)
    )
    return " ".join(pairs)
