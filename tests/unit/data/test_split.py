import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data import ParticipantData, Samples, hold_out, stratified_split
from securefair.data.split import keep_training
from securefair.errors import ConfigError, DataError
from support.dealt import dealt


def numbered(labels, classes=4):
    """Samples whose only feature is their own number, so that they can be told apart."""
    labels = np.array(labels, dtype=np.int64)
    return Samples(np.arange(len(labels), dtype=np.float64)[:, None], labels, classes)


many_labels = st.lists(st.integers(0, 3), min_size=8, max_size=80)
fractions = st.floats(0.05, 0.95)


@given(many_labels, fractions, st.integers(0, 5))
def test_disjoint_complete_and_stratified(labels, fraction, seed):
    samples = numbered(labels)
    train, test = stratified_split(samples, fraction, np.random.default_rng(seed))
    together = np.concatenate([train.features, test.features]).ravel()
    assert sorted(together) == list(range(len(labels)))
    assert 1 <= len(test) <= max(1, round(len(labels) * fraction))
    for label in range(4):
        n = labels.count(label)
        held_out = int((test.labels == label).sum())
        assert held_out <= max(0, n - 1)
        assert abs(held_out - n * fraction) < 1 or held_out == n - 1
    for part in (train, test):  # a sample keeps its label
        assert (part.labels == samples.labels[part.features.ravel().astype(int)]).all()


@given(many_labels, fractions, st.integers(0, 5))
def test_rows_of_one_patient_stay_together(labels, fraction, seed):
    who = np.random.default_rng(seed).integers(0, 5 + len(labels) // 3, len(labels))
    labels = np.array(labels) % 2
    samples = dealt(labels, who)
    try:
        train, test = stratified_split(samples, fraction, np.random.default_rng(seed))
    except DataError:  # every class is of one patient
        assert len(np.unique(who)) <= 2
        return
    assert not set(train.patients) & set(test.patients)
    together = np.concatenate([train.features, test.features]).ravel()
    assert sorted(together) == list(range(len(labels)))
    assert len(train)
    assert len(test)


def test_patients_of_one_row_are_dealt_as_if_nobody_had_said_whose_they_are():
    labels = [0, 1] * 20
    said, unsaid = dealt(labels, np.arange(40)[::-1]), dealt(labels)
    parts = (stratified_split(one, 0.3, np.random.default_rng(4))[1] for one in (said, unsaid))
    first, second = (part.features.ravel().tolist() for part in parts)
    assert first == second


@given(st.integers(2, 30), st.integers(2, 30), st.integers(0, 3))
def test_the_size_is_exact_where_no_class_runs_out(a, b, seed):
    samples = numbered([0] * a + [1] * b)
    _, test = stratified_split(samples, 1 / 3, np.random.default_rng(seed))
    assert len(test) == max(1, round((a + b) / 3))


def test_seeded_by_participant_and_seed():
    samples = numbered([0, 1] * 30)
    one = hold_out("Hungary", samples, 1 / 3, seed=0)
    again = hold_out("Hungary", samples, 1 / 3, seed=0)
    assert (one.test.features == again.test.features).all()
    for other in (hold_out("Cleveland", samples, 1 / 3, 0), hold_out("Hungary", samples, 1 / 3, 1)):
        assert set(one.test.features.ravel()) != set(other.test.features.ravel())


def test_every_sample_is_held_out_as_often_as_any_other():
    samples, times = numbered([0] * 10 + [1] * 5), np.zeros(15)
    for seed in range(600):
        times[hold_out("P1", samples, 0.4, seed).test.features.ravel().astype(int)] += 1
    assert times.sum() == 600 * 6
    # binomial(600, 0.4): mean 240, standard deviation 12
    assert (np.abs(times - 240) < 60).all()


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan")])
def test_refuses_impossible_fractions(fraction):
    with pytest.raises(ConfigError, match="test_fraction"):
        stratified_split(numbered([0, 1, 0, 1]), fraction, np.random.default_rng(0))


@pytest.mark.parametrize("labels", [[], [0], [0, 1, 2]])
def test_refuses_to_take_the_last_sample_of_every_class(labels):
    with pytest.raises(DataError, match="participant Basel: too few samples"):
        hold_out("Basel", numbered(labels), 1 / 3, seed=0)


def test_all_own_samples_are_those_for_training_and_for_testing():
    samples = numbered([0, 1, 2, 3] * 8)
    own = hold_out("A", samples, 1 / 3, seed=0)
    whole = own.whole()
    assert len(whole) == len(samples)
    assert sorted(whole.features[:, 0]) == sorted(samples.features[:, 0])
    assert keep_training(own, 8, 0).whole() is None  # fewer on purpose
    assert ParticipantData("A", own.train, own.test).whole() is None  # brought by themselves


def test_every_class_keeps_a_row_where_a_patient_has_rows_of_several():
    """Whoever is dealt for the rarest class takes the rows of another along."""
    labels = np.array([0] * 20 + [1] * 6 + [2] * 3)
    who = np.array([*range(20), *[90] * 6, 90, 91, 92])
    for seed in range(40):
        train, test = stratified_split(dealt(labels, who), 0.4, np.random.default_rng(seed))
        assert set(train.labels.tolist()) == {0, 1, 2}
        assert not set(train.patients) & set(test.patients)


def test_nobody_is_held_out_of_one_patient_a_class():
    with pytest.raises(DataError, match="too few"):
        stratified_split(dealt([0, 0, 1, 1], np.array([0, 0, 1, 1])), 0.3, np.random.default_rng(0))


def test_sites_that_began_before_go_on_with_parts_by_rows():
    samples = dealt([0, 1] * 30, np.arange(60) // 3)
    former = hold_out("a", samples, 0.3, 0, by_rows=True)
    unsaid = hold_out("a", dealt([0, 1] * 30), 0.3, 0)
    assert (former.test_rows == unsaid.test_rows).all()
    assert set(former.train.patients) & set(former.test.patients)
