"""The notes for authors that can be recomputed from the printed tables."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from securefair_lab.papers.algorithms.mean_estimation import cycle_lower_bound, figure_8
from securefair_lab.papers.stored import stored_result

NOTES = Path(__file__).parents[3] / "docs" / "notebook" / "errata.md"
Rows = Callable[[str], Sequence[Mapping[str, Any]]]


@pytest.fixture
def rows(papers: Path) -> Rows:
    """The rows of a printed table, by a name such as cycle.table1."""

    def read(table: str) -> Sequence[Mapping[str, Any]]:
        paper = json.loads((papers / f"{table.partition('.')[0]}.json").read_text("utf-8"))
        found: Sequence[Mapping[str, Any]] = next(
            t["rows"] for t in paper["tables"] if t["id"] == table
        )
        return found

    return read


def the(rows: Sequence[Mapping[str, Any]], **fields: object) -> Mapping[str, Any]:
    """The metrics of the only row with these fields."""
    (row,) = [row for row in rows if all(row.get(key) == v for key, v in fields.items())]
    metrics: Mapping[str, Any] = row["metrics"]
    return metrics


def test_notes_are_numbered_and_each_says_what_we_do() -> None:
    lines = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in NOTES.read_text(encoding="utf-8").splitlines()
        if re.match(r"\| \d+ \|", line)
    ]
    assert [int(cells[0]) for cells in lines] == list(range(1, len(lines) + 1))
    assert len(lines) >= 37
    assert all(len(cells) == 5 and all(cells) for cells in lines)


def test_cycles_spread_divides_by_n(rows: Rows) -> None:
    table = rows("cycle.table13")
    gains = []
    for row in table:
        if row["method"] != "Standalone":
            (alone,) = [
                other["per_participant"]
                for other in table
                if other["method"] == "Standalone"
                and (other["split"], other["model"]) == (row["split"], row["model"])
            ]
            own = [a - b for a, b in zip(row["per_participant"], alone, strict=True)]
            gains.append((own, row["metrics"]["CGS"]))
    assert len(gains) == 35
    assert all(statistics.pstdev(own) == pytest.approx(cgs, abs=0.011) for own, cgs in gains)
    assert not any(statistics.stdev(own) == pytest.approx(cgs, abs=0.011) for own, cgs in gains)


def test_cycles_first_table_differs_from_the_others(rows: Rows) -> None:
    mine: dict[str, Any] = {"method": "CYCle", "family": "PDL", "n": 5, "model": "ResNet18"}
    mine["dataset"] = "CIFAR-10"
    for split, first, others in (
        ("homogeneous", (86.33, 2.93, 0.32), (86.24, 2.84, 0.37)),
        ("dirichlet(0.5)", (None, None, 2.07), (None, None, 2.13)),
    ):
        for table, expected in (
            ("cycle.table1", first),
            ("cycle.table2", others),
            ("cycle.table13", others),
        ):
            found = the(rows(table), split=split, **mine)
            for name, value in zip(("MVA", "MCG", "CGS"), expected, strict=True):
                assert value is None or found[name] == value


def test_cycles_blocks_start_at_different_accuracies(rows: Rows) -> None:
    setting = {"split": "homogeneous", "n": 5, "dataset": "CIFAR-10"}
    table = rows("cycle.table2")
    starts = []
    for method, family in (("VPDL", "PDL"), ("Gossip-SGD", "gossip")):
        found = the(table, method=method, family=family, **setting)
        starts.append(found["MVA"] - found["MCG"])
    assert starts == pytest.approx([83.4, 75.2], abs=0.05)
    missing = [row for row in table if row["metrics"].get("MVA") is None]
    assert [(row["split"], row["n"]) for row in missing] == [("dirichlet(5.0)", 10)] * 2


def test_cycles_highest_mean_gain_is_fedavgs(rows: Rows) -> None:
    """Appendix G.8, over the ten divisions of Tables 1 and 10."""
    found = {
        (method, metric): statistics.mean(
            row["metrics"][metric]
            for table in ("cycle.table1", "cycle.table10")
            for row in rows(table)
            if (row["method"], row["model"]) == (method, "ResNet18")
        )
        for method in ("FedAvg", "CYCle", "VPDL")
        for metric in ("MCG", "CGS")
    }
    assert (round(found["FedAvg", "MCG"], 1), round(found["CYCle", "MCG"], 1)) == (13.6, 4.4)
    assert min(found[method, "CGS"] for method in ("FedAvg", "CYCle", "VPDL")) == pytest.approx(
        2.1, abs=0.05
    )


def test_theorem_4_1_promises_an_eighth_at_most() -> None:
    assert cycle_lower_bound(1e9) == pytest.approx(1 / 8)
    (least,) = figure_8([1.5], deviation=0.3).cycle.participant_1
    assert f"usefulness falls to {least:.2f}" in NOTES.read_text(encoding="utf-8")


def test_our_largest_participant_is_better_alone() -> None:
    """FairSL's Section 6, by the stored result."""
    level = {
        number.fields["method"]: number.ours
        for number in stored_result("fairsl-figure9").numbers
        if (number.fields["dataset"], number.metric) == ("Auction Verification", "P3")
    }
    alone, fair = level["local"], level["fair SL (random forest)"]
    words = f"has {alone:.1f} alone and {fair:.1f} with the others' trees"
    assert words in NOTES.read_text(encoding="utf-8")


