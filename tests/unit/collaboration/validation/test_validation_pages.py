from dataclasses import replace

import numpy as np
import pytest

from securefair.collaboration.validation import pages
from securefair.collaboration.validation.pages import said_of_others
from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_named
from securefair.model.outcomes.pictures import Shown


def drawn(name, count=40, seed=0):
    rng, outcome = np.random.default_rng(seed), outcome_named(name)
    predictors = rng.normal(size=(count, 1))
    known = outcome.drawn(predictors, rng)
    return predictors, Samples(
        np.zeros((count, 1)),
        known.labels,
        known.classes,
        outcome="" if outcome.tells_classes else name,
        values=known.values,
    )


def test_a_deviation_is_that_of_other_patients():
    predictors, samples = drawn("number")
    values = samples.values.copy()
    values[3, 0] += 50
    moved = said_of_others(predictors, replace(samples, values=values))[:, 1]
    assert moved[3] == said_of_others(predictors, samples)[3, 1]
    assert moved[3] < 1 < np.delete(moved, 3).max()


def test_all_rows_of_a_patient_are_left_out_together():
    predictors, samples = drawn("number")
    values, who = samples.values.copy(), np.arange(40) // 2
    values[7, 0] += 50
    same = replace(samples, values=values, patients=who)
    scales = said_of_others(predictors, same)[:, 1]
    assert scales[6] == scales[7] < 1


def test_a_baseline_is_that_of_other_patients():
    predictors, samples = drawn("time")
    values = samples.values.copy()
    seen = int(np.flatnonzero(values[:, 1])[0])
    values[seen, 0] = 1e-3
    moved, before = (
        said_of_others(predictors, replace(samples, values=one)) for one in (values, samples.values)
    )
    np.testing.assert_array_equal(moved[seen], before[seen])
    assert not np.array_equal(moved, before)


def test_one_event_has_no_baseline_without_itself():
    predictors, samples = drawn("time")
    values = samples.values.copy()
    values[:, 1] = np.arange(40) == 5
    once = replace(samples, values=values, labels=values[:, 1].astype(np.int64))
    np.testing.assert_array_equal(said_of_others(predictors, once), predictors)


@pytest.mark.parametrize("name", ["two_classes", "count"])
def test_what_has_no_own_part_is_said_as_ever(name):
    predictors, samples = drawn(name)
    outcome = outcome_named(name)
    expected = outcome.said(predictors, {})
    np.testing.assert_allclose(said_of_others(predictors, samples), expected)


def test_pictures_are_of_the_baselines_that_scores_are_of(monkeypatch):
    """With a baseline of all, predicted hazards sum to as many events as came, whatever a model
    says."""
    predictors, samples = drawn("time", 60)
    outcome, shown = outcome_named("time"), []
    drawing = type(outcome).pictures
    monkeypatch.setattr(
        type(outcome), "pictures", lambda self, parts: shown.extend(parts) or drawing(self, parts)
    )
    page = pages.page_of(predictors, samples)
    assert [one.name for one in page.pictures] == ["survival", "survival_until", "hazards"]
    assert len(shown) == 5
    np.testing.assert_allclose(
        np.sort(np.concatenate([one.said[:, :10] for one in shown]), axis=0),
        np.sort(said_of_others(predictors, samples)[:, :10], axis=0),
    )
    events = samples.values[samples.values[:, 1] > 0, 0].tolist()
    for one in shown:
        theirs = one.samples.values[one.samples.values[:, 1] > 0, 0].tolist()
        others = list(events)
        for time in theirs:
            others.remove(time)
        assert one.own["times"] == sorted(set(others))


@pytest.mark.parametrize("name", ["two_classes", "number", "count"])
def test_other_pictures_are_of_what_is_scored(name):
    predictors, samples = drawn(name, 60)
    said = said_of_others(predictors, samples)
    expected = outcome_named(name).page_pictures(Shown(said, {}, samples))
    found = pages.pictures_by_others(predictors, samples)
    assert [one.name for one in found] == [one.name for one in expected] != []
    for one, other in zip(found, expected, strict=True):
        for drawn_one, drawn_other in zip(one.series, other.series, strict=True):
            np.testing.assert_allclose(drawn_one.y, drawn_other.y, rtol=1e-4)
