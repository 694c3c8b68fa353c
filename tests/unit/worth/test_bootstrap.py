from dataclasses import replace

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.worth.bootstrap import Scored, ScoredPredictions
from securefair.worth.interval import wilson


def predictions(seed, patients, skill=1.0):
    """What a model of that skill says of patients whose labels are theirs in every seed."""
    labels = np.array([int(np.random.default_rng([7, one]).random() < 0.5) for one in patients])
    noise = np.random.default_rng([seed, 1]).normal(0, 1, len(patients))
    ill = 1 / (1 + np.exp(-(skill * (2 * labels - 1) + noise)))
    return ScoredPredictions(np.asarray(patients), of(labels), np.column_stack([1 - ill, ill]))


def of(labels):
    return Samples(np.empty((len(labels), 0)), labels, 2)


def test_the_error_of_accuracy_is_the_binomial_one():
    one = predictions(0, range(400))
    summary = Scored({"a": [one]}, draws=2000).summary("accuracy")
    p = summary.mean
    assert summary.by_hospital == {"a": p}
    assert summary.se == pytest.approx(np.sqrt(p * (1 - p) / 400), rel=0.1)


def test_a_patient_of_several_seeds_is_one_patient():
    one = predictions(0, range(100))
    once = Scored({"a": [one]}, draws=1000).summary("log_loss")
    ten_times = Scored({"a": [one] * 10}, draws=1000).summary("log_loss")
    assert ten_times.mean == pytest.approx(once.mean)
    assert ten_times.se == pytest.approx(once.se)
    ten_sets = [predictions(0, range(100 * k, 100 * k + 100)) for k in range(10)]
    others = Scored({"a": ten_sets}, draws=1000).summary("log_loss")
    assert others.se < 0.5 * once.se


def test_rows_of_one_patient_are_no_further_patients():
    once, who = predictions(0, range(40)), np.repeat(np.arange(40), 5)
    samples = replace(once.samples.take(who), patients=who)
    rows = ScoredPredictions(np.arange(200), samples, once.said[who])
    for score in ("auc", "accuracy", "brier"):
        few, many = (Scored({"a": [one]}).summary(score) for one in (once, rows))
        assert many.mean == pytest.approx(few.mean)
        assert many.se == pytest.approx(few.se)
        assert (few.interval is None) == (many.interval is None)
        if few.interval is not None:
            assert many.interval == pytest.approx(few.interval)


def times_of(events, count=30):
    rng = np.random.default_rng(3)
    came = np.arange(count) < events
    values = np.column_stack([rng.exponential(size=count), came])
    samples = Samples(np.empty((count, 0)), came.astype(np.int64), 2, outcome="time", values=values)
    return ScoredPredictions(np.arange(count), samples, rng.normal(size=(count, 1)))


@pytest.mark.parametrize(("events", "known"), [(1, False), (4, False), (8, True)])
def test_few_events_have_no_error_and_a_mean_leaves_them_out(events, known):
    scored = Scored({"few": [times_of(events)], "many": [times_of(20)]}, draws=100)
    for found in (scored.summary("concordance"), scored.difference(scored, "concordance")):
        assert found.by_hospital["few"] is not None
        assert (found.se_by_hospital["few"] is not None) == known
        told = [found.by_hospital[name] for name in ("few", "many")[not known :]]
        assert found.mean == pytest.approx(np.mean(told))
        assert found.se is not None


@pytest.mark.parametrize(("patients", "known"), [(1, False), (4, False), (5, True)])
def test_few_patients_have_no_error_and_a_mean_leaves_them_out(patients, known):
    """A bootstrap over one patient has no spread: that is no certainty."""
    parts = {"few": [predictions(0, range(patients))], "many": [predictions(1, range(20, 80))]}
    scored = Scored(parts, draws=100)
    found = scored.summary("log_loss")
    assert found.by_hospital["few"] is not None
    assert (found.se_by_hospital["few"] is not None) == known
    told = [found.by_hospital[name] for name in ("few", "many")[not known :]]
    assert found.mean == pytest.approx(np.mean(told))
    accuracy = scored.summary("accuracy")
    assert accuracy.interval_by_hospital["few"] == wilson(accuracy.by_hospital["few"], patients)
    if not known:
        assert found.se == found.se_by_hospital["many"]
        assert accuracy.interval == accuracy.interval_by_hospital["many"]


