"""A number: least squares with a penalty, and a normal distribution around what is predicted.

Values lie in a public range that was scaled to [-1, 1], so that penalties mean the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from securefair.data.dataset import Samples
from securefair.data.known import Fault, Known, Range
from securefair.model.outcomes.interface import Frame, OwnPart, StudyOutcome
from securefair.model.outcomes.likelihood import SeparateLikelihood, counts_of, known_values
from securefair.model.outcomes.pictures import (
    LEAST,
    REACH,
    Shown,
    calibration,
    rounded,
    ticks_between,
)
from securefair.records import Picture, PictureSeries

Array = NDArray[np.float64]

LEAST_SCALE = 1e-3
"""Of a residual, half the range being 1: nobody is surer than that."""


@dataclass(frozen=True, eq=False)
class _Squares(SeparateLikelihood):
    values: Array

    def each(self, predictors: Array) -> Array:
        half: Array = (predictors[..., 0] - self.values) ** 2 / 2
        return half

    def bends(self, predictors: Array) -> tuple[Array, Array]:
        return predictors - self.values, np.ones_like(predictors)


class Number(StudyOutcome):
    """See the module; what is said is a mean and a deviation, (B, 2).

    `Samples.values` is (n, 1), or (n, 3) with half the range and its middle, by which scores are
    told and pictures drawn in the unit of the number.
    """

    name: ClassVar = "number"
    title: ClassVar = "a number"
    scores: ClassVar = {
        "log_likelihood": "Log-likelihood",
        "r2": "R\u00b2",
        "mean_absolute_error": "Mean absolute error",
        "coverage": "Share within 95 % intervals",
    }
    lower_is_better: ClassVar = frozenset({"mean_absolute_error"})
    metric: ClassVar = "log_likelihood"
    described_by: ClassVar = frozenset({"coverage"})  # 95 % is best
    headline: ClassVar = "r2"
    of_units: ClassVar = frozenset({"log_likelihood"})  # half a percent of 1: of errors' deviation
    on_ward: ClassVar = ("mean_absolute_error", "r2", "coverage")
    as_shares: ClassVar = frozenset({"r2", "coverage"})
    effect: ClassVar = "difference"
    takes_leaves: ClassVar = False
    curvature: ClassVar = 1.0
    spreads: ClassVar = True
    ranged: ClassVar = True
    adds_own: ClassVar = True
    strata: ClassVar = ("up to its median", "above its median")

    def faults(self, numbers: Array) -> Iterator[Fault]:
        """See `StudyOutcome`."""
        if len(numbers) and not np.ptp(numbers[:, 0]):
            yield Fault(0, None, "the number is the same for everybody", "numbers that differ")

    def known(self, numbers: Array, within: Range | None) -> Known:
        """See `StudyOutcome`: strata are below and above the middle one."""
        low, high = within or (-1.0, 1.0)
        scaled = (2 * numbers[:, :1] - low - high) / (high - low)
        unit = np.tile([(high - low) / 2, (low + high) / 2], (len(scaled), 1))
        labels = (scaled[:, 0] > np.median(scaled)).astype(np.int64)
        return Known(labels, 2, np.hstack([scaled, unit]))

    def likelihood(self, samples: Samples) -> _Squares:
        """See `StudyOutcome`."""
        return _Squares(_values(samples))

    def losses(self, predictors: Array, samples: Samples) -> Array:
        """See `StudyOutcome`: normal, with the deviation that these predictors have."""
        squares = (predictors[..., 0] - _values(samples)) ** 2
        variance = np.maximum(squares.mean(axis=-1, keepdims=True), LEAST_SCALE**2)
        result: Array = (np.log(2 * np.pi * variance) + squares / variance) / 2
        return result

    def squares(self, unseen: Array, samples: Samples) -> float:
        """See `StudyOutcome`."""
        squares, counts = (unseen[:, 0] - _values(samples)) ** 2, counts_of(samples)
        return float(counts @ squares / max(1.0, counts.sum() - 1))

    def own_part(self, predictors: Array, samples: Samples, spread: float | None = None) -> OwnPart:
        """See `StudyOutcome`: the deviation of held-out residuals; of those here where none are."""
        found = np.sqrt(self.squares(predictors, samples)) if spread is None else spread
        return {"scale": [max(LEAST_SCALE, float(found))]}

    def effect_of(self, growth: Array, half: float) -> Array:
        """See `StudyOutcome`: a difference, in the unit of the number."""
        return growth * half

    def drawn(self, predictors: Array, rng: np.random.Generator) -> Known:
        """See `StudyOutcome`."""
        values = predictors[:, :1] + rng.normal(0, 0.5, (len(predictors), 1))
        return Known((values[:, 0] > 0).astype(np.int64), 2, values)

    def said(self, predictors: Array, own: OwnPart) -> Array:
        """See `StudyOutcome`."""
        means = predictors[:, 0]
        return np.column_stack([means, np.full(len(means), own["scale"][0])])

    def told(self, said: Array, frame: Frame) -> dict[str, Array]:
        """See `StudyOutcome`: the expected number, and a 95 % interval of the patient's own."""
        self.refuse_horizons(frame)
        low, high = frame.within or (-1.0, 1.0)
        means, scales = (low + high) / 2 + said[:, 0] * (high - low) / 2, said[:, 1]
        reach = REACH * scales * (high - low) / 2
        # Where the range begins at 0 or above, nothing negative can be meant.
        least = 0.0 if low >= 0 else -np.inf
        ends = (np.maximum(means + side * reach, least) for side in (-1, 1))
        return {"expected": means} | dict(zip(("low_95", "high_95"), ends, strict=True))

    def unit(self, samples: Samples) -> float:
        """See `StudyOutcome`: half the agreed range."""
        return float(_half(samples)[0])

    def recalibrated(self, said: Array, samples: Samples) -> Array:
        """See `StudyOutcome`: errors are 0 on average, with the deviation that they have here."""
        means = said[:, :1]
        moved = means + (_values(samples) - said[:, 0]).mean()
        return self.said(moved, self.own_part(moved, samples))

    def weighted_scores(self, said: Array, samples: Samples, weights: Array) -> dict[str, Array]:
        """See `StudyOutcome`; R2 is NaN where values do not vary."""
        values, (means, scales) = _values(samples), said.T
        total, off, half = weights.sum(axis=1), (values - means) / scales, _half(samples)
        middle = weights @ values / total
        spread = weights @ values**2 - total * middle**2
        left = weights @ (values - means) ** 2
        density = -np.log(2 * np.pi * (half * scales) ** 2) / 2 - off**2 / 2
        varies = spread > 1e-12 * total
        return {
            "log_likelihood": weights @ density / total,
            "r2": np.where(varies, 1 - left / np.where(varies, spread, 1.0), np.nan),
            "mean_absolute_error": weights @ (half * np.abs(values - means)) / total,
            "coverage": weights @ (np.abs(off) <= REACH).astype(np.float64) / total,
        }

    def shares(self, samples: Samples) -> dict[str, int]:
        """See `StudyOutcome`."""
        return {"coverage": samples.people}

    def pictures(self, shown: Sequence[Shown]) -> list[Picture]:
        """See `StudyOutcome`: means in the unit of the number, and errors in own deviations."""
        samples = [one.samples for one in shown]
        values = np.concatenate([_values(one) for one in samples])
        half, middle = np.concatenate([_unit(one) for one in samples]).T
        means, scales = np.concatenate([one.said for one in shown]).T
        errors = (values - means) / scales
        return [
            *calibration(middle + half * means, middle + half * values),
            *_normal_errors(errors),
        ]

    def reliability(self, said: Array, samples: Samples) -> tuple[Array, Array]:
        """See `StudyOutcome`."""
        return said[:, 0], _values(samples)


