"""Sentences of the guide, with the numbers that the stored results have now."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import mean
from types import ModuleType

import pytest

from securefair_lab.papers.comparison import rows_of
from securefair_lab.papers.cycle_rates import best_rate
from securefair_lab.papers.experiment import Row
from securefair_lab.papers.lambda_choice import advantage
from securefair_lab.papers.stored import stored_result

ROOT = Path(__file__).parents[3]
GUIDE = " ".join(
    (ROOT / "docs" / "notebook" / "reproduction.md").read_text(encoding="utf-8").split()
)
WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven")


@pytest.fixture(scope="module")
def cells() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "bench"))
    yield import_module("stored_cells")
    sys.path.remove(str(ROOT / "bench"))


@pytest.fixture
def lambdas() -> list[Row]:
    return rows_of(stored_result("cycle-lambda"))


def between(values: Sequence[float], digits: int = 1) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def above(found: Mapping[str, float]) -> list[float]:
    return [value for value in found.values() if value > 0]


def of(cells: ModuleType, experiment: str, metric: str, **fields: object) -> float:
    found: float = cells.numbers(experiment, fields).numbers[metric].ours
    return found


def test_at_the_printed_lambda(lambdas: list[Row]) -> None:
    soft, plain = (above(advantage(lambdas, 50.0, "MCG", one)) for one in ("softened", "plain"))
    assert (
        "At the printed lambda_0 = 50 the paper's order holds on "
        f"{WORDS[len(soft)]} of seven splits with softened alignment, by {between(soft)} points. "
        f"With plain alignment it holds on {WORDS[len(plain)]} of seven, by {between(plain)}."
    ) in GUIDE


def test_at_a_large_and_at_the_best_lambda(lambdas: list[Row]) -> None:
    for reading in ("softened", "plain"):
        assert len(above(advantage(lambdas, 200.0, "MCG", reading))) == 7
    assert "At 200 it holds on all seven" in GUIDE
    best = advantage(lambdas, None, "MCG", "plain")
    worst = best.pop("dirichlet(0.5)")
    assert (
        f"with plain alignment CYCle is within {max(map(abs, best.values())):.1f} points of VPDL, "
        f"above it on {WORDS[len(above(best))]} splits by at most {max(best.values()):.1f}, and "
        f"{-worst:.1f} points below it on dirichlet(0.5)."
    ) in GUIDE


def test_each_at_the_rate_that_held_out_images_choose(cells: ModuleType) -> None:
    rows = rows_of(stored_result("cycle-rates"))
    told = []
    for method in ("VPDL", "CYCle", "Standalone"):
        rate = best_rate(rows, method)
        told.append(f"{of(cells, 'cycle-rates', 'MVA', method=method, learning_rate=rate):.1f}")
    assert (
        f"each at its chosen rate, VPDL reaches {told[0]}, CYCle {told[1]} and training alone "
        f"{told[2]} %."
    ) in GUIDE


def test_flippers(cells: ModuleType) -> None:
    soft, plain = (
        of(cells, "cycle-table3", "reputation of flippers", flip_rate=1.0, alignment=reading)
        for reading in ("softened", "plain")
    )
    row = f"| who flips all labels gets reputation 0 | yes: {soft:.2f} | no: {plain:.2f} |"
    assert row in GUIDE


def test_thresholds(cells: ModuleType) -> None:
    gain, spread = (
        [
            mean(
                of(cells, "cycle-figure22", metric, tau_opt=low, tau_max=high)
                for high in (0.6, 0.75, 0.9)
            )
            for low in (0.1, 0.25)
        ]
        for metric in ("MCG", "CGS")
    )
    assert (
        f"smaller they are ({gain[0]:.1f} against {gain[1]:.1f} on average). Their spread is "
        f"{spread[0]:.2f} against {spread[1]:.2f}"
    ) in GUIDE


def test_twenty_participants(cells: ModuleType) -> None:
    name = "cycle-table12"
    share = 100 * of(cells, name, "MCG", links="relative")
    share /= of(cells, name, "MCG", method="Gossip-SGD")
    assert of(cells, name, "least gain", links="relative") > 0
    assert (
        f"With relative links everyone gains, on average {share:.0f} % of what Gossip-SGD gains"
    ) in GUIDE


def test_the_free_rider(cells: ModuleType) -> None:
    cost = cells.numbers("cffl-free-rider", {}).numbers["cost to the honest"]
    assert f"the honest lose {cost.ours:.2f} ± {cost.spread:.2f} points (three seeds)" in GUIDE


def test_how_much_less_is_answered(cells: ModuleType) -> None:
    """Of what VPDL answers, on equal and imbalanced splits, and on Dirichlet's."""
    row = "| 35 to 50 % fewer answers than VPDL "
    for reading in ("softened", "plain"):
        saved = {
            str(number.fields["split"]): 100 - number.ours
            for name in ("cycle-figure5", "cycle-figure12")
            for number in stored_result(name).numbers
            if number.metric == "answered" and number.fields["alignment"] == reading
        }
        skewed = saved.pop("dirichlet(0.5)")
        least, most = (f"{value:.0f}" for value in (min(saved.values()), max(saved.values())))
        row += f"| {least} to {most} %, on Dirichlet {skewed:.0f} % "
    assert f"{row}|" in GUIDE


