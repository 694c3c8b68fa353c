"""The tables of docs/notebook/reproduction.md, made of the stored results of experiments.

    python bench/stored_tables.py                # print
    python bench/stored_tables.py --write docs/notebook/reproduction.md    # replace them

A test compares the page with what this makes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from page import PageOption, replace_tables, run_script
from scipy import stats
from stored_cells import (
    EVERYONE,
    Column,
    Found,
    Line,
    Show,
    fields_of,
    level,
    markdown,
    numbers,
    ours,
    papers,
    step,
    table,
)
from stored_cycle import CYCLE

from securefair_lab.papers.stored import stored_names, stored_result
from securefair_lab.papers.verdicts import VERDICTS

CFFL_METHODS = (
    ("Standalone", "Standalone", None, None),
    ("FedAvg", "FedAvg", None, None),
    ("DSSGD, upload rate 0.1", "DSSGD", None, 0.1),
    ("DSSGD, upload rate 1", "DSSGD", None, 1.0),
    ("CFFL, upload rate 0.1", "CFFL", False, 0.1),
    ("CFFL, upload rate 1", "CFFL", False, 1.0),
    ("CFFL, pretrained, upload rate 0.1", "CFFL", True, 0.1),
    ("CFFL, pretrained, upload rate 1", "CFFL", True, 1.0),
)
FOREST, NETWORK = "fair SL (random forest)", "fair SL (neural network)"
BUDGETS = (("none", "inf"), ("0.2N", "0.2N"), ("0.1N", "0.1N"), ("0.05N", "0.05N"))
TUNED = {"FedAvg+FT": "FedAvg, tuned", "FedProx+FT": "FedProx, tuned"}


def cffl(experiment: str, metric: str) -> str:
    """MNIST and Adult beside each other: by our rule, by the printed one, and the paper's."""
    columns = []
    for name in ("MNIST", "Adult"):
        own = {"dataset": name}
        printed = {**own, "method": "CFFL, reward as printed"}
        columns += [
            Column(f"{name}: ours", ours(metric), own),
            Column("as printed", ours(metric), printed),
            Column("paper", papers(metric), own),
        ]
    return table(experiment, ["method"], cffl_lines(experiment), columns)


def cffl_lines(experiment: str) -> list[Line]:
    """The methods that an experiment has."""
    keys = ("method", "pretrain", "theta_u")
    there = fields_of(experiment, *keys)
    return [
        Line([label], dict(zip(keys, own, strict=True)))
        for label, *own in CFFL_METHODS
        if tuple(own) in there
    ]


def cffl_classes() -> str:
    """Everyone's accuracy where participants hold more and more classes."""
    columns = [Column(one, ours(one)) for one in EVERYONE]
    return table("cffl-figure3", ["method"], cffl_lines("cffl-figure3"), columns)


def controls(experiment: str, people: Sequence[str]) -> str:
    """Linear fits alone, averaged alone, and after a transfer."""
    lines = [
        Line([str(name), str(method)], {"dataset": name, "method": method})
        for name, method in fields_of(experiment, "dataset", "method")
    ]
    columns = [Column(one, ours(one)) for one in (*people, "mean")]
    columns += [Column(heading, ours(heading, 2)) for heading in ("MCG", "least gain")]
    return table(experiment, ["data", "method"], lines, columns)


def forest_steps(experiment: str, participants: int) -> str:
    """What each participant has over the one before it, in percent."""
    columns = []
    for n in range(1, participants):
        one = f"{n}->{n + 1}"
        columns += [Column(f"{one}: ours", step(one)), Column("paper", papers(one))]
    return table(experiment, ["data"], by_data(experiment), columns)


def network_steps(experiment: str, participants: int) -> str:
    """The same of networks' errors, with the interval of 95 % and a t-test over seeds."""

    def show(metric: str) -> Show:
        def shown(found: Found) -> str:
            each = found.numbers[metric].each
            test = stats.ttest_1samp(each, 0)
            low, high = test.confidence_interval(0.95)
            p = f"{test.pvalue:.1g}" if test.pvalue >= 0.0001 else "< 0.0001"
            return f"{ours(metric)(found)} ({low:.1f} to {high:.1f}; p {p})"

        return shown

    columns = []
    for n in range(1, participants):
        one = f"{n}->{n + 1}"
        columns += [Column(f"{one}: ours", show(one)), Column("paper", papers(one))]
    return table(experiment, ["data"], by_data(experiment), columns)


def by_data(experiment: str) -> list[Line]:
    """A line for each data set."""
    return [Line([str(name)], {"dataset": name}) for (name,) in fields_of(experiment, "dataset")]


def levels(experiment: str) -> str:
    """Everyone's level alone, after fair swarm learning, and after the standard one."""
    return table(experiment, ["data"], by_data(experiment), scenarios(FOREST))


def network_levels() -> str:
    """The same of networks, a figure a line."""
    lines = [
        Line([str(n), str(name), str(stored_result(experiment).seeds)], {}, experiment)
        for n, experiment in ((n, f"fairsl-figure{n}") for n in (3, 5, 6, 8))
        for (name,) in fields_of(experiment, "dataset")
    ]
    return table("", ["figure", "data", "seeds"], lines, scenarios(NETWORK))


