"""Standard errors of scores by a bootstrap over patients.

A patient that several seeds held out is one patient, not several: samples are drawn by their
number, all of one patient together, and a draw counts in every seed. Seeds repeat splits and folds,
not patients, so spreads over seeds say too little about other patients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples, together
from securefair.data.people import drawn_times
from securefair.errors import DataError
from securefair.model.outcomes import StudyOutcome, outcome_of
from securefair.model.outcomes.class_scores import means
from securefair.worth.interval import Interval, alike, wilson

Array = NDArray[np.float64]

DRAWS = 400


@dataclass(frozen=True, eq=False)
class ScoredPredictions:
    """What a model says of one seed's test patients of one hospital.

    Attributes:
        rows: (B,) numbers of these samples within the hospital, the same in every seed.
        samples: (B,), what is known of them.
        said: (B, K), as their outcome says it: probabilities of classes.

    Raises:
        DataError: shapes disagree, a sample stands there twice, or nothing can be scored.
    """

    rows: NDArray[np.int64]
    samples: Samples
    said: Array

    def __post_init__(self) -> None:
        self.outcome.check_said(self.said, self.samples)
        if len(np.unique(self.rows)) != len(self.samples):
            raise DataError(
                "not one number per sample",
                where="rows",
                found=self.rows.shape,
                expected=f"{len(self.samples)} different numbers",
            )

    @property
    def who(self) -> NDArray[np.int64]:
        """Whose each sample is, (B,), the same in every seed."""
        return self.rows if self.samples.patients is None else self.samples.patients

    @property
    def outcome(self) -> StudyOutcome:
        """What is known of these patients."""
        return outcome_of(self.samples)


@dataclass(frozen=True, kw_only=True)
class ScoreSummary:
    """One score of one method; None where it is undefined at a hospital in every seed.

    Attributes:
        mean: over hospitals, of the means over seeds; a hospital without a standard error is left
            out, unless none has one.
        se: standard error of `mean` over patients; 0 where all of them are right; None where no
            hospital has one: its patients are too few (`Samples.too_few`).
        skew: third standardised moment of `mean` over patients; 0 where it does not vary.
        by_hospital, se_by_hospital, skew_by_hospital: by name.
        interval, interval_by_hospital: 95 % intervals (`worth.interval`) of scores that are
            shares of patients; None and empty for others.
    """

    mean: float | None
    se: float | None
    skew: float
    by_hospital: Mapping[str, float | None]
    se_by_hospital: Mapping[str, float | None]
    skew_by_hospital: Mapping[str, float]
    interval: Interval | None = None
    interval_by_hospital: Mapping[str, Interval] = field(default_factory=dict)


class Scored:
    """All scores of one method at several hospitals, and what other patients might have given.

    Methods of one run draw the same patients, whatever they predict, so that differences between
    methods have paired standard errors.

    Args:
        predictions: by hospital, one for each seed; all of one outcome.
        draws: of the bootstrap.
    """

    def __init__(
        self,
        predictions: Mapping[str, Sequence[ScoredPredictions]],
        *,
        draws: int = DRAWS,
    ) -> None:
        self.outcome = outcome = next(iter(predictions.values()))[0].outcome
        self._points: dict[str, dict[str, float]] = {name: {} for name in outcome.scores}
        self._drawn: dict[str, dict[str, Array]] = {name: {} for name in outcome.scores}
        self._seeds: dict[str, dict[str, list[float | None]]] = {
            name: {} for name in outcome.scores
        }
        self._counted: dict[str, dict[str, int]] = {name: {} for name in outcome.scores}
        for at, (hospital, seeds) in enumerate(predictions.items()):
            points = [outcome.point_scores(one.said, one.samples) for one in seeds]
            drawn = _replicates(seeds, draws, np.random.default_rng([0, at]))
            if _everyone(seeds).too_few:
                drawn = {name: np.full(draws, np.nan) for name in drawn}
            for name in outcome.scores:
                values = [one[name] for one in points]
                self._points[name][hospital] = _nan_mean(np.array(values, dtype=np.float64))
                self._drawn[name][hospital] = drawn[name]
                self._seeds[name][hospital] = values
            for name, patients in _shares(seeds).items():
                self._counted[name][hospital] = patients

    def summary(self, score: str) -> ScoreSummary:
        """One of the outcome's scores."""
        found = _summary(self._points[score], self._drawn[score])
        patients = self._counted[score]
        if not patients or found.mean is None:
            return found
        shares = {name: found.by_hospital[name] for name in patients}
        told = [name for name in patients if found.se_by_hospital[name] is not None] or patients
        return replace(
            found,
            interval=wilson(found.mean, alike(patients[name] for name in told)),
            interval_by_hospital={
                name: wilson(share, patients[name])
                for name, share in shares.items()
                if share is not None
            },
        )

    def by_seed(self, score: str) -> Mapping[str, list[float | None]]:
        """By hospital, the score of every seed; None where it is undefined."""
        return self._seeds[score]

    def difference(self, other: Scored, score: str) -> ScoreSummary:
        """This method's score minus another's on the same patients, with paired errors."""
        mine, theirs = self._points[score], other._points[score]
        drawn, others = self._drawn[score], other._drawn[score]
        return _summary(
            {name: mine[name] - theirs[name] for name in mine},
            {name: drawn[name] - others[name] for name in drawn},
        )


