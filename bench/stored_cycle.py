"""The page's tables of CYCle's experiments, see `stored_tables`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import mean, stdev

from stored_cells import (
    Column,
    Line,
    fields_of,
    markdown,
    numbers,
    ours,
    pair,
    table,
    worst,
)

from securefair_lab.papers.capride_batches import ALONE, BATCH, OWN
from securefair_lab.papers.capride_code import FRESH, FROZEN, NUMBERS, weight
from securefair_lab.papers.comparison import rows_of
from securefair_lab.papers.cycle_rates import RATES
from securefair_lab.papers.lambda_choice import CONTENDERS, LAMBDAS, chosen
from securefair_lab.papers.measures import HELD_OUT
from securefair_lab.papers.stored import stored_result

READINGS = ("softened", "plain")
LINKS = ("as printed", "relative")
NAMES = {"VPDL": "VPDL", **{reading: f"CYCle, {reading}" for reading in READINGS}}


def gains(experiment: str) -> str:
    """Gains by split and method, with the paper's in brackets."""
    keys = ("split", "method", "alignment", "links")
    lines = [
        Line([str(own[0]), _name(*own[1:])], dict(zip(keys, own, strict=True)))
        for own in fields_of(experiment, *keys)
        if own[1] != "Standalone"
    ]
    columns = [Column(one, ours(one, 2, paper=True)) for one in ("MCG", "CGS")]
    columns += [Column("least gain", ours("least gain", 2)), _WORST]
    return table(experiment, ["split", "method"], lines, columns)


_WORST = Column("worst seed", worst("least gain"))


def _name(method: object, alignment: object, links: object) -> str:
    """As the page calls a method: with its reading of alignment or its rule for links."""
    return ", ".join(str(part) for part in (method, alignment or links) if part)


def beside_vpdl() -> str:
    """CYCle less VPDL in Figure 3, seed by seed."""
    name, metrics = "cycle-figure3", ("MCG", "CGS")
    rows = [["split", *(f"{reading}: {one}" for reading in READINGS for one in metrics)]]
    for (split,) in fields_of(name, "split"):
        theirs = numbers(name, {"split": split, "method": "VPDL"}).numbers
        cells = [str(split)]
        for reading in READINGS:
            mine = numbers(name, {"split": split, "alignment": reading}).numbers
            for one in metrics:
                pairs = zip(mine[one].each, theirs[one].each, strict=True)
                apart = [a - b for a, b in pairs]
                cells.append(f"{mean(apart):+.2f} ± {stdev(apart):.2f}")
        rows.append(cells)
    return markdown(rows)


def usefulness() -> str:
    """CYCle's usefulness along the distance of the means, for every gamma, and its least."""
    name = "cycle-figure8"
    shown = (0.0, 1.0, 1.5, 2.0, 3.0, 5.0)
    rows = [["gamma", *(f"{gap:g}" for gap in shown), "least, at", "Theorem 4.1's bound"]]
    for (deviation,) in fields_of(name, "deviation"):
        own = {"method": "CYCle", "deviation": deviation}
        found = {
            number.fields["gap"]: number.ours
            for number in stored_result(name).numbers
            if number.metric == "usefulness"
            and all(number.fields[key] == value for key, value in own.items())
        }
        least = min(found, key=lambda gap: found[gap])
        bound = numbers(name, {**own, "gap": 0.0}).numbers["bound"].ours
        cells = [f"{found[gap]:.2f}" for gap in shown]
        rows.append([f"{deviation}", *cells, f"{found[least]:.2f}, {least}", f"{bound:.3f}"])
    return markdown(rows)


def by_lambda() -> str:
    """Mean gains by lambda_0, and at each seed's choice with the standard error over seeds."""
    stored = stored_result("cycle-lambda")
    best = chosen(rows_of(stored))
    rows = [["split", "method", *(f"{value:g}" for value in LAMBDAS), "at its best"]]
    for (split,) in fields_of(stored.experiment, "split"):
        for name in CONTENDERS:
            reading = None if name == "VPDL" else name
            own = {"split": split, "alignment": reading}
            cells = [
                numbers(stored.experiment, {**own, "lambda_0": value}).numbers["MCG"].ours
                for value in LAMBDAS
            ]
            each = best[str(split), name].each["MCG"]
            chose = f"{mean(each):.1f} ± {stdev(each) / len(each) ** 0.5:.1f}"
            rows.append([str(split), NAMES[name], *(f"{cell:.1f}" for cell in cells), chose])
    return markdown(rows)


def rates() -> str:
    """Held-out and test accuracy by learning rate, alone and with peers."""
    lines = [Line([f"{rate}"], {"learning_rate": rate}) for rate in RATES]
    columns = [
        Column(f"{name}: {heading}", ours(metric), {"method": method})
        for name, method in (("alone", "Standalone"), ("VPDL", "VPDL"), ("CYCle", "CYCle"))
        for heading, metric in (("held-out", HELD_OUT), ("test", "MVA"))
    ]
    return table("cycle-rates", ["rate"], lines, columns)


