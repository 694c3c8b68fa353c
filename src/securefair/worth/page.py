"""How good predictions are for some patients whose outcome is known: a page of scores.

    predictions -> scores, calibration -> the same after recalibration -> by group
                -> decision curve

One page serves a kept model on another year's patients and a peer's model on one's own. Standard
errors are those of a bootstrap over the patients, of a net benefit those of a mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.data.people import drawn_times
from securefair.errors import DataError
from securefair.model.outcomes import StudyOutcome, outcome_of
from securefair.model.outcomes.pictures import Shown
from securefair.records import Picture
from securefair.worth.bootstrap import DRAWS
from securefair.worth.refit import refit

Array = NDArray[np.float64]
Groups = Mapping[str, NDArray[np.str_]]
"""By column, the group of each patient, (B,)."""

LEAST_PATIENTS = 10
"""Of whom there are scores; of fewer they say nothing."""

THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Of a decision curve."""

MOST_UNDEFINED = 0.1
"""Share of draws without a score, above which its error is undefined."""

INTERCEPT, SLOPE = "calibration_intercept", "calibration_slope"
CALIBRATION = {INTERCEPT: "Calibration intercept", SLOPE: "Calibration slope"}
"""Scores that every outcome of one predictor has, each with its title (`worth.refit`)."""


class ScoreEstimate(msgspec.Struct, frozen=True):
    """One score and its standard error over patients; None where it is undefined."""

    mean: float | None
    se: float | None


class NetBenefit(msgspec.Struct, frozen=True, kw_only=True):
    """What treating from a probability on is worth, in true positives a patient.

    A false positive costs t / (1 - t) of what a true one gains, at the threshold t (Vickers and
    Elkin, Medical Decision Making 2006). Treating nobody is worth 0.
    """

    threshold: float
    benefit: ScoreEstimate
    treat_all: float
    over_all: ScoreEstimate  # benefit minus `treat_all`, with paired errors


class GroupPage(msgspec.Struct, frozen=True):
    """Scores of one group; none where its patients are too few, or all alike."""

    patients: int
    scores: dict[str, ScoreEstimate]


class ScorePage(msgspec.Struct, frozen=True, kw_only=True):
    """Scores of one model's predictions.

    Attributes:
        outcome: that is predicted.
        patients: how many.
        counts: rows of each class; empty for other outcomes.
        scores: of the outcome, and those of `CALIBRATION`.
        recalibrated: the same of predictions that were moved to be right on average for these
            patients; empty where nothing can be moved.
        decision_curve: of two classes.
        groups: by column and group.
        pictures: of what was predicted and seen, for pages; none where they were not asked for.
    """

    outcome: str
    patients: int
    counts: list[int]
    scores: dict[str, ScoreEstimate]
    recalibrated: dict[str, ScoreEstimate] = {}
    decision_curve: list[NetBenefit] = []
    groups: dict[str, dict[str, GroupPage]] = {}
    pictures: list[Picture] = []


def titles_of(outcome: StudyOutcome) -> dict[str, str]:
    """Names of all scores of a page, each with its title, in the order of tables."""
    return {**outcome.scores, **CALIBRATION}


def check_scorable(samples: Samples) -> None:
    """Refuse patients whose scores would say nothing.

    Raises:
        DataError: they are fewer than `LEAST_PATIENTS`, or what is known of them is all alike.
    """
    why = _unscorable(samples)
    if why is not None:
        raise DataError(why[0], where="patients", found=why[1], expected=why[2])


def score_page(
    said: Array,
    samples: Samples,
    *,
    groups: Groups | None = None,
    draws: int = DRAWS,
    own: Mapping[str, Sequence[float]] | None = None,
) -> ScorePage:
    """All scores of predictions for patients whose outcome is known.

    Recalibration fits one number (of several classes one a class) to these same patients, which
    flatters by about half a nat in all.

    Args:
        said: (B, K), as the outcome says it: probabilities of classes.
        samples: of whom it is said; features are not looked at.
        groups: in which patients are looked at apart.
        draws: of the bootstrap.
        own: a hospital's own part of these predictions, for pictures; None: none are made.

    Raises:
        DataError: shapes disagree, or patients tell nothing (`check_scorable`).
    """
    outcome = outcome_of(samples)
    outcome.check_said(said, samples)
    check_scorable(samples)
    rng = np.random.default_rng(0)
    times = _drawn(samples, draws, rng)
    moved = outcome.recalibrated(said, samples)
    counts: list[int] = []
    if outcome.tells_classes:
        counts = np.bincount(samples.labels, minlength=samples.classes).tolist()
    return ScorePage(
        outcome=outcome.name,
        patients=samples.people,
        counts=counts,
        scores=_scores(said, samples, times),
        recalibrated={} if moved is None else _scores(moved, samples, times),
        decision_curve=_decision_curve(said, samples),
        groups={
            column: _grouped(said, samples, of_whom, draws, rng)
            for column, of_whom in (groups or {}).items()
        },
        pictures=[] if own is None else outcome.page_pictures(Shown(said, own, samples)),
    )


