"""DPFL's claims, judged on rows made by hand, and the methods that its tables compare."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.dpfl_methods import BASELINES, PERSONALISED
from securefair_lab.papers.dpfl_settings import BUDGETS
from securefair_lab.papers.experiment import Row


def row(method: str, accuracy: float, **fields: str) -> Row:
    metrics = {"accuracy": accuracy, "variance": 100 - accuracy}
    found = {"method": method, "dataset": "CIFAR10", "split": "dirichlet(0.1)", **fields}
    return Row(fields=found, metrics=metrics, spread={}, paper={})


def claim(experiment: str, rows: list[Row], *words: str) -> bool:
    (found,) = (c for c in EXPERIMENTS[experiment].claims if all(word in c.words for word in words))
    return found.holds(rows)


def test_every_budget_must_be_above() -> None:
    rows = [row("DPFL", 70 + n, budget=budget) for n, budget in enumerate(BUDGETS)]
    of = ("above FedAvg,", "dirichlet")
    assert claim("dpfl-table1", [*rows, row("FedAvg", 69)], *of)
    assert not claim("dpfl-table1", [*rows, row("FedAvg", 71)], *of)


def test_data_sets_are_not_compared_with_each_other() -> None:
    rows = [row("DPFL", 80, budget=budget) for budget in BUDGETS]
    rows += [row("DPFL", 60, budget=budget, dataset="CINIC10") for budget in BUDGETS]
    of = ("above FedAvg,", "dirichlet")
    assert claim(
        "dpfl-table1", [row("FedAvg", 79), row("FedAvg", 59, dataset="CINIC10"), *rows], *of
    )
    assert not claim("dpfl-table1", [*rows, row("FedAvg", 61, dataset="CINIC10")], *of)


def test_every_personalised_method_must_be_below_but_where_peers_are_fewest() -> None:
    rows = [row("DPFL", 73 - n, budget=budget) for n, budget in enumerate(BUDGETS)]
    others = [row(method.name, 60 + n) for n, method in enumerate(PERSONALISED)]
    of = ("every other personalised method", "dirichlet")
    assert claim("dpfl-table1", [*rows, *others[1:], row("APFL", 70.5)], *of)
    assert not claim("dpfl-table1", [*rows, *others[1:], row("APFL", 71.5)], *of)


def test_variance_must_be_below_under_every_budget() -> None:
    rows = [row("DPFL", 70 + n, budget=budget) for n, budget in enumerate(BUDGETS)]
    of = ("Local Only", "dirichlet")
    assert claim("dpfl-figure1", [*rows, row("Local Only", 69)], *of)
    assert not claim("dpfl-figure1", [*rows, row("Local Only", 70)], *of)


@pytest.mark.parametrize(
    ("alone", "fewer", "holds"),
    [(68, 69.1, True), (68, 68.9, False), (71.5, 72, False)],
)
def test_partial_participation_leaves_a_third_of_what_there_is(
    alone: float, fewer: float, holds: bool
) -> None:
    rows = [row("DPFL", 70 + n, budget=budget) for n, budget in enumerate(BUDGETS)]
    partial = row("DPFL", fewer, budget=BUDGETS[1], participation="partial")
    assert claim("dpfl-table5", [row("Local Only", alone), *rows, partial]) is holds
    assert not claim("dpfl-table5", [*rows, partial])


def test_chosen_collaborators_are_compared_by_budget() -> None:
    rows = [row("DPFL", 70, budget="0.2N"), row("DPFL", 69, budget="0.1N")]
    drawn: Mapping[str, float] = {"0.2N": 69, "0.1N": 69.5}
    random = [row("DPFL", value, budget=b, graph="random") for b, value in drawn.items()]
    assert not claim("dpfl-figure4", [*rows, *random])
    assert claim("dpfl-figure4", [*rows, random[0]])


def test_methods_are_named_and_ordered_as_in_the_paper() -> None:
    assert [method.name for method in BASELINES] == [
        *("FedAvg", "FedAvg+FT", "FedProx", "FedProx+FT", "APFL", "PerFedAvg", "Ditto", "FedRep"),
        *("kNN-Per", "PACFL", "pFedGraph"),
    ]


@pytest.mark.parametrize(("share", "holds"), [(9.9, True), (10.0, False)])
def test_harmful_links_are_judged_by_division(share: float, holds: bool) -> None:
    def with_links(split: str, links: float) -> Row:
        fields = {"method": "DPFL", "split": split}
        return Row(fields=fields, metrics={"last harmful links": links}, spread={}, paper={})

    rows = [with_links("dirichlet(0.1)", 50)]
    assert not claim("dpfl-figure3", rows, "homogeneous")  # nothing there to judge
    rows.append(with_links("homogeneous", share))
    assert claim("dpfl-figure3", rows, "homogeneous") is holds
    assert not claim("dpfl-figure3", rows, "dirichlet")


def test_nobody_is_avoided_where_the_honest_have_no_links() -> None:
    metrics = {"last harmful links": 0.0, "last links of the honest": 0.0}
    fields = {"method": "DPFL", "split": "homogeneous"}
    rows = [Row(fields=fields, metrics=metrics, spread={}, paper={})]
    assert not claim("dpfl-figure3", rows, "homogeneous")


def test_permuted_labels_are_the_only_difference_where_data_are_even() -> None:
    settings = [
        (contender.fields["split"], contender.control)
        for contender in EXPERIMENTS["dpfl-figure3"].contenders("cpu", Path())
    ]
    one = [
        (split, control) for split in ("dirichlet(0.1)", "homogeneous") for control in (True, False)
    ]
    assert sorted(settings, key=str) == sorted([*one, one[1], one[3]], key=str)