def wrong_labels(experiment: str) -> str:
    """The honest, and what they think of flippers, by flip rate."""
    lines = [Line(["alone"], {"flip_rate": None})]
    lines += [
        Line([f"{rate:g}, {reading}"], {"flip_rate": rate, "alignment": reading})
        for rate in (0.0, 0.2, 0.5, 1.0)
        for reading in READINGS
    ]
    columns = [
        Column("mean accuracy of the honest (paper)", ours("honest_average", paper=True)),
        Column("reputation of flippers", ours("reputation of flippers", 2)),
        Column("of the honest", ours("reputation of honest", 2)),
        Column("flippers were answered", ours("answered flippers", 0, unit=" %")),
    ]
    return table(experiment, ["flip rate"], lines, columns)


def thresholds() -> str:
    """MCG and CGS over a grid of thresholds."""
    lines = [Line([f"{value}"], {"tau_opt": value}) for value in (0.1, 0.25, 0.4)]
    columns = [
        Column(f"tau_max = {value}", pair("MCG", "CGS"), {"tau_max": value})
        for value in (0.6, 0.75, 0.9)
    ]
    return table("cycle-figure22", ["tau_opt"], lines, columns)


def gossip(experiment: str, *, correlated: bool) -> str:
    """Gossip-SGD on its graphs and CYCle on it with either rule for links."""
    lines = []
    for method, links, topology in fields_of(experiment, "method", "links", "topology"):
        if method == "Standalone":
            continue
        graph = "" if links else f", {topology or 'complete'} graph"
        name = f"CYCle, links {links}" if links else f"{method}{graph}"
        lines.append(Line([name], {"method": method, "links": links, "topology": topology}))
    columns = [Column(one, ours(one, 2, paper=True)) for one in ("MCG", "CGS")]
    columns.append(Column("least gain", ours("least gain", 2)))
    if correlated:
        columns.append(Column("Pearson", ours("pearson", 2, paper=True)))
    return table(experiment, ["method"], lines, columns)


def betas() -> str:
    """Both rules for links over beta."""
    lines = [Line([f"{beta:g}"], {"beta": beta}) for beta in (5.0, 15.0, 35.0, 50.0, 100.0)]
    columns = [
        Column(f"{rule}: {heading}", ours(metric, 2), {"links": rule})
        for rule in LINKS
        for heading, metric in (("MCG", "MCG"), ("CGS", "CGS"), ("Pearson", "pearson"))
    ]
    return table("cycle-figure23", ["beta"], lines, columns)


def five_and_ten(contenders: Mapping[str, Mapping[str, object]]) -> str:
    """Gains of Table 2's settings, so many methods beside each other."""
    lines = [
        Line([str(n), str(split)], {"n": n, "split": split})
        for n, split in fields_of("cycle-table2", "n", "split")
    ]
    columns = [
        Column(f"{name}: {metric}", ours(metric, 2, paper=True), fields)
        for name, fields in contenders.items()
        for metric in ("MCG", "CGS")
    ]
    last = list(contenders.values())[-1]
    columns.append(Column("its least gain", ours("least gain", 2), last))
    return table("cycle-table2", ["N", "split"], lines, columns)


def published_code() -> str:
    """VPDL by the weight of CaPriDe's code, and by when teachers answer."""
    lines = [
        Line([f"{n}", f"{weight(n, divisions):.0f}"], {"n": n, "divisions": divisions})
        for n in NUMBERS
        for divisions in ((2,) if n == 2 else (1, 2))
    ]
    columns = [
        Column(f"{one}: {metric}", ours(metric, 2), {"answers": one})
        for one in (FROZEN, FRESH)
        for metric in ("MCG", "CGS")
    ]
    return table("capride-code", ["N", "weight in all"], lines, columns)


def batch_statistics() -> str:
    """A network on pixels alone, and with teachers that normalise in either way."""
    lines = [
        Line([f"{n}", f"{weight(n, 2):.0f}"], {"n": n})
        for (n,) in fields_of("capride-batches", "n")
    ]
    columns = [Column(ALONE, ours("MVA", 1), {"answers": ALONE})]
    columns += [Column(f"{one}: MCG", ours("MCG", 2), {"answers": one}) for one in (OWN, BATCH)]
    return table("capride-batches", ["N", "weight in all"], lines, columns)


DISTILLED = {"VPDL": {"method": "VPDL"}, "CYCle": {"method": "CYCle", "family": "PDL"}}
GOSSIPING = {
    "Gossip-SGD": {"method": "Gossip-SGD"},
    **{f"CYCle, links {one}": {"method": "CYCle", "links": one} for one in LINKS},
}

CYCLE: Mapping[str, Callable[[], str]] = {
    **{
        name: partial(gains, name)
        for name in (
            "cycle-figure3",
            "cycle-figure4",
            "cycle-table10",
            "cycle-table6",
            "cycle-baselines",
        )
    },
    "cycle-figure3-beside-vpdl": beside_vpdl,
    "cycle-rates": rates,
    "cycle-figure8": usefulness,
    "cycle-lambda": by_lambda,
    "capride-code": published_code,
    "capride-batches": batch_statistics,
    "cycle-table3": partial(wrong_labels, "cycle-table3"),
    "cycle-table11": partial(wrong_labels, "cycle-table11"),
    "cycle-figure22": thresholds,
    "cycle-table12": partial(gossip, "cycle-table12", correlated=True),
    "cycle-table7": partial(gossip, "cycle-table7", correlated=False),
    "cycle-figure23": betas,
    "cycle-table2-distilled": partial(five_and_ten, DISTILLED),
    "cycle-table2-gossip": partial(five_and_ten, GOSSIPING),
}
