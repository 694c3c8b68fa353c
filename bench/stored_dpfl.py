"""The page's tables of DPFL's experiments, see `stored_tables`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import mean, stdev

from stored_cells import Column, Line, fields_of, markdown, numbers, ours, table

from securefair_lab.papers.comparison import ComparedNumber

BUDGETS = (("none", "inf"), ("0.2N", "0.2N"), ("0.1N", "0.1N"), ("0.05N", "0.05N"))
DIVISIONS = (("Dir(0.1)", "dirichlet(0.1)"), ("Patho(3)", "patho(3)"), ("FEMNIST", "natural"))
TUNED = {"FedAvg+FT": "FedAvg, tuned", "FedProx+FT": "FedProx, tuned"}
PERSONALISED = ("APFL", "PerFedAvg", "Ditto", "FedRep", "kNN-Per", "PACFL", "pFedGraph")


def accuracies() -> str:
    """All methods of DPFL's first table on all divisions."""
    lines = []
    for method, budget in fields_of("dpfl-table1", "method", "budget"):
        shown = "no budget" if budget == "inf" else budget
        name = f"{method}, {shown}" if budget else TUNED.get(str(method), str(method))
        lines.append(Line([name], {"method": method, "budget": budget}))
    columns = [
        Column(heading, ours("accuracy", paper=True), {"split": split})
        for heading, split in DIVISIONS
    ]
    return table("dpfl-table1", ["method"], lines, columns)


def beside_all() -> str:
    """By how much DPFL is above each other method, seed by seed."""
    others = ("FedAvg", "Local Only", "FedAvg+FT", *PERSONALISED)
    rows = [["division", "budget", *(TUNED.get(one, one) for one in others)]]
    for heading, split in DIVISIONS:
        for label, budget in BUDGETS:
            own = _accuracy("dpfl-table1", split=split, method="DPFL", budget=budget)
            told = [
                _above(own, _accuracy("dpfl-table1", split=split, method=one)) for one in others
            ]
            rows.append([heading, label, *told])
    return markdown(rows)


def _accuracy(experiment: str, **fields: object) -> ComparedNumber:
    return numbers(experiment, fields).numbers["accuracy"]


def _above(own: ComparedNumber, other: ComparedNumber) -> str:
    """The mean difference, with its spread where single seeds are stored."""
    if not own.each or not other.each:
        return f"{own.ours - other.ours:+.1f}"
    apart = [a - b for a, b in zip(own.each, other.each, strict=True)]
    return f"{mean(apart):+.1f} ± {stdev(apart):.1f}"


def changes() -> str:
    """By how much other ways to choose and to prepare are above the usual one, seed by seed."""
    ways: list[tuple[str, str, Mapping[str, object]]] = [
        ("a graph at random a round", "dpfl-table2", {"method": "Decentralized SGD"}),
        ("one random graph", "dpfl-figure4", {"graph": "random"}),
        ("tau_init = 1", "dpfl-table3", {"tau_init": 1}),
        ("tau_init = 2", "dpfl-table3", {"tau_init": 2}),
        ("P = 3", "dpfl-table4", {"period": 3}),
        ("P = 6", "dpfl-table4", {"period": 6}),
        ("partial participation", "dpfl-table5", {"participation": "partial"}),
        ("repeated BGGC", "dpfl-table6", {"method": "DPFL with repeated BGGC"}),
    ]
    rows = [["instead", "no budget", *(label for label, _ in BUDGETS[1:])]]
    for words, experiment, changed in ways:
        usual = {"method": "DPFL", **{key: None for key in changed if key != "method"}}
        told = []
        for _, budget in BUDGETS:
            here = numbers(experiment, {"budget": budget, **changed}).numbers
            if not here:  # a random graph has a budget
                told.append("")
                continue
            own = _accuracy(experiment, budget=budget, **usual)
            told.append(_above(here["accuracy"], own))
        rows.append([words, *told])
    return markdown(rows)


def variances() -> str:
    """How much accuracy varies over participants."""
    lines = [
        Line([TUNED.get(one, one)], {"method": one})
        for one in ("Local Only", "FedAvg+FT", "Ditto", "kNN-Per")
    ]
    for label, budget in BUDGETS:
        shown = "no budget" if label == "none" else label
        lines.append(Line([f"DPFL, {shown}"], {"method": "DPFL", "budget": budget}))
    columns = [Column(heading, ours("variance", 0), {"split": one}) for heading, one in DIVISIONS]
    return table("dpfl-table1", ["method"], lines, columns)


def by_budget(columns: Sequence[Column], *, fewest: int = 0) -> str:
    """A line for each budget."""
    lines = [Line([label], {"budget": budget}) for label, budget in BUDGETS[fewest:]]
    return table("", ["budget"], lines, columns)


def chosen_or_random() -> str:
    """DPFL against graphs at random."""
    return by_budget(
        [
            Column(
                "decentralised SGD, a graph a round",
                ours("accuracy", paper=True),
                {"method": "Decentralized SGD"},
                "dpfl-table2",
            ),
            Column(
                "DPFL on one random graph (Figure 4)",
                ours("accuracy"),
                {"graph": "random"},
                "dpfl-figure4",
            ),
            Column("DPFL", ours("accuracy", paper=True), {"method": "DPFL"}, "dpfl-table2"),
        ],
        fewest=1,
    )


