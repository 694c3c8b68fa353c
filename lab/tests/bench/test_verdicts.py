"""The script that asks whether a report tells the truth, on a few draws."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def verdicts(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "bench")
    return importlib.import_module("verdicts")


def test_truth_is_known_and_nobody_is_told_the_opposite(verdicts, monkeypatch):
    monkeypatch.setattr(verdicts, "TRUTH", 4000)
    row = verdicts.measure("gain", 2)
    assert row.hospitals == 2 * verdicts.HOSPITALS
    assert row.better > row.worse
    assert row.falsely_better == 0
    assert row.told_better >= row.falsely_better


def test_a_table_counts_what_was_told(verdicts):
    row = verdicts.Row(
        hospitals=20,
        better=10,
        worse=2,
        told_better=4,
        falsely_better=1,
        told_worse=0,
        falsely_worse=0,
        power=0.3,
    )
    assert "| gain | 20 | 10 / 2 | 4 | 1 (5.0% of all) | 0 | 0 (0.0%) | 30% |" in verdicts.table(
        {"gain": row}
    )