def _half(samples: Samples) -> Array:
    half: Array = _unit(samples)[:, 0]
    return half


def _unit(samples: Samples) -> Array:
    """Half the range and its middle, (n, 2); of values without a unit 1 and 0."""
    values = known_values(samples)
    return values[:, 1:] if values.shape[1] > 1 else np.tile([1.0, 0.0], (len(values), 1))


def _values(samples: Samples) -> Array:
    return known_values(samples)[:, 0]


FARTHEST = 4.0
"""Deviations to either end of the picture of errors; what lies beyond counts at its end."""


def _normal_errors(errors: Array) -> list[Picture]:
    """How many patients are off by so many deviations, beside a normal distribution."""
    if len(errors) < LEAST:
        return []
    edges = np.linspace(-FARTHEST, FARTHEST, 17)
    middles = (edges[1:] + edges[:-1]) / 2
    inside = np.clip(errors, -FARTHEST, FARTHEST)
    seen = np.histogram(inside, edges)[0] / len(errors)
    expected = np.diff(ndtr(edges))
    ticks = ticks_between(0.0, float(max(seen.max(), expected.max())))
    series = [
        PictureSeries(name="share", form="bars", x=rounded(middles), y=rounded(seen)),
        PictureSeries(name="normal", form="line", x=rounded(middles), y=rounded(expected)),
    ]
    steps = [float(at) for at in range(-int(FARTHEST), int(FARTHEST) + 1, 2)]
    return [
        Picture(
            name="errors", x_ticks=steps, y_ticks=ticks, series=series, y_shares=True, behind=True
        )
    ]


OUTCOME = Number()
