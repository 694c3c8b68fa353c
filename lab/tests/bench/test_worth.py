"""The pages on worth show the rows that were measured, and say where they miss a goal."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from securefair.model.transfer.sums.register import AUTO

ROOT = Path(__file__).parents[3]
MANUAL = ROOT / "docs" / "worth.md"
PAGE = ROOT / "docs" / "notebook" / "worth.md"
CHANCE = 0.16


@pytest.fixture
def stored(monkeypatch):
    """The module that reads the rows, and the rows."""
    monkeypatch.syspath_prepend(ROOT / "bench")
    module = importlib.import_module("worth_rows")
    return module, module.kept(module.ROWS)


def test_every_data_set_is_stored(stored):
    module, rows = stored
    assert list(rows) == list(module.DATA_SETS)


def test_the_page_shows_the_stored_rows(stored):
    module, rows = stored
    page = PAGE.read_text()
    for name, table in module.tables(rows).items():
        shown = re.search(rf"<!-- {name} -->\n\n(.*?)\n\n<!-- /{name} -->", page, re.S)
        assert shown is not None, name
        assert shown[1] == table


def test_the_manual_shows_them_in_short(stored):
    _, rows = stored
    sums = importlib.import_module("worth_sums")
    today = msgspec.json.decode(sums.ROWS.read_bytes(), type=dict[str, dict])
    lines = MANUAL.read_text("utf-8").splitlines()
    for name, r in rows.items():
        (line,) = [line for line in lines if line.startswith(f"| {name} |")]
        assert line == (
            f"| {name} | {r.alone:.3f} | {r.averaged_alone:+.3f} | {r.pooled:+.3f} "
            f"| **{r.transfer:+.3f}** ± {r.error:.3f} | {r.share:.2f} | {r.auc[1]:+.1f} "
            f"| {today[name]['changes'][AUTO]:+.3f} |"
        )


def test_the_goals_are_reached(stored):
    """Share of pooling's gain, hospitals that lose, and one hospital with inverted labels."""
    module, rows = stored
    shares = [rows[name].share for name in module.GOALS]
    assert np.mean(shares) >= 0.65
    assert min(shares) >= 0.5
    for name, row in rows.items():
        assert row.worse <= CHANCE, name
        assert row.inverted.honest <= row.inverted.error, name
        assert row.inverted.weight <= 0, name
    assert rows["heart, all"].transfer <= 0


def test_the_default_is_the_smallest_answer_that_keeps_the_gain(stored):
    from securefair.config.transfer import TransferSection

    module, rows = stored
    totals = {q: sum(row.numbers[q] for row in rows.values()) for q in module.METHODS}
    assert module.enough(totals) == TransferSection.model_fields["q"].default


def test_the_manual_shows_rivals_in_short(stored):
    _, rows = stored
    lines = MANUAL.read_text("utf-8").splitlines()
    names = {
        "averaged alone, all families": "averaged alone",
        "random forest alone": "forest alone",
        "ensemble alone (fits, forest, Gaussian process)": "ensemble alone",
        "mean of everybody's fits": "FedAvg of fits",
        "**transfer, answers**": "transfer",
        'answers, `fit = "trees"`': "transfer, trees",
        "pooled ensemble": "pooled ensemble",
    }
    measured = [row.rivals.changes for row in rows.values() if row.rivals is not None]
    for shown, method in names.items():
        (line,) = [line for line in lines if line.startswith(f"| {shown} | ")]
        cells = re.findall(r"[+-]0\.\d{3}", line)
        changes = [changes[method] for changes in measured]
        assert cells == [f"{change:+.3f}" for change in (*changes, np.mean(changes))]


def test_transfer_beats_what_a_hospital_has_alone_where_rivals_were_measured(stored):
    _, rows = stored
    for name, row in rows.items():
        if row.rivals is not None:
            found = row.rivals.changes
            alone = min(found[one] for one in ("averaged alone", "forest alone", "ensemble alone"))
            assert found["transfer"] < alone + 0.001, name
            assert found["transfer, trees"] < found["transfer"] + 0.003, name


def test_the_page_shows_twelve_other_tables(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    module = importlib.import_module("worth_tables")
    rows = module.kept(module.RESULTS)
    assert list(rows) == list(module.TABLES)
    assert len(rows) == 12
    shown = re.search(r"<!-- tables -->\n\n(.*?)\n\n<!-- /tables -->", PAGE.read_text(), re.S)
    assert shown is not None
    sums = module.summed(rows, module.SUMS)
    assert list(sums) == list(rows)
    assert shown[1] == module.told(rows, sums)


def test_sums_of_other_divisions_are_not_set_beside_a_table(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    module = importlib.import_module("worth_tables")
    rows = module.kept(module.RESULTS)
    fewer = {name: msgspec.structs.replace(row, seeds=row.seeds - 1) for name, row in rows.items()}
    assert module.summed(fewer, module.SUMS) == {}
