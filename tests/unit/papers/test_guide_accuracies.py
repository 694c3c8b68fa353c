"""Accuracies of DPFL and FairSL that the guide prints are those of the stored results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from securefair.papers.stored import stored_result

LINES = (
    (Path(__file__).parents[3] / "docs" / "reproduction.md").read_text(encoding="utf-8").split("\n")
)
DPFL_NAMES = {"FedAvg, tuned": "FedAvg+FT", "FedProx, tuned": "FedProx+FT"}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+\.\d+", text)]


def test_dpfls_first_table() -> None:
    start = LINES.index("| method | Dir(0.1) | Patho(3) | FEMNIST |")
    stored = stored_result("dpfl-table1")
    budgets = {"no budget": "inf"}
    checked = 0
    for line in LINES[start + 2 : start + 18]:
        label, *columns = cells(line)
        method, _, budget = label.partition(", ") if "DPFL" in label else (label, "", "")
        method, budget = DPFL_NAMES.get(method, method), budgets.get(budget, budget)
        for split, column in zip(("dirichlet(0.1)", "patho(3)", "natural"), columns, strict=True):
            (own,) = [
                n
                for n in stored.numbers
                if (n.fields["method"], n.fields["split"], n.metric) == (method, split, "accuracy")
                and n.fields.get("budget", "") == budget
            ]
            assert own.paper is not None
            found = [own.ours, own.spread, own.paper]
            assert numbers(column) == pytest.approx(found, abs=0.0501), (label, split)
            checked += 1
    assert checked == 48


@pytest.mark.parametrize("figure", [3, 5, 6, 8])
def test_fairsls_accuracies(figure: int) -> None:
    start = LINES.index("| figure | data | seeds | local | fair | standard |")
    (line,) = [text for text in LINES[start + 2 : start + 6] if text.startswith(f"| {figure} |")]
    stored = stored_result(f"fairsl-figure{figure}")
    _, _, seeds, *columns = cells(line)
    assert int(seeds) == stored.seeds
    methods = ("local", "fair SL (neural network)", "standard SL")
    for method, column in zip(methods, columns, strict=True):
        own = [n.ours for n in stored.numbers if n.fields["method"] == method]
        found = numbers(column)
        assert found == pytest.approx(own[: len(found)], abs=0.0501), method
