import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from securefair.model.transfer.folds import stratified_folds, training_counts
from support.dealt import dealt


@given(st.lists(st.integers(0, 9), min_size=6, max_size=60), st.integers(0, 9))
def test_rows_of_one_patient_are_in_one_fold(who, seed):
    draw, who = np.random.default_rng(seed), np.array(who)
    labels = draw.integers(0, 2, len(who))
    folds = stratified_folds(dealt(labels, who), draw)
    assert all(len(set(folds[who == one])) == 1 for one in who)
    people = len(np.unique(who))
    assert len(set(folds)) == min(5, people)
    if people == len(who):
        alike = stratified_folds(dealt(labels, None), np.random.default_rng(seed))
        again = stratified_folds(dealt(labels, who), np.random.default_rng(seed))
        assert (alike == again).all()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(0, 2**32))
def test_folds_and_classes_are_as_even_as_can_be(labels, seed):
    labels = np.array(labels)
    folds = stratified_folds(dealt(labels), np.random.default_rng(seed))
    number = min(5, len(labels))
    assert set(folds.tolist()) == set(range(number))
    for part in (folds, *(folds[labels == one] for one in np.unique(labels))):
        sizes = np.bincount(part, minlength=number)
        assert sizes.max() - sizes.min() <= 1


def test_every_fold_trains_without_its_own_and_the_last_row_with_all():
    counts = training_counts(np.array([0, 1, 1, 2]))
    assert counts.tolist() == [[0, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 0], [1, 1, 1, 1]]
