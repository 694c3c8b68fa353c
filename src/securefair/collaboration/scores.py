"""What models are worth on test patients: scores of every algorithm, and gains over controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.verdict import verdict_of
from securefair.data import ParticipantData
from securefair.data.dataset import together
from securefair.model.outcomes import outcome_of
from securefair.model.stored import Function
from securefair.records import (
    CEILING,
    MetricResult,
    Picture,
    Reliability,
    ThresholdResult,
    VerdictResult,
)
from securefair.worth.bootstrap import Scored, ScoredPredictions, ScoreSummary
from securefair.worth.interval import Interval
from securefair.worth.reliability import reliability
from securefair.worth.tuned import said_of, shown_of
from securefair.worth.verdict import Against

Seed = tuple[Sequence[ParticipantData], Mapping[str, Mapping[str, Function]]]
"""Everyone's data of one seed, and everyone's model by algorithm and participant."""

DIGITS = 5

THRESHOLDS = (0.1, 0.2, 0.3, 0.5, 0.7)
"""Probabilities from which class 1 may be said; the models themselves say it from one half on."""


class Scores(TypedDict):
    """Fields of `AlgorithmResult`."""

    metrics: dict[str, MetricResult]
    gain_over_best_control: dict[str, MetricResult]
    best_control: str | None
    confusion: dict[str, list[list[int]]]
    reliability: list[Reliability]
    thresholds: list[ThresholdResult]
    pictures: list[Picture]
    nearly_constant: list[str]
    verdict: VerdictResult | None


def scores_of(
    seeds: Sequence[Seed], controls: Sequence[str], metric: str | None = None
) -> dict[str, Scores]:
    """The scores of every algorithm whose models are there for every seed.

    The best control is the one with the best mean of the metric: whatever a collaboration gains
    over it, no hospital could have had alone. Means leave out hospitals with too few test patients
    to be judged (`worth.bootstrap.ScoreSummary`). It is chosen on test patients, to the
    collaboration's disadvantage; the verdict takes that into account (`worth.verdict`).

    Args:
        seeds: data and models.
        controls: algorithms in which nobody learns from anybody.
        metric: that decides which control is best, None for the outcome's own; the first of equals.

    Raises:
        ConfigError: the outcome has no such score.
    """
    data = seeds[0][0]
    names = [
        name
        for name, models in seeds[0][1].items()
        if all(set(one.get(name, ())) >= {own.name for own in each} for each, one in seeds)
        and models
    ]
    predictions = {name: _predictions(name, seeds) for name in names}
    scored = {name: Scored(parts) for name, parts in predictions.items()}
    outcome = outcome_of(data[0].train)
    decider = outcome.deciding(metric)
    sign = 1 if decider in outcome.lower_is_better else -1
    means = {name: scored[name].summary(decider).mean for name in controls if name in scored}
    best = min(
        (name for name, mean in means.items() if mean is not None),
        key=lambda name: sign * (means[name] or 0.0),
        default=None,
    )
    result: dict[str, Scores] = {}
    for name in names:
        gains = {}
        if best is not None and name not in controls:
            gains = {score: _gain(scored[name], scored[best], score) for score in outcome.scores}
        verdict = None
        if best is not None and decider in gains:
            compared = sum(mean is not None for mean in means.values())
            against = Against(compared, outcome.level(decider, means[best] or 0.0))
            verdict = verdict_of(
                gains[decider], decider, algorithm=name, control=best, against=against
            )
        result[name] = Scores(
            metrics={
                score: _result(scored[name].summary(score), scored[name].by_seed(score))
                for score in outcome.scores
            },
            gain_over_best_control=gains,
            best_control=best if gains else None,
            confusion={
                hospital: counts
                for hospital, parts in predictions[name].items()
                if (counts := _confusion(parts))
            },
            reliability=_reliability(predictions[name]),
            thresholds=_thresholds(predictions[name]),
            pictures=[]
            if name in (*controls, CEILING)
            else outcome.pictures([shown_of(seeds[0][1][name][own.name], own) for own in data]),
            nearly_constant=[
                hospital
                for hospital, parts in predictions[name].items()
                if outcome.constant(np.concatenate([one.said for one in parts]))
            ],
            verdict=verdict,
        )
    return result


def own_verdict(
    own: ParticipantData,
    algorithm: str,
    function: Function,
    controls: Mapping[str, Function],
    metric: str | None = None,
) -> VerdictResult | None:
    """What a collaboration is worth to one hospital that knows only itself.

    Args:
        own: its data.
        algorithm: that the model is of.
        function: the model.
        controls: models without the others; empty: there is nothing to compare with.
        metric: that models are compared by, None for the outcome's own.
    """
    if not controls or algorithm in controls:
        return None
    models = {algorithm: function, **controls}
    seeds = [([own], {name: {own.name: one} for name, one in models.items()})]
    return scores_of(seeds, list(controls), metric)[algorithm]["verdict"]


def class_counts(data: Sequence[ParticipantData]) -> dict[str, list[int]]:
    """How many samples of each class a participant has, training and test together."""
    return {
        own.name: np.bincount(
            np.concatenate([own.train.labels, own.test.labels]), minlength=own.train.classes
        ).tolist()
        for own in data
    }


def _predictions(algorithm: str, seeds: Sequence[Seed]) -> dict[str, list[ScoredPredictions]]:
    found: dict[str, list[ScoredPredictions]] = {}
    for data, models in seeds:
        for own in data:
            said = said_of(models[algorithm][own.name], own)
            found.setdefault(own.name, []).append(
                ScoredPredictions(own.test_patients, own.test, said)
            )
    return found


def _confusion(parts: Sequence[ScoredPredictions]) -> list[list[int]]:
    counts = [one.outcome.confusion(one.said, one.samples) for one in parts]
    if any(one is None for one in counts):
        return []
    total: list[list[int]] = np.sum([one for one in counts if one is not None], axis=0).tolist()
    return total


def _gain(mine: Scored, control: Scored, score: str) -> MetricResult:
    """Positive is better, whatever the score."""
    first, second = (control, mine) if score in mine.outcome.lower_is_better else (mine, control)
    summary = first.difference(second, score)
    return msgspec.structs.replace(
        _result(summary),
        skew=round(summary.skew, DIGITS),
        skew_by_hospital={
            name: round(value, DIGITS) for name, value in summary.skew_by_hospital.items()
        },
    )


def _reliability(predictions: Mapping[str, Sequence[ScoredPredictions]]) -> list[Reliability]:
    parts = [one for seeds in predictions.values() for one in seeds]
    bins = reliability(
        np.concatenate([one.said for one in parts]), together([one.samples.common for one in parts])
    )
    return [
        Reliability(
            predicted=round(one.predicted, DIGITS),
            observed=round(one.observed, DIGITS),
            samples=one.patients,
        )
        for one in bins
    ]


def _thresholds(
    predictions: Mapping[str, Sequence[ScoredPredictions]],
) -> list[ThresholdResult]:
    parts = [one for seeds in predictions.values() for one in seeds]
    probabilities = np.concatenate([one.said for one in parts])
    if not parts[0].outcome.tells_classes or probabilities.shape[1] != 2:
        return []
    ill = np.concatenate([one.samples.labels for one in parts]) == 1
    found = []
    for threshold in THRESHOLDS:
        said = probabilities[:, 1] >= threshold
        found.append(
            ThresholdResult(
                threshold=threshold,
                said=round(float(said.mean()), DIGITS),
                sensitivity=_share(said, ill),
                specificity=_share(~said, ~ill),
                right=_share(ill, said),
            )
        )
    return found


def _share(holds: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return round(float(holds[among].mean()), DIGITS) if among.any() else None


def _result(
    summary: ScoreSummary, by_seed: Mapping[str, list[float | None]] | None = None
) -> MetricResult:
    return MetricResult(
        mean=_rounded(summary.mean),
        se=_rounded(summary.se),
        by_hospital={name: _rounded(value) for name, value in summary.by_hospital.items()},
        se_by_hospital={name: _rounded(value) for name, value in summary.se_by_hospital.items()},
        by_seed={name: list(map(_rounded, values)) for name, values in (by_seed or {}).items()},
        interval=None if summary.interval is None else _ends(summary.interval),
        interval_by_hospital={
            name: _ends(ends) for name, ends in summary.interval_by_hospital.items()
        },
    )


def _ends(interval: Interval) -> Interval:
    low, high = interval
    return round(low, DIGITS), round(high, DIGITS)


def _rounded(value: float | None) -> float | None:
    """Digits that mean something: standard errors are some hundredths."""
    return None if value is None else round(value, DIGITS)
