from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn import metrics

from securefair.data import Samples
from securefair.errors import DataError
from securefair.model.outcomes import outcome_named
from securefair.worth.page import (
    INTERCEPT,
    LEAST_PATIENTS,
    SLOPE,
    check_scorable,
    score_page,
    titles_of,
)


def patients(count=200, seed=0, off=0.0, stretch=1.0):
    """Probabilities of two classes, and labels; logits are stretched and moved from the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(-0.5, 1.2, count)
    labels = (rng.random(count) < expit(truth)).astype(np.int64)
    p = expit(stretch * truth + off)
    return np.column_stack([1 - p, p]), Samples(np.zeros((count, 1)), labels, 2)


def test_scores_are_those_of_scikit_learn():
    said, samples = patients()
    found, p, y = score_page(said, samples).scores, said[:, 1], samples.labels
    assert found["auc"].mean == pytest.approx(metrics.roc_auc_score(y, p))
    assert found["log_loss"].mean == pytest.approx(metrics.log_loss(y, p))
    assert found["brier"].mean == pytest.approx(metrics.brier_score_loss(y, p))
    assert list(found) == list(titles_of(outcome_named("two_classes")))


def test_a_model_that_is_right_has_slope_one_and_intercept_zero():
    said, samples = patients(4000)
    found = score_page(said, samples, draws=100).scores
    assert abs(found[SLOPE].mean - 1) < 3 * found[SLOPE].se
    assert abs(found[INTERCEPT].mean) < 3 * found[INTERCEPT].se


@pytest.mark.slow
def test_errors_are_those_of_other_patients():
    drawn = [score_page(*patients(150, seed), draws=2).scores for seed in range(200)]
    page = score_page(*patients(150, 1), draws=400)
    for name in ("auc", "log_loss", "brier", SLOPE, INTERCEPT):
        spread = np.std([one[name].mean for one in drawn], ddof=1)
        assert page.scores[name].se == pytest.approx(spread, rel=0.35), name


def test_recalibration_moves_predictions_to_the_own_prevalence():
    said, samples = patients(500, off=1.5)
    page = score_page(said, samples)
    assert page.scores[INTERCEPT].mean == pytest.approx(-1.5, abs=0.3)
    assert page.recalibrated[INTERCEPT].mean == pytest.approx(0, abs=0.02)
    assert page.recalibrated["log_loss"].mean < page.scores["log_loss"].mean - 0.1
    assert page.recalibrated["auc"].mean == pytest.approx(page.scores["auc"].mean)
    assert page.recalibrated[SLOPE].mean == pytest.approx(page.scores[SLOPE].mean, rel=1e-3)


def at_a_fifth(page):
    return next(one for one in page.decision_curve if one.threshold == 0.2)


def test_a_net_benefit_weighs_those_treated_in_vain():
    said, samples = patients()
    curve = at_a_fifth(score_page(said, samples))
    treated, ill = said[:, 1] >= 0.2, samples.labels == 1
    expected = (treated & ill).mean() - (treated & ~ill).mean() * 0.2 / 0.8
    assert curve.benefit.mean == pytest.approx(expected)
    assert curve.treat_all == pytest.approx(ill.mean() - (1 - ill.mean()) * 0.25)
    assert curve.over_all.mean == pytest.approx(expected - curve.treat_all)
    drawn = [
        at_a_fifth(score_page(*patients(seed=seed), draws=2)).benefit.mean for seed in range(100)
    ]
    assert curve.benefit.se == pytest.approx(np.std(drawn, ddof=1), rel=0.3)


def test_groups_have_scores_of_their_own_where_they_are_enough():
    said, samples = patients()
    sex = np.where(np.arange(200) < 195, np.where(np.arange(200) % 2, "f", "m"), "other")
    page = score_page(said, samples, groups={"sex": sex})
    found = page.groups["sex"]
    rows = sex == "f"
    assert found["f"].scores["auc"].mean == pytest.approx(
        metrics.roc_auc_score(samples.labels[rows], said[rows, 1])
    )
    assert found["other"].patients == 5
    assert not found["other"].scores
    assert sum(one.patients for one in found.values()) == 200


def test_several_classes_have_scores_and_no_calibration_of_one_predictor():
    rng = np.random.default_rng(0)
    said, labels = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    page = score_page(said, Samples(np.zeros((60, 1)), labels, 3))
    assert SLOPE not in page.scores
    assert page.decision_curve == []
    assert page.recalibrated["log_loss"].mean < page.scores["log_loss"].mean


def timed(count=80, events=80):
    rng = np.random.default_rng(0)
    predictors = rng.normal(size=(count, 1))
    came = np.arange(count) < events
    values = np.column_stack([rng.exponential(np.exp(-predictors[:, 0])), came])
    return predictors, Samples(
        np.zeros((count, 1)), came.astype(np.int64), 2, outcome="time", values=values
    )


@pytest.mark.parametrize(("events", "known"), [(1, False), (4, False), (5, True)])
def test_few_events_have_no_error(events, known):
    found = score_page(*timed(events=events), draws=100).scores["concordance"]
    assert found.mean is not None
    assert (found.se is not None) == known


def test_an_error_of_the_draws_that_went_well_alone_is_none():
    said, samples = patients(30)
    labels = (np.arange(30) < 2).astype(np.int64)  # of one class in 13 of 100 draws
    found = score_page(said, replace(samples, labels=labels)).scores
    assert found["auc"].mean is not None
    assert found["auc"].se is None
    assert found["brier"].se > 0


def repeated(said, samples, times=5):
    """The same patients, each in so many rows."""
    who = np.repeat(np.arange(len(samples)), times)
    return said[who], replace(samples.take(who), patients=who)


def test_rows_of_one_patient_are_no_further_patients():
    said, samples = patients(40)
    once = score_page(said, samples)
    rows = score_page(*repeated(said, samples))
    for name, score in once.scores.items():
        assert rows.scores[name].mean == pytest.approx(score.mean, abs=1e-6)
        assert rows.scores[name].se == pytest.approx(score.se, rel=1e-3), name
    assert rows.decision_curve[0].benefit.se == pytest.approx(once.decision_curve[0].benefit.se)
    assert rows.decision_curve[0].over_all.se == pytest.approx(once.decision_curve[0].over_all.se)
    with pytest.raises(DataError, match="too few patients"):
        check_scorable(repeated(*patients(LEAST_PATIENTS - 1))[1])


def test_the_intercept_of_a_number_is_in_its_unit():
    rng = np.random.default_rng(0)
    means = rng.normal(0, 0.3, (60, 1))
    scaled = means + rng.normal(0.1, 0.2, (60, 1))
    found = {}
    for half in (1.0, 25.0):
        values = np.hstack([scaled, np.tile([half, 3.0], (60, 1))])
        samples = Samples(np.zeros((60, 1)), np.arange(60) % 2, 2, outcome="number", values=values)
        said = np.hstack([means, np.full((60, 1), 0.2)])
        found[half] = score_page(said, samples, draws=20).scores
    off = float((scaled - means).mean())
    assert found[25.0][INTERCEPT].mean == pytest.approx(25 * off)
    assert found[25.0][INTERCEPT].se == pytest.approx(25 * found[1.0][INTERCEPT].se)
    assert found[25.0][SLOPE] == found[1.0][SLOPE]


def test_times_have_concordance_and_a_slope():
    rng = np.random.default_rng(0)
    predictors = rng.normal(size=(80, 1))
    values = np.column_stack([rng.exponential(np.exp(-predictors[:, 0])), np.ones(80)])
    labels = np.ones(80, dtype=np.int64)
    samples = Samples(np.zeros((80, 1)), labels, 2, outcome="time", values=values)
    page = score_page(predictors, samples, draws=20)
    assert page.scores["concordance"].mean > 0.6
    assert page.scores["concordance"].se > 0
    assert page.scores[SLOPE].mean == pytest.approx(1, abs=0.5)
    assert page.scores[INTERCEPT].mean is None
    assert page.recalibrated == {}


@pytest.mark.parametrize(
    ("count", "labels", "why"),
    [
        (LEAST_PATIENTS - 1, None, "too few patients"),
        (0, None, "too few patients"),
        (20, 1, "one class"),
    ],
)
def test_patients_that_tell_nothing_are_refused(count, labels, why):
    _, samples = patients(max(count, 1))
    samples = samples.take(np.arange(count))
    if labels is not None:
        samples = Samples(samples.features, np.full(count, labels), 2)
    with pytest.raises(DataError, match=why):
        check_scorable(samples)


def test_equal_seeds_give_equal_pages():
    said, samples = patients(60)
    assert score_page(said, samples) == score_page(said, samples)


def test_moved_predictions_are_right_on_average_where_events_are_rare():
    said, samples = patients(40)
    samples = replace(samples, labels=(np.arange(40) == 7).astype(np.int64))
    moved = outcome_named("two_classes").recalibrated(said, samples)
    assert moved[:, 1].mean() == pytest.approx(1 / 40, abs=1e-8)
    page = score_page(said, samples, draws=20)
    assert page.recalibrated[INTERCEPT].mean == pytest.approx(0, abs=1e-5)


def test_a_class_that_is_absent_is_moved_to_be_rare():
    """Its logit would be infinite."""
    rng = np.random.default_rng(0)
    said, labels = rng.dirichlet(np.ones(3), 60), np.arange(60) % 2
    samples = Samples(np.zeros((60, 1)), labels, 3)
    moved = outcome_named("several_classes").recalibrated(said, samples)
    assert moved.mean(axis=0) == pytest.approx(np.array([30.5, 30.5, 0.5]) / 61.5, abs=1e-6)
    samples = replace(samples, labels=np.where(np.arange(60) == 3, 2, labels))
    moved = outcome_named("several_classes").recalibrated(said, samples)
    assert moved.mean(axis=0) == pytest.approx([30 / 60, 29 / 60, 1 / 60], abs=1e-6)


def test_a_page_without_an_event_has_no_slope():
    page = score_page(*timed(events=0), draws=20)
    assert page.scores[SLOPE].mean is None
    assert page.scores["concordance"].mean is None
