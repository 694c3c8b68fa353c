"""Rows are known again in a later table, and stay in the part that they were in."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.data import ParticipantData, Samples, hold_out
from securefair.data.places import marks_of, placed, staying
from securefair.errors import DataError

KEY = b"key"


def samples(count, seed=0):
    rng = np.random.default_rng(seed)
    return Samples(
        rng.uniform(-1, 1, (count, 2)),
        np.arange(count) % 2,
        2,
        weights=np.ones(count),
        outcome="time",
        values=rng.uniform(1, 9, (count, 2)),
    )


def hospital(whole, test):
    """A table of which these rows are for testing."""
    rest = np.setdiff1d(np.arange(len(whole)), test)
    return ParticipantData(
        "north",
        whole.take(rest),
        whole.take(np.array(test)),
        train_rows=rest,
        test_rows=np.array(test),
    )


def test_marks_are_of_rows_in_any_order_and_of_a_key():
    some = samples(6)
    marks = list(marks_of(some, KEY))
    assert len(set(marks)) == 6
    assert list(marks_of(some.take(np.arange(6)[::-1]), KEY)) == marks[::-1]
    assert not set(marks) & set(marks_of(some, b"another"))


@pytest.mark.parametrize("part", ["features", "labels", "values", "weights"])
def test_whatever_changes_of_a_row_changes_its_mark_and_no_other(part):
    some = samples(4)
    changed = getattr(some, part).copy()
    changed[2] = 1 - changed[2] if part == "labels" else changed[2] / 2
    marks = list(marks_of(some, KEY)), list(marks_of(replace(some, **{part: changed}), KEY))
    assert [one == other for one, other in zip(*marks, strict=True)] == [True, True, False, True]


def test_who_was_there_stays_where_it_was():
    first = samples(8)
    more = samples(12)  # eight others, drawn anew
    before = hospital(first, [0, 1, 2])
    grown = Samples(
        np.concatenate([first.features, more.features]),
        np.concatenate([first.labels, more.labels]),
        2,
        weights=np.ones(20),
        outcome="time",
        values=np.concatenate([first.values, more.values]),
    )
    after = staying(before, hospital(grown, [5, 6, 18, 19]), KEY)
    tested = set(marks_of(after.test, KEY))
    assert set(marks_of(before.test, KEY)) <= tested
    assert not set(marks_of(before.train, KEY)) & tested
    assert len(after.train) + len(after.test) == 20


def test_a_part_that_would_be_empty_is_refused():
    one = hospital(samples(4), [0])
    with pytest.raises(DataError, match="nobody is left to train on, or to test on"):
        placed(one, (), KEY)


def test_a_new_row_goes_where_its_patient_is():
    draw = np.random.default_rng(3)
    who = np.repeat(np.arange(30), 2)
    visits = Samples(draw.normal(size=(60, 2)), who % 2, 2, patients=who)
    before = hold_out("a", visits, 0.3, 0)
    later = np.concatenate([who, np.arange(40)])  # everybody comes once more, and ten others do
    more = np.concatenate([visits.features, draw.normal(size=(40, 2))])
    drawn = hold_out("a", Samples(more, later % 2, 2, patients=later), 0.3, 5)
    after = staying(before, drawn, b"key")
    trained, tested = set(after.train.patients.tolist()), set(after.test.patients.tolist())
    assert not trained & tested
    assert trained >= set(before.train.patients.tolist())
    assert tested >= set(before.test.patients.tolist())
    assert len(after.train) + len(after.test) == 100
