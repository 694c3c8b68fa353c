"""Missing values become what the patient's other columns make likely."""

import numpy as np
import pytest

from securefair.config.columns import CategoricalColumn, NumericColumn
from securefair.data.dataset import ParticipantData, Samples
from securefair.data.filling import completed, filled, gaps, relations_of, restored
from securefair.data.table import TableSpec, Target

SPEC = TableSpec(
    columns=(
        NumericColumn(name="a", low=0, high=1),
        NumericColumn(name="b", low=0, high=1, optional=True),
        CategoricalColumn(name="c", levels=("u", "v"), optional=True),
    ),
    target=Target(name="y", groups=(("0",), ("1",))),
    fill=True,
)
A, B, B_GONE, U, V, C_GONE = range(6)


def patients(count, share=0.4, seed=0):
    """b is 0.6 a and some noise; c is u where a is above 0; and what was taken away of b."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1, 1, count)
    b = 0.6 * a + rng.normal(0, 0.1, count)
    u = (a > 0).astype(float)
    gone, unsaid = rng.random((2, count)) < share
    features = np.column_stack([a, np.where(gone, 0, b), gone, u, 1 - u, unsaid]).astype(float)
    features[unsaid, U : V + 1] = 0
    return features, b, gone


def test_gaps_are_told_by_the_features_that_say_so():
    features, _, gone = patients(50)
    found = gaps(SPEC, features)
    np.testing.assert_array_equal(found[:, B], gone)
    np.testing.assert_array_equal(found[:, U], features[:, C_GONE] > 0)
    np.testing.assert_array_equal(found[:, U], found[:, V])
    assert not found[:, [A, B_GONE, C_GONE]].any()


def test_what_is_missing_becomes_likely_and_all_else_stays():
    features, truth, gone = patients(2000)
    found = filled(SPEC, features, relations_of(SPEC, features))
    known = ~gaps(SPEC, features)
    np.testing.assert_array_equal(found[known], features[known])
    assert np.sqrt(np.mean((found[gone, B] - truth[gone]) ** 2)) < 0.11  # the noise is 0.1
    unsaid = features[:, C_GONE] > 0
    np.testing.assert_allclose(found[unsaid, U] + found[unsaid, V], 1, atol=0.02)
    assert found[unsaid, U : V + 1].min() >= 0
    above = features[unsaid, A] > 0
    assert found[unsaid][above, U].mean() > 0.8


def test_relations_are_those_of_the_known_where_values_are_missing_by_another_column():
    """Of those with a low a, b is never known: its mean among the known is far too high."""
    features, truth, _ = patients(4000, share=0)
    gone = features[:, A] < 0
    features[gone, B], features[gone, B_GONE] = 0, 1
    features[:, U : V + 1], features[:, C_GONE] = 0, 1  # would tell nothing but whether b is known
    found = relations_of(SPEC, features)
    assert truth[~gone].mean() > 0.25
    assert found.mean[B] == pytest.approx(truth.mean(), abs=0.02)


def test_a_column_that_nobody_has_is_0_as_without_filling():
    features, _, _ = patients(30)
    features[:, B], features[:, B_GONE] = 0, 1
    found = filled(SPEC, features, relations_of(SPEC, features))
    np.testing.assert_allclose(found[:, B], 0, atol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_of_a_handful_of_patients_values_stay_within_the_range(count):
    features, _, _ = patients(count, share=0.7, seed=count)
    found = filled(SPEC, features, relations_of(SPEC, features))
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 1


def test_what_stood_in_a_gap_before_does_not_count():
    features, _, _ = patients(60)
    relations = relations_of(SPEC, features)
    again = relations_of(SPEC, filled(SPEC, features, relations))
    for one, other in zip(relations, again, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_relations_are_kept_as_they_are():
    relations = relations_of(SPEC, patients(40)[0])
    kept = restored({"scale": [1.0], **relations.stored()})
    for one, other in zip(relations, kept, strict=True):
        np.testing.assert_array_equal(one, other)


def test_test_patients_are_filled_in_by_the_relations_of_training_alone():
    def own(test):
        parts = [Samples(one, (one[:, A] > 0).astype(np.int64), 2) for one in (train, test)]
        return ParticipantData("here", *parts)

    train, first, second = (patients(40, seed=seed)[0] for seed in range(3))
    found = completed(own(np.concatenate([first, second])), SPEC)
    np.testing.assert_array_equal(
        found.test.features[:40], completed(own(first), SPEC).test.features
    )
    np.testing.assert_array_equal(found.train.features, completed(own(first), SPEC).train.features)
    assert completed(own(first), None).test.features is first
    unfilled = SPEC.model_copy(update={"fill": False})
    assert completed(own(first), unfilled).test.features is first
