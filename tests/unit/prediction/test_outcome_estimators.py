import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import cross_val_score

from securefair import TransferRate, TransferRegressor, TransferSurvival
from securefair.errors import ConfigError, DataError, SecureFairError

LUNG = np.array(
    json.loads((Path(__file__).parents[2] / "vectors/survival.json").read_text("utf-8"))["rows"]
)
X, TIME, EVENT = LUNG[:, 2:], LUNG[:, 0], LUNG[:, 1]


@pytest.fixture
def patients():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 4))
    return x, x @ np.array([1.0, -0.7, 0.4, 0.0]), rng


def test_a_number_comes_back_in_its_unit_with_an_interval(patients):
    x, f, rng = patients
    y = 120 + 20 * f + rng.normal(0, 10, 300)
    alone = TransferRegressor(low=80, high=180).fit(x[:15], y[:15])
    answer = TransferRegressor(low=80, high=180).fit(x[100:], y[100:]).predictor(x[:15])
    helped = clone(alone).set_params(peers={"south": answer}).fit(x[:15], y[:15])
    assert helped.trust_.in_peers > 0.5
    assert helped.score(x[40:100], y[40:100]) > alone.score(x[40:100], y[40:100])
    low, high = helped.predict_interval(x[40:100]).T
    assert np.mean((low <= y[40:100]) & (y[40:100] <= high)) > 0.7
    assert cross_val_score(clone(alone), x, y, cv=3).min() > 0.3


def test_a_range_that_is_none_is_refused(patients):
    x, f, _ = patients
    with pytest.raises(ConfigError, match="not a range"):
        TransferRegressor(low=1, high=1).fit(x, f)


def test_rates_follow_from_counts_and_exposures(patients):
    x, f, rng = patients
    years = rng.uniform(0.5, 4, 300)
    found = TransferRate().fit(x, rng.poisson(years * np.exp(f)), exposure=years)
    assert np.corrcoef(np.log(found.predict(x)), f)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("counts", "exposure", "message"),
    [
        ([0, 1.5, 2], None, "row 1: a count is a whole number from 0"),
        ([0, -1, 2], None, "row 1: a count is a whole number"),
        ([0, 1, 2], [1, 1, 0], "row 2: an exposure is above 0"),
        ([0, 1, 2], [1, 1], "exposure: not one number a patient"),
    ],
)
def test_counts_that_are_none_are_refused(counts, exposure, message):
    with pytest.raises(DataError, match=message):
        TransferRate().fit(np.eye(3), counts, exposure)


def test_peers_tell_of_the_time_to_an_event():
    few = slice(0, 25)
    alone = TransferSurvival().fit(X[few], TIME[few], EVENT[few])
    answer = TransferSurvival().fit(X[60:], TIME[60:], EVENT[60:]).predict(X[few])
    helped = TransferSurvival(answer).fit(X[few], TIME[few], EVENT[few])
    later = X[25:60]
    assert helped.trust_.in_peers > alone.trust_.in_peers == 0
    assert helped.predict(later).shape == (35,)
    said = helped.predict_survival(later, [0, 180, 365])
    assert (said[:, 0] == 1).all()
    assert (np.diff(said) <= 0).all()
    risk = helped.predict(later)
    assert said[risk.argmax(), 2] == said[:, 2].min()


@pytest.mark.parametrize(
    ("time", "event", "message"),
    [
        ([3, 0, 2], [1, 0, 1], "row 1: a time to an event is above 0"),
        ([3, 1, 2], [1, 2, 1], "row 1: an event is 1 where it came"),
        ([3, 1, 2], [0, 0, 0], "nobody had the event"),
        ([3, 1, 2], [1, 1], "event: not one number a patient"),
    ],
)
def test_times_that_tell_nothing_are_refused(time, event, message):
    with pytest.raises(DataError, match=message):
        TransferSurvival().fit(np.eye(3), time, event)


@pytest.mark.parametrize("event", [[1, 1, 1, 1], [0, 1, 0, 0]])
def test_one_event_and_nobody_censored_give_a_model(event):
    found = TransferSurvival().fit(np.eye(4), [1, 2, 3, 4], event)
    assert np.isfinite(found.predict_survival(np.eye(4), [1, 4])).all()


def test_coefficients_have_estimates_in_the_unit_of_the_number(patients):
    x, f, rng = patients
    y = 120 + 20 * f + rng.normal(0, 10, 300)
    teacher = TransferRegressor(low=80, high=180).fit(x[100:], y[100:])
    found = TransferRegressor(low=80, high=180, peers=teacher.predictor(x[:60])).fit(x[:60], y[:60])
    for one in found.estimates(draws=100).values():
        low, high = one.interval_95.T
        assert ((low <= one.value) & (one.value <= high)).all()
        assert (np.sign(one.value[:2]) == [1, -1]).all()
        assert one.value[0] == pytest.approx(20, rel=0.5)


def test_hazard_and_rate_ratios(patients):
    x, f, rng = patients
    rates = TransferRate().fit(x, rng.poisson(np.exp(f))).estimates(draws=20)
    assert rates["alone"].value[0] == pytest.approx(np.exp(1), rel=0.3)
    assert (rates["alone"].value == rates["together"].value).all()
    hazards = TransferSurvival().fit(X, TIME, EVENT).estimates(draws=20)
    assert hazards["alone"].interval_90.shape == (X.shape[1], 2)


