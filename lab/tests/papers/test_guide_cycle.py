"""Sentences of the guide on CYCle's gains and reputations, with the numbers that are stored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from statistics import mean, stdev

import pytest

from securefair_lab.papers.capride_code import FRESH, FROZEN

ROOT = Path(__file__).parents[3]
GUIDE = " ".join(
    (ROOT / "docs" / "notebook" / "reproduction.md").read_text(encoding="utf-8").split()
)
READINGS = ("softened", "plain")
SKEWED = "dirichlet(0.5)"
UNEQUAL = ("imbalanced(0.8,1)", "imbalanced(0.35,2)", "imbalanced(0.6,1)")
Each = Callable[..., list[float]]


@pytest.fixture
def each(monkeypatch: pytest.MonkeyPatch) -> Iterator[Each]:
    """(experiment, metric, fields) -> the number of every seed."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    cells = import_module("stored_cells")

    def found(experiment: str, metric: str, **fields: object) -> list[float]:
        return list(cells.numbers(experiment, fields).numbers[metric].each)

    yield found
    sys.modules.pop("stored_cells", None)


def apart(first: list[float], second: list[float]) -> list[float]:
    """Seed by seed."""
    return [a - b for a, b in zip(first, second, strict=True)]


def cycle_less(each: Each, method: str, metric: str, split: str, reading: str) -> list[float]:
    """By how much CYCle is below a method in Figure 3."""
    own = each("cycle-figure3", metric, split=split, method="CYCle", alignment=reading)
    return apart(each("cycle-figure3", metric, split=split, method=method), own)


def test_gains_are_less_than_vpdls(each: Each) -> None:
    soft, plain = (
        {
            split: mean(cycle_less(each, "VPDL", "MCG", split, reading))
            for split in ("homogeneous", SKEWED, *UNEQUAL)
        }
        for reading in READINGS
    )
    skewed = f"{soft.pop(SKEWED):.1f} and {plain.pop(SKEWED):.1f} less on dirichlet(0.5)"
    assert min(*soft.values(), *plain.values()) > 0
    assert (
        f"{min(soft.values()):.1f} to {max(soft.values()):.1f} points less with softened "
        f"alignment, {min(plain.values()):.1f} to {max(plain.values()):.1f} less with plain, and "
        f"{skewed}."
    ) in GUIDE


def test_spreads_on_imbalanced_splits(each: Each) -> None:
    less = {
        (method, reading): [cycle_less(each, method, "CGS", split, reading) for split in UNEQUAL]
        for method in ("FedAvg", "VPDL")
        for reading in READINGS
    }
    span = {
        key: f"{min(map(mean, own)):.1f} to {max(map(mean, own)):.1f}" for key, own in less.items()
    }
    assert all(min(own) > 0 for key in less if key[1] == "softened" for own in less[key])
    assert [min(own) > 0 for own in less["VPDL", "plain"]].count(True) == 2
    assert (
        f"{span['FedAvg', 'softened']} points less than FedAvg's, {span['VPDL', 'softened']} less "
        f"than VPDL's in the mean. With plain alignment {span['FedAvg', 'plain']} less than "
        f"FedAvg's, but {span['VPDL', 'plain']} less than VPDL's, with every seed on two of three."
    ) in GUIDE


def test_who_loses(each: Each) -> None:
    name, metric, split = "cycle-figure3", "least gain", "imbalanced(0.8,1)"
    least = min(
        min(each(name, metric, split=one, method="CYCle", alignment="softened"))
        for one in ("homogeneous", *UNEQUAL)
    )
    assert f"The least of them gains {least:.2f} points" in GUIDE

    def losses(**fields: object) -> str:
        found = each(name, metric, split=split, **fields)
        return " and ".join(f"{-value:.2f}" for value in sorted(found) if value < 0)

    assert f"two of three seeds ({losses(method='CYCle', alignment='plain')})" in GUIDE
    assert f"By VPDL, too ({losses(method='VPDL')}), as the paper says" in GUIDE
    assert losses(method="FedAvg") == ""


def test_reputations_of_a_large_participant(each: Each) -> None:
    cells, falls = [], []
    for reading in READINGS:
        found = {
            (split, metric): each("cycle-figure5", metric, split=split, alignment=reading)
            for split in UNEQUAL[::2]
            for metric in ("of P1", "of the others", "of P1 at first", "of the others at first")
        }
        told = {key: f"{mean(own):.2f} ± {stdev(own):.2f}" for key, own in found.items()}
        cells.append(
            "; ".join(
                f"{told[split, 'of P1']} against {told[split, 'of the others']}"
                for split in UNEQUAL[::2]
            )
        )
        falls.append(
            [
                " and ".join(f"{mean(found[split, metric]):.2f}" for split in UNEQUAL[::2])
                for metric in ("of P1 at first", "of the others at first")
            ]
        )
    assert f"| yes: {cells[0]} | by less: {cells[1]} |" in GUIDE
    assert (
        f"| no: it falls, too, from {falls[0][0]} (the others' from {falls[0][1]}) | "
        f"no: from {falls[1][0]} ({falls[1][1]}) |"
    ) in GUIDE