def _summary(points: Mapping[str, float], drawn: Mapping[str, Array]) -> ScoreSummary:
    errors = {name: _or_none(_spread(values)) for name, values in drawn.items()}
    told = [name for name, error in errors.items() if error is not None] or list(points)
    together = means(np.stack([drawn[name] for name in told]))
    return ScoreSummary(
        mean=_or_none(_nan_mean(np.array([points[name] for name in told]))),
        se=_or_none(_spread(together)),
        skew=skewness(together),
        by_hospital={name: _or_none(value) for name, value in points.items()},
        se_by_hospital=errors,
        skew_by_hospital={name: skewness(values) for name, values in drawn.items()},
    )


def _replicates(
    seeds: Sequence[ScoredPredictions], draws: int, rng: np.random.Generator
) -> dict[str, Array]:
    """Each score's mean over seeds in each draw of this hospital's patients, (draws,)."""
    known, first = np.unique(np.concatenate([one.rows for one in seeds]), return_index=True)
    times = drawn_times(np.concatenate([one.who for one in seeds])[first], draws, rng)
    by_seed = [
        one.outcome.weighted_scores(
            one.said, one.samples, times[:, np.searchsorted(known, one.rows)]
        )
        for one in seeds
    ]
    return {name: means(np.stack([scores[name] for scores in by_seed])) for name in by_seed[0]}


def _shares(seeds: Sequence[ScoredPredictions]) -> dict[str, int]:
    """Of how many patients each score is a share, each counted once whatever its samples: those of
    one patient tell nearly the same."""
    _, first = np.unique(np.concatenate([one.who for one in seeds]), return_index=True)
    everyone = together([one.samples.common for one in seeds])
    return seeds[0].outcome.shares(everyone.take(first))


def _everyone(seeds: Sequence[ScoredPredictions]) -> Samples:
    """Of all seeds, with whose each is."""
    everyone = together([one.samples.common for one in seeds])
    return replace(everyone, patients=np.concatenate([one.who for one in seeds]))


def _nan_mean(values: Array) -> float:
    return float(means(values[:, None])[0])


def _spread(values: Array) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.std(ddof=1)) if len(defined) > 1 else float("nan")


def skewness(values: Array) -> float:
    """Third standardised moment of what is defined of them; 0 where they do not vary."""
    centred = values[~np.isnan(values)]
    centred = centred - centred.mean() if len(centred) else centred
    spread = float(centred.std()) if len(centred) else 0.0
    return float((centred**3).mean()) / spread**3 if spread > 0 else 0.0


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value