def test_skin_lesions(cells: ModuleType) -> None:
    gain = {
        name: of(cells, "cycle-table7", "MCG", **fields)
        for name, fields in (
            ("CYCle", {"links": "relative"}),
            ("Gossip-SGD", {"method": "Gossip-SGD", "topology": "complete"}),
        )
    }
    share = 100 * gain["CYCle"] / gain["Gossip-SGD"]
    assert f"CYCle's mean gain is {share:.0f} % of Gossip-SGD's" in GUIDE
    told = []
    for links in ("relative", "as printed"):
        own = cells.numbers("cycle-figure14", {"links": links}).numbers["P2 from P1"]
        told.append(f"{own.ours:.0f} ± {own.spread:.0f} %")
    assert (
        f"here it is {told[0]} of 30 rounds with relative links and {told[1]} as printed" in GUIDE
    )


def test_centres_that_lose(cells: ModuleType) -> None:
    least = cells.numbers("cycle-table7", {"links": "relative"}).numbers["least gain"].each
    lost = sorted(-value for value in least if value < 0)
    assert (
        f"a centre loses with {WORDS[len(lost)]} of three seeds, "
        f"{' and '.join(f'{value:.1f}' for value in lost)} points"
    ) in GUIDE


def test_more_imbalanced_divisions(cells: ModuleType) -> None:
    name, apart = "cycle-table10", {}
    for (split,) in cells.fields_of(name, "split"):
        mine, theirs = (
            cells.numbers(name, {"split": split, "method": method}).numbers["CGS"].each
            for method in ("CYCle", "VPDL")
        )
        apart[split] = [a - b for a, b in zip(mine, theirs, strict=True)]
    less = [-mean(each) for each in apart.values() if max(each) < 0]
    assert (
        f"less than VPDL's on {WORDS[len(less)]} of five, by {between(less, 2)} points in the mean"
    ) in GUIDE


def test_ten_divisions(cells: ModuleType) -> None:
    """What Figure 21 shares with Figure 3 are the same runs."""
    ten = stored_result("cycle-figure21").numbers
    five = stored_result("cycle-figure3").numbers
    alike = {str((sorted(number.fields.items()), number.metric)): number.ours for number in five}
    shared = [
        number.ours == alike[key]
        for number in ten
        if (key := str((sorted(number.fields.items()), number.metric))) in alike
    ]
    assert len(shared) > 50
    assert all(shared)
    spread, gain = (
        {
            method: mean(
                number.ours
                for number in ten
                if number.metric == metric
                and number.fields["method"] == method
                and number.fields.get("alignment") != "plain"
            )
            for method in ("CYCle", "VPDL", "FedAvg")
        }
        for metric in ("CGS", "MCG")
    )
    assert (
        f"the smallest spread: {spread['CYCle']:.1f} points on average against "
        f"{spread['VPDL']:.1f} (VPDL) and {spread['FedAvg']:.1f} (FedAvg). But it does not gain "
        f"more than VPDL: {gain['CYCle']:.1f} against {gain['VPDL']:.1f}."
    ) in GUIDE


def printed_rule(cells: ModuleType, pretrain: bool, rate: float) -> ModuleType:
    return cells.numbers(
        "cffl-table1",
        {
            "dataset": "Adult",
            "method": "CFFL, reward as printed",
            "pretrain": pretrain,
            "theta_u": rate,
        },
    ).numbers["fairness"]


def test_fairness_on_adult(cells: ModuleType) -> None:
    low, high = (printed_rule(cells, False, rate) for rate in (0.1, 1.0))
    assert (
        f"on Adult it is {low.ours:.1f} ± {low.spread:.1f} and {high.ours:.1f} ± {high.spread:.1f} "
        "without pretraining"
    ) in GUIDE
    assert f"on Adult fairness falls to {low.ours:.1f} and {high.ours:.1f};" in GUIDE
    ours = [
        of(cells, "cffl-table1", "fairness", **common, pretrain=False)
        - of(cells, "cffl-table1", "fairness", **common, pretrain=True)
        for rate in (0.1, 1.0)
        for common in ({"dataset": "Adult", "method": "CFFL", "theta_u": rate},)
    ]
    printed = [
        printed_rule(cells, True, rate).ours - printed_rule(cells, False, rate).ours
        for rate in (0.1, 1.0)
    ]
    assert (
        f"on Adult it is less fair by {ours[0]:.1f} and {ours[1]:.1f}, by the printed rule fairer "
        f"by {printed[0]:.1f} and {printed[1]:.1f};"
    ) in GUIDE
