"""Our numbers beside the paper's: a table to read, JSON, CSV and a bar chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

import msgspec
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.table import Table
from rich.text import Text

from securefair.data import csv_text
from securefair.report import write_json, write_text
from securefair_lab.papers.experiment import Experiment, Row, Size
from securefair_lab.papers.origin import Origin
from securefair_lab.papers.verdicts import Verdict, verdicts


class ComparedNumber(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a table; `paper` and `difference` are None where the paper prints none."""

    fields: dict[str, str | int | float | bool | None]
    metric: str
    ours: float
    spread: float  # over seeds, ddof 1; 0 for one seed
    paper: float | None
    difference: float | None  # ours less the paper's
    each: list[float] = []  # ours, in the order of seeds


class ClaimResult(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of the paper, and whether our seeds tell it.

    Attributes:
        verdict: files from before claims had a margin have none, and cannot tell.
    """

    claim: str
    verdict: Verdict = "cannot be told"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """comparison.json: everything that a reproduction concludes."""

    experiment: str
    paper: str
    item: str
    size: str
    seeds: int
    unit: str
    note: str
    numbers: list[ComparedNumber]
    claims: list[ClaimResult]
    origins: list[Origin] = []  # what made the runs; empty in results from before it was stored
    again: list[Origin] = []  # what made later runs that gave every number to the digit


MOST_LINES = 120  # of a table on a terminal

NOTES: dict[Size, str] = {
    "smoke": "A check that the experiment runs, on small data that comes with the package: its "
    "numbers are not comparable with the paper's.",
    "cpu": "Reduced to run on two cores, as docs/reproduction.md says: directions are comparable "
    "with the paper's, numbers are not.",
    "paper": "At the paper's size, as far as the paper states it.",
}


STAND_INS: dict[Size, str] = {
    "smoke": "Size smoke: small data of the package and small networks stand in for those named; "
    "not comparable with the paper.",
    "cpu": "Size cpu: fewer samples, and small networks in place of those named; directions are "
    "comparable with the paper's, numbers are not.",
    "paper": "",
}
"""What files say that leave the terminal: names in them are the paper's."""


def stand_ins(experiment: Experiment, size: Size) -> str:
    """What stands in for the data and networks of the paper; empty where nothing does."""
    return STAND_INS[size] if experiment.needs else ""


def compare(
    experiment: Experiment,
    size: Size,
    seeds: int,
    rows: Sequence[Row],
    origins: Sequence[Origin] = (),
) -> Comparison:
    """The rows of a run as a record. At size "smoke" claims are not judged: data are others.

    Args:
        origins: what made the runs.
    """
    return Comparison(
        experiment=experiment.name,
        paper=experiment.paper,
        item=experiment.item,
        size=size,
        seeds=seeds,
        unit=experiment.unit,
        note=" ".join(part for part in _notes(experiment, size) if part),
        numbers=[
            ComparedNumber(
                fields=dict(row.fields),
                metric=metric,
                ours=ours,
                spread=row.spread[metric],
                paper=row.paper.get(metric),
                difference=ours - row.paper[metric] if metric in row.paper else None,
                each=list(row.each.get(metric, ())),
            )
            for row in rows
            for metric, ours in row.metrics.items()
        ],
        claims=[] if size == "smoke" else judged(experiment, rows),
        origins=list(origins),
    )


def judged(
    experiment: Experiment, rows: Sequence[Row], only: Sequence[str] | None = None
) -> list[ClaimResult]:
    """The claims of an experiment on these rows, with a margin.

    Args:
        only: the words of those to judge; None: all.
    """
    claims = [own for own in experiment.claims if only is None or own.words in only]
    found = verdicts([own.parts for own in claims], rows)
    return [
        ClaimResult(claim=own.words, verdict=verdict)
        for own, verdict in zip(claims, found, strict=True)
    ]


def rows_of(comparison: Comparison) -> list[Row]:
    """The rows that a comparison was made of."""
    found: dict[tuple[object, ...], list[ComparedNumber]] = {}
    for one in comparison.numbers:
        found.setdefault(tuple(one.fields.items()), []).append(one)
    return [
        Row(
            fields=own[0].fields,
            metrics={n.metric: n.ours for n in own},
            spread={n.metric: n.spread for n in own},
            paper={n.metric: n.paper for n in own if n.paper is not None},
            each={n.metric: n.each for n in own if n.each},
        )
        for own in found.values()
    ]


def _notes(experiment: Experiment, size: Size) -> tuple[str, str]:
    return NOTES[size] if experiment.needs else "", experiment.differs


def write_comparison(
    comparison: Comparison, out: Path, *, bars: bool = True, stand_in: str = ""
) -> list[Path]:
    """Write comparison.json, comparison.csv and, with bars, comparison.png; the files written.

    Args:
        stand_in: what table and picture say of names in them; see `stand_ins`.
    """
    keys = list(dict.fromkeys(key for number in comparison.numbers for key in number.fields))
    rows: list[list[object]] = [
        [*keys, "metric", "ours", "spread", "paper", "difference", "size", "note"]
    ]
    for n in comparison.numbers:
        numbers = (n.ours, n.spread, n.paper, n.difference)
        rows.append(
            [*(n.fields.get(key) for key in keys), n.metric, *numbers, comparison.size, stand_in]
        )
    files = [
        write_json(out / "comparison.json", comparison),
        write_text(out / "comparison.csv", csv_text(rows)),
    ]
    figure = out / "comparison.png"
    return [*files, write_figure(_bars(comparison), figure, below=stand_in)] if bars else files


def write_figure(figure: Figure, path: Path, *, below: str = "") -> Path:
    """Write a picture with a line below it, where there is one; returns its path."""
    if below:
        width = int(15 * figure.get_figwidth())  # characters of this size beside each other
        figure.text(0.5, -0.01, fill(below, width), ha="center", va="top", fontsize=8)
    figure.savefig(
        path, dpi=150, metadata={"Software": None}, bbox_inches="tight" if below else None
    )
    return path


def comparison_table(comparison: Comparison) -> Table:
    """The numbers for a terminal."""
    table = Table(
        title=f"{comparison.experiment}: {comparison.item} ({comparison.unit})",
        caption=comparison.note,
        title_justify="left",
        caption_justify="left",
    )
    for heading in ("method", "metric"):
        table.add_column(heading)
    for heading in ("ours", "paper", "difference"):
        table.add_column(heading, justify="right")
    above: list[str] = ["", ""]
    for number in comparison.numbers[:MOST_LINES]:
        names = _names(number)
        if names[0] != above[0]:
            table.add_section()
            table.add_row(Text(names[0], style="bold"))
        spread = f" ± {number.spread:.2f}" if comparison.seeds > 1 else ""
        table.add_row(
            "" if names == above else Text(f"  {names[1]}"),
            number.metric,
            f"{number.ours:.2f}{spread}",
            "-" if number.paper is None else f"{number.paper:.2f}",
            "-" if number.difference is None else f"{number.difference:+.2f}",
        )
        above = names
    left_out = len(comparison.numbers) - MOST_LINES
    if left_out > 0:
        table.add_section()
        table.add_row(f"and {left_out} more in comparison.csv")
    return table


def _names(number: ComparedNumber) -> list[str]:
    """Of the setting and of the method in it."""
    setting, method = [], []
    for key, value in number.fields.items():
        if value is None:
            continue
        shown = f"{'N =' if key == 'n' else key} {value}"
        if key in ("dataset", "split", "n"):
            setting.append(shown if key == "n" else str(value))
        else:
            method.append(str(value) if isinstance(value, str) else shown)
    return [", ".join(setting), ", ".join(method)]


def _bars(comparison: Comparison) -> Figure:
    """Ours with spreads beside the paper's, one panel a metric, one pair of bars a row.

    Where the paper prints some of the metrics, the others are left to the table.
    """
    told = {number.metric for number in comparison.numbers if number.paper is not None}
    numbers = [n for n in comparison.numbers if n.metric in told or not told]
    metrics = list(dict.fromkeys(number.metric for number in numbers))
    rows = max((sum(n.metric == m for n in numbers) for m in metrics), default=1)
    figure = Figure(figsize=(4.5 + 3.5 * len(metrics), 1.5 + 0.4 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, max(len(metrics), 1), squeeze=False, sharey=True)[0]
    for panel, metric in zip(panels, metrics, strict=False):
        own = [n for n in numbers if n.metric == metric]
        places = list(range(len(own)))
        panel.barh(
            [place - 0.2 for place in places],
            [n.ours for n in own],
            xerr=[n.spread for n in own] if comparison.seeds > 1 else None,
            height=0.4,
            color="#0072B2",
            ecolor="#777777",
            label="ours",
        )
        known = [(place + 0.2, n.paper) for place, n in zip(places, own, strict=True)]
        known = [(place, value) for place, value in known if value is not None]
        if known:
            panel.barh(
                [place for place, _ in known],
                [value for _, value in known if value is not None],
                height=0.4,
                color="#E69F00",
                label="paper",
            )
        panel.axvline(0, color="black", linewidth=0.6)
        panel.set_yticks(places, [", ".join(_names(n)) for n in own], fontsize=7)
        panel.margins(y=0.01)
        panel.set_title(metric, fontsize=9)
    if metrics:
        panels[0].invert_yaxis()
        figure.supxlabel(comparison.unit, fontsize=9)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=2, fontsize=8)
    return figure