def test_reputations_among_equals_and_on_a_skewed_division(each: Each) -> None:
    name, equal, skewed = "cycle-figure12", [], []
    for reading in READINGS:
        first, last = (
            mean(each(name, metric, split="homogeneous", alignment=reading))
            for metric in ("of all at first", "of all")
        )
        equal.append(f"{first:.2f} to {last:.2f}")
        skewed.append(f"{mean(each(name, 'of all', split=SKEWED, alignment=reading)):.2f}")
        least = each("cycle-figure3", "least gain", split=SKEWED, method="CYCle", alignment=reading)
        assert sum(value < 0 for value in least) == 1
    assert f"| reputations fall over time among equals | {equal[0]} | {equal[1]} |" in GUIDE
    assert f"| no: reputations are {skewed[0]} on average and leave nearly nothing" in GUIDE
    assert f"| no: they are {skewed[1]} on average, and somebody loses in one of three |" in GUIDE


def test_two_participants(each: Each) -> None:
    def beside(method: str, metric: str, split: str, **own: object) -> str:
        found = each("cycle-table6", metric, split=split, method="CYCle", **own)
        by = apart(found, each("cycle-table6", metric, split=split, method=method))
        return f"{mean(by):+.1f} ± {stdev(by):.1f}"

    plain = {"links": None}
    splits = ("homogeneous", SKEWED, "dirichlet(2.0)", "dirichlet(5.0)")
    gain = [beside("VPDL", "MCG", split, **plain) for split in splits]
    assert (
        f"Seed by seed its mean gain is {gain[1][1:]} points less on dirichlet(0.5), where it has "
        f"next to none, and {gain[2][1:]} less on dirichlet(2.0). On the other two no order can be "
        f"told ({gain[0]} on the homogeneous split, {gain[3]} on dirichlet(5.0))."
    ) in GUIDE
    spread = ", ".join(beside("VPDL", "CGS", split, **plain) for split in splits)
    assert f"differences from VPDL's ({spread}) show nothing" in GUIDE
    gossip = beside("Gossip-SGD", "MCG", "homogeneous", links="relative")
    assert f"nearly as much as by Gossip-SGD ({gossip})" in GUIDE
    losing = [
        min(each("cycle-table6", "least gain", split=split, method="CYCle", **own))
        for split in splits
        for own in (plain, {"links": "relative"})
    ]
    assert min(losing) >= 0


def test_what_the_published_code_of_capride_changes(each: Each) -> None:
    def gain(n: int, answers: str, divisions: int) -> list[float]:
        return each("capride-code", "MCG", n=n, answers=answers, divisions=divisions)

    def told(first: list[float], second: list[float]) -> str:
        by = apart(first, second)
        return f"{mean(by):.1f} ± {stdev(by):.1f}"

    fresh = told(gain(2, FRESH, 2), gain(2, FROZEN, 2))
    assert f"Fresh answers gain {fresh} points more than frozen ones there" in GUIDE
    once = [told(gain(n, FROZEN, 2), gain(n, FROZEN, 1)) for n in (5, 10)]
    assert f"takes {once[0]} points from VPDL among five and {once[1]} among ten" in GUIDE
    usual = [
        mean(each(name, "MCG", split="homogeneous", n=n, method="VPDL"))
        for name, n in (("cycle-table6", 2), ("cycle-table2", 5), ("cycle-table2", 10))
    ]
    assert (
        f"({usual[0]:.1f} among two, {usual[1]:.1f} among five, {usual[2]:.1f} among ten;"
    ) in GUIDE
    own = [mean(gain(n, FRESH, 2)) for n in (2, 5, 10)]
    assert all(a < b for a, b in zip(own, usual, strict=True))


@pytest.mark.parametrize("n", [2, 5, 10])
def test_how_many_inferences_the_published_code_takes(n: int) -> None:
    images, epochs, seconds = 50_000 // n, 75, 3.44
    inferences = images * epochs * (n - 1)
    days = images * epochs * seconds / 86_400
    assert (
        f"| {n} | {images:,} | {images * epochs:,} | {inferences:,} | {n * inferences:,} | "
        f"{days:.0f} |"
    ) in GUIDE
