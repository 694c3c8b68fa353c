"""What a table says of outcomes that are no classes."""

import numpy as np
import pytest

from securefair.config.columns import NumericColumn
from securefair.data import Samples
from securefair.data.table import TableSpec, Target
from support import described as support

AGE = (NumericColumn(name="age", low=20, high=90),)


def described(target, outcome, values):
    """Table 1 of three hospitals, whose known values these are."""
    people = {}
    for at, known in enumerate(values):
        x = np.random.default_rng(at).uniform(-1, 1, (len(known), 1))
        labels = known[:, -1].astype(np.int64) if outcome != "number" else np.arange(len(x)) % 2
        people[f"h{at}"] = Samples(x, np.minimum(labels, 1), 2, outcome=outcome, values=known)
    return support.described(TableSpec(columns=AGE, target=target), people)


def table_of(*known):
    found = described(*known)
    return {(one.variable, one.figure, one.level): one.together for one in found.rows}


def timed(events, count=60):
    rng = np.random.default_rng(events)
    return np.column_stack([rng.uniform(1, 9, count), np.arange(count) < events])


def test_events_are_counted_under_the_name_of_their_column():
    target = Target(name="days", outcome="time", beside=("died",))
    rows = table_of(target, "time", [timed(20), timed(30), timed(25)])
    assert rows["died", "level", "event"] == 75
    assert rows["died", "level", "not seen"] == 105
    assert rows["age", "mean", ""] is not None


def test_levels_that_no_table_names_are_marked():
    events = [timed(20), timed(30), timed(25)]
    days = Target(name="days", outcome="time", beside=("died",))
    assert described(days, "time", events).strata_of == "died"
    falls = Target(name="falls", outcome="count")
    counts = [np.column_stack([one[:, 1], np.ones(len(one))]) for one in events]
    assert described(falls, "count", counts).strata_of == "falls"
    grade = Target(name="grade", outcome="number", range=(0.0, 20.0))
    numbers = [np.tile([0.5, 10.0, 10.0], (60, 1)) for _ in range(3)]
    assert described(grade, "number", numbers).strata_of == ""


def test_events_of_too_few_are_not_told():
    target = Target(name="days", outcome="time", beside=("died",))
    rows = table_of(target, "time", [timed(20), timed(1), timed(25)])
    assert rows["died", "level", "event"] is None


def test_a_number_is_a_measurement():
    target = Target(name="grade", outcome="number", range=(0.0, 20.0))
    rng = np.random.default_rng(0)
    values = [rng.uniform(-1, 1, (60, 1)) for _ in range(3)]
    unit = [np.column_stack([one, np.tile([10.0, 10.0], (60, 1))]) for one in values]
    rows = table_of(target, "number", unit)
    every = 10 + 10 * np.concatenate(values)
    assert rows["grade", "mean", ""] == pytest.approx(every.mean(), abs=0.3)
    assert rows["grade", "sd", ""] == pytest.approx(every.std(ddof=1), abs=0.3)
