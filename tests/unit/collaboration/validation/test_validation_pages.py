from dataclasses import replace

import numpy as np
import pytest

from securefair.collaboration.validation.pages import said_of_others
from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_named


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