def settings(experiment: str, key: str, values: Mapping[object, str]) -> str:
    """DPFL under every budget by one of its settings, the usual one as None."""
    lines = [Line([label], {"method": "DPFL", key: value}) for value, label in values.items()]
    columns = [
        Column("no budget" if label == "none" else label, ours("accuracy", paper=True), own)
        for label, budget in BUDGETS
        for own in ({"budget": budget},)
    ]
    return table(experiment, [key.replace("period", "P")], lines, columns)


def partial_and_repeated() -> str:
    """Fewer participants in a round, and choices among all in every round."""
    usual, accuracy = {"method": "DPFL", "participation": None}, ours("accuracy", paper=True)
    fewer = {"method": "DPFL", "participation": "partial"}
    repeated = {"method": "DPFL with repeated BGGC"}
    return by_budget(
        [
            Column("DPFL", accuracy, usual, "dpfl-table5"),
            Column("partial participation", accuracy, fewer, "dpfl-table5"),
            Column("repeated BGGC", accuracy, repeated, "dpfl-table6"),
        ]
    )


def graphs() -> str:
    """How sparse and how symmetric DPFL's graphs are."""
    names = ("dpfl-figure8", "dpfl-figure9", "dpfl-figure10", "dpfl-figure11")
    lines = [Line([label], {}, name) for (label, _), name in zip(BUDGETS, names, strict=True)]
    columns = [
        Column(f"{what}, {when}", ours(f"{first} {what}", 0))
        for what in ("sparsity", "symmetry")
        for when, first in (("initially", "initial"), ("in the last round", "last"))
    ]
    return table("", ["budget"], lines, columns)


def synergy() -> str:
    """What training with one peer, and with both, is worth to the first participant."""
    lines = [
        Line([str(method), str(peers)], {"method": method, "peers": peers})
        for method, peers in fields_of("dpfl-appendixa", "method", "peers")
        if peers is not None
    ]
    columns = [Column("accuracy of P1", ours("P1")), Column("gain of P1", ours("gain of P1"))]
    return table("dpfl-appendixa", ["method", "with"], lines, columns)


COSTS = ("dpfl-figure8", "dpfl-figure9", "dpfl-figure10", "dpfl-figure11")
ROUNDS, PEOPLE = 12, 20  # of DPFL at size cpu


def costs() -> str:
    """Models that one participant receives, by the stored graphs and by the formula's two terms.

    The preparation receives everyone's model twice where a budget cuts it into batches, and once
    where it does not. A round receives those of the initial graph.
    """
    heads = ("preparation, at most", "a round, on average", f"in all, T = {ROUNDS}")
    rows = [["B_c", *heads, "T B_c + N", "everyone in every round, T N"]]
    for (label, _), (name, most) in zip(
        BUDGETS, zip(COSTS, (PEOPLE - 1, 4, 2, 1), strict=True), strict=True
    ):
        sparsity = numbers(name, {}).numbers["initial sparsity"].ours
        peers = (1 - sparsity / 100) * PEOPLE - 1
        first = (1 if label == "none" else 2) * (PEOPLE - 1)
        found = (f"{first}", f"{peers:.1f}", f"{first + ROUNDS * peers:.0f}")
        rows.append([f"{most}", *found, f"{ROUNDS * most + PEOPLE}", f"{ROUNDS * PEOPLE}"])
    return markdown(rows)


def permuted() -> str:
    """Links of the honest that go to participants with other labels."""
    lines = [
        Line([division, flippers], {"split": split, "malicious": malicious})
        for division, split in (("Dir(0.1)", "dirichlet(0.1)"), ("even", "homogeneous"))
        for flippers, malicious in (("only train", "train alone"), ("choose too", "choose too"))
    ]
    columns = [
        Column("initially", ours("initial harmful links", 0)),
        Column("in the last round", ours("last harmful links", 0)),
        Column("accuracy", ours("accuracy")),
    ]
    return table("dpfl-figure3", ["division", "flippers"], lines, columns)


DPFL: Mapping[str, Callable[[], str]] = {
    "dpfl-table1": accuracies,
    "dpfl-table1-beside": beside_all,
    "dpfl-table1-variance": variances,
    "dpfl-changes": changes,
    "dpfl-table2": chosen_or_random,
    "dpfl-table3": partial(
        settings, "dpfl-table3", "tau_init", {1: "1 (1)", 2: "2 (5)", None: "4 (10)"}
    ),
    "dpfl-table4": partial(
        settings, "dpfl-table4", "period", {None: "1 (1)", 3: "3 (10)", 6: "6 (20)"}
    ),
    "dpfl-table5": partial_and_repeated,
    "dpfl-figure8": graphs,
    "dpfl-costs": costs,
    "dpfl-appendixa": synergy,
    "dpfl-figure3": permuted,
}
"""By name."""
