import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from securefair.data import Samples
from securefair.worth.refit import refit


def told_apart(count=300, seed=0, slope=1.0, intercept=0.0):
    """Logits, and labels that a multiple of them has drawn."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.3, 1.5, (count, 1))
    labels = (rng.random(count) < expit(intercept + slope * logits[:, 0])).astype(np.int64)
    return logits, Samples(np.zeros((count, 1)), labels, 2)


def everybody(samples):
    return np.ones((1, len(samples)))


def test_a_slope_is_that_of_a_logistic_regression_on_the_logit():
    logits, samples = told_apart(slope=0.6, intercept=0.4)
    library = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logits, samples.labels)
    assert refit(logits, samples, everybody(samples)).slopes[0] == pytest.approx(
        library.coef_[0, 0], rel=1e-4
    )


def test_an_intercept_makes_the_mean_probability_the_prevalence():
    logits, samples = told_apart(slope=0.6, intercept=0.4)
    found = refit(logits, samples, everybody(samples)).intercepts[0]
    assert expit(logits + found).mean() == pytest.approx(samples.labels.mean(), abs=1e-6)


def test_weights_count_patients_as_often():
    logits, samples = told_apart(60)
    times = np.random.default_rng(1).integers(0, 3, 60)
    rows = np.repeat(np.arange(60), times)
    weighed = refit(logits, samples, times[None].astype(float))
    repeated = refit(logits[rows], samples.take(rows), np.ones((1, len(rows))))
    assert weighed.slopes[0] == pytest.approx(repeated.slopes[0], rel=1e-5)
    assert weighed.intercepts[0] == pytest.approx(repeated.intercepts[0], abs=1e-5)


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.5, 0.8)])
def test_it_finds_what_labels_were_drawn_with(slope, intercept):
    logits, samples = told_apart(20_000, slope=slope, intercept=intercept)
    found = refit(logits, samples, everybody(samples))
    assert found.slopes[0] == pytest.approx(slope, abs=0.05)
    if slope == 1.0:
        assert found.intercepts[0] == pytest.approx(intercept, abs=0.05)


def test_patients_who_are_told_apart_wholly_have_no_slope():
    logits = np.array([[-2.0], [-1.0], [-0.5], [0.5], [1.0], [2.0]])
    samples = Samples(np.zeros((6, 1)), np.array([0, 0, 0, 1, 1, 1]), 2)
    assert np.isnan(refit(logits, samples, everybody(samples)).slopes[0])


def test_one_prediction_for_all_has_an_intercept_and_no_slope():
    _, samples = told_apart(50)
    found = refit(np.full((50, 1), 0.7), samples, everybody(samples))
    assert np.isnan(found.slopes[0])
    prevalence = samples.labels.mean()
    assert found.intercepts[0] == pytest.approx(logit(prevalence) - 0.7, abs=1e-5)


def test_one_class_has_neither():
    samples = Samples(np.zeros((12, 1)), np.ones(12, dtype=np.int64), 2)
    logits = np.linspace(-1, 1, 12)[:, None]
    found = refit(logits, samples, everybody(samples))
    assert np.isnan(found.intercepts[0])
    assert np.isnan(found.slopes[0])


def test_counts_are_refitted_by_poisson():
    rng = np.random.default_rng(2)
    predictors = rng.normal(0, 1, (400, 1))
    counts = rng.poisson(np.exp(0.3 + 0.7 * predictors[:, 0])).astype(float)
    values = np.column_stack([counts, np.ones(400)])
    labels = (counts > 0).astype(np.int64)
    samples = Samples(np.zeros((400, 1)), labels, 2, outcome="count", values=values)
    library = PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000).fit(predictors, counts)
    found = refit(predictors, samples, everybody(samples))
    assert found.slopes[0] == pytest.approx(library.coef_[0], rel=1e-3)


def test_times_have_a_slope_and_no_intercept():
    rng = np.random.default_rng(3)
    predictors = rng.normal(0, 1, (500, 1))
    times = rng.exponential(np.exp(-0.5 * predictors[:, 0]))
    values = np.column_stack([times, np.ones(500)])
    labels = np.ones(500, dtype=np.int64)
    samples = Samples(np.zeros((500, 1)), labels, 2, outcome="time", values=values)
    found = refit(predictors, samples, everybody(samples))
    assert np.isnan(found.intercepts[0])
    assert found.slopes[0] == pytest.approx(0.5, abs=0.12)


def timed(events, count=40):
    rng = np.random.default_rng(4)
    came = (np.arange(count) < events).astype(np.float64)
    values = np.column_stack([rng.exponential(10, count), came])
    labels = came.astype(np.int64)
    samples = Samples(np.zeros((count, 1)), labels, 2, outcome="time", values=values)
    return rng.normal(size=(count, 1)), samples


def test_times_without_an_event_have_no_slope():
    """The likelihood is 0 everywhere: the penalty alone said 0, which looks like a bad model."""
    predictors, samples = timed(events=5)
    weights = np.ones((3, len(samples)))
    weights[1, :5] = 0  # nobody who had the event was drawn
    weights[2, 1:5] = 0  # one of them was
    found = refit(predictors, samples, weights).slopes
    assert np.isfinite(found).tolist() == [True, False, True]
    nobody = refit(*timed(events=0), weights)
    assert np.isnan(nobody.slopes).all()


@pytest.mark.parametrize(("middle", "exposure"), [(0.0, 1.0), (-8.0, 1.0), (0.0, 0.001)])
def test_counts_that_are_all_zero_have_neither(middle, exposure):
    """However few events were expected, so that a penalty finds an end soon."""
    predictors = middle + np.random.default_rng(5).normal(0, 0.5, (20, 1))
    values = np.column_stack([np.zeros(20), np.full(20, exposure)])
    labels = np.zeros(20, dtype=np.int64)
    samples = Samples(np.zeros((20, 1)), labels, 2, outcome="count", values=values)
    found = refit(predictors, samples, everybody(samples))
    assert np.isnan(found.intercepts).all()
    assert np.isnan(found.slopes).all()
    values[3, 0] = 1
    found = refit(predictors, samples, everybody(samples))
    assert np.isfinite(found.slopes).all()


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("middle", [-12.0, 0.0, 12.0])
def test_one_class_has_neither_however_sure_predictions_are(label, middle):
    logits = middle + np.linspace(-1, 1, 12)[:, None]
    samples = Samples(np.zeros((12, 1)), np.full(12, label), 2)
    found = refit(logits, samples, everybody(samples))
    assert np.isnan(found.intercepts).all()
    assert np.isnan(found.slopes).all()