def _unscorable(samples: Samples) -> tuple[str, str, str] | None:
    if samples.people < LEAST_PATIENTS:
        return (
            "too few patients for scores",
            str(samples.people),
            f"at least {LEAST_PATIENTS} whose outcome is known",
        )
    outcome = outcome_of(samples)
    if outcome.tells_classes and len(np.unique(samples.labels)) < 2:
        return "all patients are of one class", f"{len(samples)} patients", "two classes or more"
    return None


def _drawn(samples: Samples, draws: int, rng: np.random.Generator) -> Array:
    """How often each sample counts, (1 + draws, B): once, and in every draw of patients."""
    return np.concatenate([np.ones((1, len(samples))), drawn_times(samples.who, draws, rng)])


def _scores(said: Array, samples: Samples, times: Array) -> dict[str, ScoreEstimate]:
    outcome = outcome_of(samples)
    found = dict(outcome.weighted_scores(said, samples, times))
    predictors = outcome.predictors(said)
    if predictors is not None:
        again = refit(predictors, samples, times)
        found |= {INTERCEPT: outcome.unit(samples) * again.intercepts, SLOPE: again.slopes}
    few = samples.too_few
    names = [name for name in titles_of(outcome) if name in found]
    return {name: _estimate(found[name], few=few) for name in names}


def _estimate(values: Array, *, few: bool) -> ScoreEstimate:
    """Of a score of all patients, and of every draw; of few events there is no error, nor where
    more than `MOST_UNDEFINED` of the draws have no score: what is left is of the tamer ones."""
    if np.isnan(values[0]):
        return ScoreEstimate(None, None)
    drawn = values[1:][~np.isnan(values[1:])]
    unknown = few or len(drawn) < max(2, (1 - MOST_UNDEFINED) * (len(values) - 1))
    return ScoreEstimate(float(values[0]), None if unknown else float(drawn.std(ddof=1)))


def _decision_curve(said: Array, samples: Samples) -> list[NetBenefit]:
    outcome, curve = outcome_of(samples), []
    for threshold in THRESHOLDS:
        each = outcome.benefits(said, samples, threshold)
        if each is None:
            return []
        treated, everybody = each
        curve.append(
            NetBenefit(
                threshold=threshold,
                benefit=_mean(treated, samples.who),
                treat_all=float(everybody.mean()),
                over_all=_mean(treated - everybody, samples.who),
            )
        )
    return curve


def _mean(each: Array, who: NDArray[np.int64]) -> ScoreEstimate:
    """Of samples (B,), and its error over patients: what those of one are off by adds up."""
    mean = float(each.mean())
    _, at = np.unique(who, return_inverse=True)
    off = np.bincount(at, each - mean)
    variance = len(off) / (len(off) - 1) * float(off @ off) / len(each) ** 2
    return ScoreEstimate(mean, float(np.sqrt(variance)))


def _grouped(
    said: Array, samples: Samples, of_whom: NDArray[np.str_], draws: int, rng: np.random.Generator
) -> dict[str, GroupPage]:
    if of_whom.shape != samples.labels.shape:
        raise DataError(
            "groups and patients disagree", found=of_whom.shape, expected=f"({len(samples)},)"
        )
    pages = {}
    for name in dict.fromkeys(sorted(of_whom.tolist())):
        rows = np.flatnonzero(of_whom == name)
        own = samples.take(rows)
        scores: dict[str, ScoreEstimate] = {}
        if _unscorable(own) is None:
            scores = _scores(said[rows], own, _drawn(own, draws, rng))
        pages[name] = GroupPage(own.people, scores)
    return pages