def test_dpfls_smallest_budget_is_one(rows: Rows) -> None:
    first = the(rows("dpfl.table1"), budget="0.05N", dataset="CIFAR10", split="dirichlet(0.1)")
    ditto = the(rows("dpfl.table1"), method="Ditto", dataset="CIFAR10", split="dirichlet(0.1)")
    assert (first["accuracy"], ditto["accuracy"]) == (82.91, 83.1)
    second = [row["metrics"]["accuracy"] for row in rows("dpfl.table2")]
    assert first["accuracy"] in second
    writers = {"dataset": "FEMNIST"}
    best = max(
        row["metrics"]["accuracy"]
        for row in rows("dpfl.table1")
        if row["dataset"] == "FEMNIST" and row["method"].startswith("DPFL")
    )
    tuned = the(rows("dpfl.table1"), method="FedProx+FT", **writers)["accuracy"]
    assert best - tuned == pytest.approx(0.7, abs=0.05)


def test_dpfl_has_twelve_benchmarks_and_rows_of_epochs(rows: Rows) -> None:
    methods = {row["method"] for row in rows("dpfl.table1")}
    assert len({name for name in methods if not name.startswith("DPFL")}) == 12
    last = [row["metrics"]["accuracy"] for row in rows("dpfl.table3") if row["tau_init"] == 10]
    patho = [
        row["metrics"]["accuracy"]
        for row in rows("dpfl.table1")
        if (row["dataset"], row["split"], row["method"]) == ("CIFAR10", "patho(3)", "DPFL")
    ]
    assert sorted(round(value, 1) for value in last) == sorted(round(v, 1) for v in patho)


def test_ten_peers_of_a_hundred_leave_more_than_88_percent() -> None:
    assert 1 - 10 / 99 > 0.88


def test_cffls_pretraining_is_fairer_in_five_of_twelve(rows: Rows) -> None:
    fairness = {
        (row["dataset"], row["n"], row["theta_u"], row["pretrain"]): row["metrics"]["fairness"]
        for row in rows("cffl.table1")
        if row["method"] == "CFFL"
    }
    settings = {key[:3] for key in fairness}
    fairer = [key for key in settings if fairness[(*key, True)] > fairness[(*key, False)]]
    assert (len(fairer), len(settings)) == (5, 12)
    adult = {"dataset": "Adult", "n": 5}
    pretrained = the(rows("cffl.table2"), method="CFFL", pretrain=True, **adult)
    alone = the(rows("cffl.table2"), method="Standalone", **adult)
    assert (pretrained["max_accuracy"], alone["max_accuracy"]) == (81.89, 81.93)
