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
    ours,
    papers,
    step,
    table,
)
from stored_cycle import CYCLE
from stored_dpfl import DPFL

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
    **DPFL,
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
