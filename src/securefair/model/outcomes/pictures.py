"""Pictures of what was predicted beside what was seen, as numbers that a report draws.

Patients of several hospitals come together, each predicted by its own hospital's model. A picture
tells of parts of `LEAST` patients or more, or of curves on a grid: no single patient is in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.records import Picture, PictureSeries

Array = NDArray[np.float64]

LEAST = 10
"""Patients in a part."""

MOST_PARTS = 10
"""Parts of equal size, in the order of what was predicted."""

TICKS = 5
"""About so many on an axis."""

REACH = 1.959964
"""Deviations to either end of a 95 % interval."""

SHARES = [0.0, 0.25, 0.5, 0.75, 1.0]
"""Ticks of an axis of shares."""

SEEN, PREDICTED = "seen", "predicted"
"""Names of series."""


class Shown(NamedTuple):
    """What one hospital's model says of patients.

    Attributes:
        said: (B, K), as the outcome says it.
        own: the hospital's own part of predictions.
        samples: (B,), what is known of them.
    """

    said: Array
    own: Mapping[str, Sequence[float]]
    samples: Samples


def calibration(
    predicted: Array, seen: Array, *, most: int = MOST_PARTS, from_zero: bool = False
) -> list[Picture]:
    """Means of what was seen against means of what was predicted, in parts of equal size.

    Args:
        predicted, seen: (B,), in one unit.
        most: parts.
        from_zero: whether axes begin at 0.
    """
    parts = parts_of(predicted, most)
    if not parts:
        return []
    x = np.array([predicted[part].mean() for part in parts])
    y = np.array([seen[part].mean() for part in parts])
    reach = REACH * np.array([seen[part].std(ddof=1) / math.sqrt(len(part)) for part in parts])
    ends = [*x, *(y - reach), *(y + reach)]
    low = 0.0 if from_zero else float(min(ends))
    ticks = ticks_between(low, float(max(ends)))
    dots = PictureSeries(
        name="parts",
        form="dots",
        x=rounded(x),
        y=rounded(y),
        low=rounded(np.maximum(y - reach, ticks[0])),
        high=rounded(y + reach),
        patients=[len(part) for part in parts],
    )
    return [
        Picture(name="calibration", x_ticks=ticks, y_ticks=ticks, series=[dots], alike=True),
    ]


def came_true(
    name: str,
    predicted: Sequence[float],
    seen: tuple[Sequence[float], Sequence[float], Sequence[float]],
    patients: Sequence[int],
    at: Mapping[str, float] | None = None,
) -> Picture:
    """Shares that were predicted beside those that came true, a dot each.

    Args:
        name: of the picture.
        predicted: in [0, 1].
        seen: what came true, and the ends of its 95 % interval; as many of each.
        patients: behind each dot.
        at: what its words name.
    """
    y, low, high = map(list, seen)
    dots = PictureSeries(
        name="parts",
        form="dots",
        x=list(predicted),
        y=y,
        low=low,
        high=high,
        patients=list(patients),
    )
    return Picture(
        name=name,
        x_ticks=SHARES,
        y_ticks=SHARES,
        series=[dots],
        x_shares=True,
        y_shares=True,
        alike=True,
        at=dict(at or {}),
    )


def parts_of(values: Array, most: int) -> list[NDArray[np.int64]]:
    """Rows in the order of their values, in up to so many parts of `LEAST` rows or more.

    Equal values stay together, and no row is left out; none where there are fewer rows than that.
    """
    number = min(most, len(values) // LEAST)
    if number < 1:
        return []
    cuts = np.unique(np.quantile(values, np.linspace(0, 1, number + 1)[1:-1]))
    place = np.searchsorted(cuts, values, side="right")
    found: list[NDArray[np.int64]] = []
    for at in np.unique(place):
        part = np.flatnonzero(place == at)
        if found and min(len(part), len(found[-1])) < LEAST:
            found[-1] = np.concatenate([found[-1], part])
        else:
            found.append(part)
    return found


def ticks_between(low: float, high: float) -> list[float]:
    """Evenly spaced round numbers that hold a range; two or more."""
    width = max(high - low, 1e-9 * max(1.0, abs(high)))
    power = 10.0 ** math.floor(math.log10(width / TICKS))
    step = next(
        times * power for times in (1, 2, 5, 10, 20) if width / (times * power) <= TICKS + 1e-9
    )
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{at * step:.10g}") for at in range(first, max(last, first + 1) + 1)]


def rounded(values: Array | Sequence[float]) -> list[float]:
    """Digits that a picture can show."""
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=np.float64).tolist()]