def test_where_everybody_is_too_small_means_are_of_all():
    parts = {name: [predictions(at, range(at, at + 3))] for at, name in enumerate("ab")}
    found = Scored(parts, draws=100).summary("log_loss")
    assert found.mean == pytest.approx(np.mean(list(found.by_hospital.values())))
    assert found.se is None


def test_hospitals_count_alike():
    parts = {"a": [predictions(0, range(50))], "b": [predictions(1, range(200, 500))]}
    scored = Scored(parts, draws=500)
    for score in ("accuracy", "auc", "brier"):
        summary = scored.summary(score)
        assert summary.mean == pytest.approx(np.mean(list(summary.by_hospital.values())))
        errors = summary.se_by_hospital
        assert errors["a"] > errors["b"]
        assert summary.se == pytest.approx(np.hypot(errors["a"], errors["b"]) / 2, rel=0.25)


def test_differences_are_paired():
    one = predictions(0, range(200))
    better = ScoredPredictions(one.rows, one.samples, 0.9 * one.said + 0.05)
    first, second = (Scored({"a": [part]}) for part in (one, better))
    apart = first.difference(second, "log_loss")
    assert apart.mean == pytest.approx(
        first.summary("log_loss").mean - second.summary("log_loss").mean
    )
    assert apart.se < 0.5 * first.summary("log_loss").se
    assert first.difference(first, "auc").se == 0


def test_an_undefined_score_is_none_where_it_is_and_left_out_of_the_mean():
    healthy = ScoredPredictions(
        np.arange(3), of(np.zeros(3, dtype=np.int64)), np.tile([0.8, 0.2], (3, 1))
    )
    scored = Scored({"a": [healthy], "b": [predictions(0, range(60))]}, draws=50)
    summary = scored.summary("auc")
    assert summary.by_hospital["a"] is None
    assert summary.se_by_hospital["a"] is None
    assert summary.mean == summary.by_hospital["b"]
    assert Scored({"a": [healthy]}, draws=5).summary("auc").mean is None


def test_where_all_are_right_the_interval_says_what_no_draw_can():
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    sure = np.where(labels[:, None] == np.arange(2), 0.9, 0.1)
    one = ScoredPredictions(np.arange(8), of(labels), sure)
    summary = Scored({"a": [one, one]}, draws=50).summary("accuracy")
    assert (summary.mean, summary.se) == (1.0, 0.0)
    assert summary.interval_by_hospital == {"a": wilson(1.0, 8)}  # not 16: they are the same eight
    assert summary.interval == wilson(1.0, 8)
    scored = Scored({"a": [one]}, draws=50)
    assert scored.summary("sensitivity").interval == wilson(1.0, 5)
    assert scored.summary("specificity").interval == wilson(1.0, 3)
    assert scored.summary("auc").interval is None
    assert scored.difference(scored, "accuracy").interval is None


def test_a_hospital_without_a_class_has_no_interval_of_it():
    healthy = ScoredPredictions(
        np.arange(3), of(np.zeros(3, dtype=np.int64)), np.tile([0.8, 0.2], (3, 1))
    )
    summary = Scored({"a": [healthy]}, draws=5).summary("sensitivity")
    assert (summary.mean, summary.interval, summary.interval_by_hospital) == (None, None, {})


def test_refuses_a_sample_twice():
    with pytest.raises(DataError, match="not one number per sample"):
        ScoredPredictions(np.zeros(2, dtype=np.int64), of(np.array([0, 1])), np.full((2, 2), 0.5))