def test_only_linear_fits_have_coefficients(patients):
    x, f, _ = patients
    quadratic = TransferRegressor(degree=2).fit(x, f)
    with pytest.raises(AttributeError, match="degree=1"):
        quadratic.coef_.shape  # noqa: B018
    with pytest.raises(AttributeError, match="degree=1"):
        quadratic.estimates()


@pytest.mark.slow
def test_a_weight_is_how_often_a_patient_counts(patients):
    x, f, rng = patients
    y, heavy = f + rng.normal(0, 0.1, 300), np.where(x[:, 0] > 0, 9.0, 1.0)
    some = (x[:, 0] > 0).astype(float)
    for estimator, known in (
        (TransferRegressor(), (y,)),
        (TransferRate(), (rng.poisson(np.exp(f)),)),
        (TransferSurvival(), (rng.exponential(np.exp(-f)), np.ones(300))),
    ):
        plain, weighed = (
            clone(estimator).fit(x, *known, sample_weight=w).predictor(x) for w in (None, heavy)
        )
        assert not np.allclose(plain, weighed)
        only = clone(estimator).fit(x[some > 0], *(one[some > 0] for one in known))
        none = clone(estimator).fit(x, *known, sample_weight=some)
        assert np.allclose(only.predictor(x), none.predictor(x))


def test_a_time_counts_whole_times():
    x, time, event = X[:40], TIME[:40], EVENT[:40]
    with pytest.raises(DataError, match="row 0"):
        TransferSurvival().fit(x, time, event, sample_weight=np.full(40, 0.5))


def test_a_rate_is_scored_by_what_it_explains(patients):
    x, f, rng = patients
    counted, over = rng.poisson(np.exp(f)), rng.uniform(0.5, 2, 300)
    found = TransferRate().fit(x, counted)
    expected = d2_tweedie_score(counted, found.predict(x), power=1)
    assert found.score(x, counted) == pytest.approx(expected)
    both = np.column_stack([rng.poisson(np.exp(f) * over), over])
    fitted = TransferRate().fit(x, both)
    assert fitted.score(x, both) == fitted.score(x, both[:, 0], both[:, 1])
    with pytest.raises(ConfigError, match=r"exposure: .*a score needs them"):
        fitted.score(x, both[:, 0])
    assert (cross_val_score(TransferRate(), x, both, cv=3) > 0.3).all()
    zeros = np.append(np.ones(299), 0)
    assert found.score(x, counted, sample_weight=zeros) == found.score(x[:-1], counted[:-1])


def test_times_are_scored_by_the_order_of_risks():
    found = TransferSurvival(trees=False).fit(X, TIME, EVENT)
    risk = found.predict(X)
    first = (TIME[:, None] < TIME) & (EVENT[:, None] == 1)
    first |= (TIME[:, None] == TIME) & (EVENT[:, None] > EVENT)
    right = (risk[:, None] > risk) + 0.5 * (risk[:, None] == risk)
    expected = (first * right).sum() / first.sum()
    assert found.score(X, TIME, EVENT) == pytest.approx(expected)
    np.testing.assert_allclose(X @ found.coef_ + found.intercept_, risk)


def test_times_and_events_may_come_as_one():
    two = np.column_stack([TIME, EVENT])
    named = np.array(
        list(zip(EVENT == 1, TIME, strict=True)), dtype=[("event", bool), ("time", float)]
    )
    risks = [
        TransferSurvival().fit(X, *known).predict(X) for known in ((TIME, EVENT), (two,), (named,))
    ]
    assert (risks[0] == risks[1]).all()
    assert (risks[0] == risks[2]).all()
    assert (cross_val_score(TransferSurvival(trees=False), X, two, cv=3) > 0.45).all()


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (([3, 1, 2],), "event: event is missing"),
        ((np.ones((3, 3)),), "event: event is missing"),
        (([3, 1, 2], ["yes", "no", "no"]), "event: these are no numbers .*1 where it came"),
        ((["a", "b", "c"], [1, 1, 1]), "y: these are no numbers"),
        (([3, np.nan, 2], [1, 1, 1]), "row 1: a time to an event is above 0"),
    ],
)
def test_times_without_events_are_refused(known, words):
    with pytest.raises(DataError, match=words):
        TransferSurvival().fit(np.eye(3), *known)


@pytest.mark.parametrize(
    ("horizon", "words"),
    [
        (np.nan, "horizon 0: a horizon is a time from 0"),
        (-1, "horizon 0: a horizon is a time from 0"),
        (1e6, "horizon: .*nothing of so late a time .*1e\\+06"),
        ("year", "horizons: these are no numbers"),
    ],
)
def test_survival_is_told_only_until_somebody_was_followed(horizon, words):
    found = TransferSurvival().fit(X, TIME, EVENT)
    with pytest.raises(SecureFairError, match=words):
        found.predict_survival(X[:2], [horizon])


def test_a_number_that_is_a_text_is_named(patients):
    with pytest.raises(DataError, match=r"y: these are no numbers"):
        TransferRegressor().fit(patients[0], ["well"] * 300)
