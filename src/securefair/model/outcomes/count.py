"""Counts and rates: a Poisson distribution with the mean exposure x exp(predictor)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from securefair.data.dataset import Samples
from securefair.data.known import Fault, Known, Range
from securefair.model.outcomes.interface import Frame, OwnPart, StudyOutcome
from securefair.model.outcomes.likelihood import SeparateLikelihood, known_values
from securefair.model.outcomes.pictures import (
    LEAST,
    Shown,
    calibration,
    rounded,
    ticks_between,
)
from securefair.records import Picture, PictureSeries

Array = NDArray[np.float64]

FRACTIONS = 'A rate is a count and its exposure; any number is outcome = "number"'

LARGEST = 32.0
"""Of |predictor|, as exchanges bound it: e^32 is no rate of anything."""


@dataclass(frozen=True, eq=False)
class _Poisson(SeparateLikelihood):
    counts: Array
    exposures: Array

    def each(self, predictors: Array) -> Array:
        """Half of the deviance, which is never below 0."""
        means = self._means(predictors[..., 0])
        result: Array = means - self.counts + xlogy(self.counts, self.counts / means)
        return np.maximum(result, 0.0)

    def bends(self, predictors: Array) -> tuple[Array, Array]:
        means = self._means(predictors)
        return means - self.counts, means

    def _means(self, predictors: Array) -> Array:
        result: Array = self.exposures * np.exp(np.clip(predictors, -LARGEST, LARGEST))
        return result


class Count(StudyOutcome):
    """See the module; `Samples.values` is (n, 2), a count and an exposure, what is said a rate."""

    name: ClassVar = "count"
    title: ClassVar = "a count"
    scores: ClassVar = {
        "deviance": "Deviance",
        "explained_deviance": "Explained deviance",
        "mean_absolute_error": "Mean absolute error",
    }
    lower_is_better: ClassVar = frozenset({"deviance", "mean_absolute_error"})
    metric: ClassVar = "deviance"
    headline: ClassVar = "explained_deviance"
    on_ward: ClassVar = ("mean_absolute_error", "explained_deviance")
    as_shares: ClassVar = frozenset({"explained_deviance"})
    effect: ClassVar = "rate_ratio"
    link: ClassVar = "exp"
    farthest: ClassVar = LARGEST
    beside: ClassVar = {"exposure": False}
    strata: ClassVar = ("none", "one or more")

    def faults(self, numbers: Array) -> Iterator[Fault]:
        """See `StudyOutcome`."""
        counts = numbers[:, 0]
        wrong = (counts < 0) | (counts != np.rint(counts))
        yield Fault(0, wrong, "a count is a whole number from 0", "0, 1, 2, ...", FRACTIONS)
        if numbers.shape[1] > 1:
            yield Fault(
                1, ~(numbers[:, 1] > 0), "an exposure is above 0", "such as 1.5 (of a year)"
            )
        if not counts.any():
            yield Fault(0, None, "nobody has a count above 0", "one patient or more with events")

    def known(self, numbers: Array, within: Range | None) -> Known:
        """See `StudyOutcome`: an exposure of 1 where none stands beside."""
        del within
        ones = np.ones(len(numbers))
        exposures = numbers[:, 1] if numbers.shape[1] > 1 else ones
        labels = (numbers[:, 0] > 0).astype(np.int64)
        return Known(labels, 2, np.column_stack([numbers[:, 0], exposures]))

    def events(self, numbers: Array) -> Array:
        """See `StudyOutcome`."""
        return numbers[:, 0]

    def likelihood(self, samples: Samples) -> _Poisson:
        """See `StudyOutcome`."""
        return _Poisson(*_values(samples))

    def losses(self, predictors: Array, samples: Samples) -> Array:
        """See `StudyOutcome`."""
        return self.likelihood(samples).each(predictors)

    def drawn(self, predictors: Array, rng: np.random.Generator) -> Known:
        """See `StudyOutcome`."""
        exposures = rng.uniform(0.5, 2.0, len(predictors))
        counts = rng.poisson(exposures * np.exp(predictors[:, 0])).astype(np.float64)
        return Known((counts > 0).astype(np.int64), 2, np.column_stack([counts, exposures]))

    def said(self, predictors: Array, own: OwnPart) -> Array:
        """See `StudyOutcome`: of one unit of exposure."""
        del own
        result: Array = np.exp(np.clip(predictors, -LARGEST, LARGEST))
        return result

    def told(self, said: Array, frame: Frame) -> dict[str, Array]:
        """See `StudyOutcome`: the expected count of one unit of exposure."""
        self.refuse_horizons(frame)
        return {"rate": said[:, 0]}

    def predictors(self, said: Array) -> Array:
        """See `StudyOutcome`: log-rates."""
        rates: Array = np.log(said)
        return rates

    def recalibrated(self, said: Array, samples: Samples) -> Array:
        """See `StudyOutcome`: as many events are expected as there were."""
        counts, exposures = _values(samples)
        rate = counts.sum() / (exposures @ said[:, 0])
        moved: Array = said * max(rate, np.exp(-LARGEST))
        return moved

    def expected_and_seen(self, said: Array, own: OwnPart, samples: Samples) -> tuple[float, float]:
        """See `StudyOutcome`."""
        del own
        counts, exposures = _values(samples)
        return float(exposures @ said[:, 0]), float(counts.sum())

    def weighted_scores(self, said: Array, samples: Samples, weights: Array) -> dict[str, Array]:
        """See `StudyOutcome`; explained is the share of the deviance of one rate for all."""
        counts, exposures = _values(samples)
        total = weights.sum(axis=1)
        deviance = 2 * weights @ self.losses(np.log(said), samples) / total
        # With one rate for all, sum w (mean - count) is 0.
        rate = weights @ counts / (weights @ exposures)
        happened = rate > 0
        alike = 2 * weights @ xlogy(counts, counts / exposures) / total
        alike -= 2 * rate * (weights @ exposures) / total * np.log(np.where(happened, rate, 1.0))
        varies = happened & (alike > 1e-12)
        explained = np.where(varies, 1 - deviance / np.where(varies, alike, 1.0), np.nan)
        apart = np.abs(counts - exposures * said[:, 0])
        return {
            "deviance": deviance,
            "explained_deviance": explained,
            "mean_absolute_error": weights @ apart / total,
        }

    def pictures(self, shown: Sequence[Shown]) -> list[Picture]:
        """See `StudyOutcome`: expected counts, and how many patients have each count."""
        known = [_values(one.samples) for one in shown]
        counts = np.concatenate([one for one, _ in known])
        means = np.concatenate(
            [exposures * one.said[:, 0] for (_, exposures), one in zip(known, shown, strict=True)]
        )
        return [*calibration(means, counts, from_zero=True), *_by_count(means, counts)]

    def reliability(self, said: Array, samples: Samples) -> tuple[Array, Array]:
        """See `StudyOutcome`: counts."""
        counts, exposures = _values(samples)
        return exposures * said[:, 0], counts


def _values(samples: Samples) -> tuple[Array, Array]:
    values = known_values(samples)
    return values[:, 0], values[:, 1]


MOST_COUNTS = 10
"""Bars of a picture; the last one is of so many or more."""


def _by_count(means: Array, counts: Array) -> list[Picture]:
    """How many patients have each count, beside what Poisson distributions expect."""
    if len(counts) < LEAST:
        return []
    last = max(2, int(min(MOST_COUNTS, np.quantile(counts, 0.99))))
    steps = np.arange(last + 1, dtype=np.float64)
    seen = np.bincount(np.minimum(counts, last).astype(np.int64), minlength=last + 1) / len(counts)
    logs = xlogy(steps, means[:, None]) - means[:, None] - gammaln(steps + 1)
    expected = np.exp(logs).mean(axis=0)
    expected[-1] = 1 - expected[:-1].sum()
    ticks = ticks_between(0.0, float(max(seen.max(), expected.max())))
    series = [
        PictureSeries(name="share", form="bars", x=rounded(steps), y=rounded(seen)),
        PictureSeries(name="poisson", form="dots", x=rounded(steps), y=rounded(expected)),
    ]
    return [
        Picture(
            name="counts",
            x_ticks=rounded(steps),
            y_ticks=ticks,
            series=series,
            y_shares=True,
            behind=True,
        )
    ]


OUTCOME = Count()
