"""The script that asks whether a report tells the truth, on a few draws."""

import importlib
from pathlib import Path

import msgspec
import numpy as np
import pytest

from securefair.model.transfer import Polynomial
from securefair.worth.verdict import FEW

ROOT = Path(__file__).parents[3]


@pytest.fixture
def verdicts(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    return importlib.import_module("verdicts")


def test_where_hospitals_gain_nobody_is_told_the_opposite(verdicts):
    rows = verdicts.measure("gain", 2)
    assert list(rows) == ["gain, 30", "gain, 100", "gain, 300"]
    for row in rows.values():
        assert row.true() == 2 * verdicts.HOSPITALS
        assert row.true(("better",)) > row.true(("worse",))
        assert row.told("worse", ("better",)) == 0
        # An exception among hospitals that gain may be told the others' verdict: see the page.
        assert row.told("better", ("worse",)) <= 1


def test_where_nothing_is_left_to_gain_every_difference_is_none(verdicts):
    for row in verdicts.measure("none", 1).values():
        assert row.true(("same",)) == row.true() == verdicts.HOSPITALS
        assert 0 < row.largest < verdicts.SAME


def test_truth_is_the_loss_over_whatever_labels_there_may_be(verdicts):
    rng, rule = np.random.default_rng(0), np.arange(verdicts.FEATURES) - 2.0
    model = Polynomial(np.array([0.5]), np.ones((1, verdicts.FEATURES)))
    patients = verdicts.drawn(rule, 100_000, rng)
    told = verdicts.expected_loss(model, rule, patients.features)
    each = verdicts.each_loss(model, patients)
    assert told == pytest.approx(each.mean(), abs=4 * each.std() / np.sqrt(len(each)))
    right = Polynomial(np.zeros(1), rule[None])
    assert verdicts.expected_loss(right, rule, patients.features) < told


def test_a_table_counts_what_was_told_of_what_is_true(verdicts):
    found = [(0.01, "better"), (0.01, "unclear"), (0.001, "better"), (-0.01, "worse")] * 5
    row = verdicts.counted(found, 5)
    assert (row.told("better"), row.told("better", ("same", "worse"))) == (10, 5)
    assert row.largest == 0.01
    line = verdicts.table({"gain, 30": row}).splitlines()[-1]
    assert line.startswith("| gain, 30 | 20 | 10 / 5 / 5 | 10 | 5: 25.0% (")
    assert "| 5 | 0: 0.0% (" in line
    assert "| 50.0% (" in line  # power


def test_the_page_shows_the_stored_rows_and_keeps_its_promise(verdicts):
    rows = msgspec.json.decode(verdicts.ROWS.read_bytes(), type=dict[str, verdicts.Row])
    assert verdicts.table(rows) in (ROOT / "docs" / "notebook" / "verdicts.md").read_text("utf-8")
    for name, row in rows.items():
        assert row.told("better", ("same", "worse")) <= 0.05 * row.true(), name
        if int(name.partition(", ")[2]) < FEW:
            continue
        assert row.told("worse", ("same", "better")) <= 0.05 * row.true(), name
        if name.startswith("none"):
            assert row.true(("same",)) == row.true()


def test_false_verdicts_are_counted_among_those_of_whom_they_are_not_true(verdicts):
    """Of ten hospitals one does not gain, and is told that it does."""
    row = verdicts.counted([(0.01, "better")] * 9 + [(0.0, "better")], 10)
    cells = verdicts.table({"gain, 30": row}).splitlines()[-1].split(" | ")
    assert cells[4].startswith("1: 10.0% (")
    assert cells[5].startswith("1 of 1: 100.0% (")