def scenarios(fair: str) -> list[Column]:
    """Alone, fair and standard."""
    return [
        Column(heading, level, {"method": method})
        for heading, method in (("local", "local"), ("fair", fair), ("standard", "standard SL"))
    ]


def dpfl_accuracies() -> str:
    """All methods of DPFL's first table on all divisions."""
    lines = []
    for method, budget in fields_of("dpfl-table1", "method", "budget"):
        shown = "no budget" if budget == "inf" else budget
        name = f"{method}, {shown}" if budget else TUNED.get(str(method), str(method))
        lines.append(Line([name], {"method": method, "budget": budget}))
    columns = [
        Column(heading, ours("accuracy", paper=True), {"split": split})
        for heading, split in (
            ("Dir(0.1)", "dirichlet(0.1)"),
            ("Patho(3)", "patho(3)"),
            ("FEMNIST", "natural"),
        )
    ]
    return table("dpfl-table1", ["method"], lines, columns)


def dpfl_budgets(columns: Sequence[Column], *, fewest: int = 0) -> str:
    """A line for each budget."""
    lines = [Line([label], {"budget": budget}) for label, budget in BUDGETS[fewest:]]
    return table("", ["budget"], lines, columns)


def chosen_or_random() -> str:
    """DPFL against graphs at random."""
    return dpfl_budgets(
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


def dpfl_settings(experiment: str, key: str, values: Mapping[object, str]) -> str:
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
    return dpfl_budgets(
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


def verdicts() -> str:
    """What the seeds tell of every claim of every stored result."""
    rows = [["experiment", "seeds", *VERDICTS]]
    count: Counter[str] = Counter()
    for name in stored_names():
        stored = stored_result(name)
        if stored.claims:
            told = [
                [own.claim for own in stored.claims if own.verdict == verdict]
                for verdict in VERDICTS
            ]
            cells = [". ".join(words) if words else "" for words in told]
            rows.append([f"`{name}`", str(stored.seeds), *cells])
            count.update(own.verdict for own in stored.claims)
    return markdown([*rows, ["all claims", "", *(str(count[one]) for one in VERDICTS)]])


def made_by() -> str:
    """On which processors stored results were made, and of how many that is not known."""
    stored = {name: stored_result(name) for name in stored_names()}
    rows = [["processor", "widest instructions", "results"]]
    found: dict[tuple[str, str], list[str]] = {}
    for name, own in stored.items():
        where = {(one.processor, one.kernels) for one in own.origins} or {("not stored", "")}
        for one in sorted(where):
            found.setdefault(one, []).append(name)
    for (processor, kernels), names in sorted(found.items()):
        shown = ", ".join(f"`{name}`" for name in names)
        rows.append([processor, kernels, f"{len(names)}: {shown}"])
    lacking = [name for name, own in stored.items() if not all(n.each for n in own.numbers)]
    shown = ", ".join(f"`{name}`" for name in lacking)
    rows.append(["single seeds not stored", "", f"{len(lacking)}{': ' if shown else ''}{shown}"])
    return markdown(rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "made-by": made_by,
    "verdicts": verdicts,
    "cffl-table1": partial(cffl, "cffl-table1", "fairness"),
    "cffl-table2": partial(cffl, "cffl-table2", "max_accuracy"),
    "cffl-figure3": cffl_classes,
    "cffl-controls": partial(controls, "cffl-controls", EVERYONE),
    "fairsl-controls": partial(controls, "fairsl-controls", EVERYONE[:3]),
    "fairsl-table5": partial(forest_steps, "fairsl-table5", 3),
    "fairsl-figure9": partial(levels, "fairsl-figure9"),
    "fairsl-table6": partial(forest_steps, "fairsl-table6", 4),
    "fairsl-figure10": partial(levels, "fairsl-figure10"),
    "fairsl-table2": partial(network_steps, "fairsl-table2", 3),
    "fairsl-table3": partial(network_steps, "fairsl-table3", 4),
    "fairsl-levels": network_levels,
    **CYCLE,
    "dpfl-table1": dpfl_accuracies,
    "dpfl-table2": chosen_or_random,
    "dpfl-table3": partial(
        dpfl_settings, "dpfl-table3", "tau_init", {1: "1 (1)", 2: "2 (5)", None: "4 (10)"}
    ),
    "dpfl-table4": partial(
        dpfl_settings, "dpfl-table4", "period", {None: "1 (1)", 3: "3 (10)", 6: "6 (20)"}
    ),
    "dpfl-table5": partial_and_repeated,
    "dpfl-figure8": graphs,
    "dpfl-costs": costs,
    "dpfl-appendixa": synergy,
    "dpfl-figure3": permuted,
}


def main(
    write: PageOption = None,
) -> None:
    """Print all tables, or write them."""
    made = {name: make() for name, make in TABLES.items()}
    if write is not None:
        replace_tables(write, made)
        return
    for name, text in made.items():
        print(f"\n{name}\n\n{text}")


if __name__ == "__main__":
    run_script(main)
