"""Heat maps: who values whom, who answered whom, and metrics over two settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from securefair.records import RoundRecord
from securefair_lab.papers.experiment import Finished, Row
from securefair_lab.papers.figures.drawing import (
    MAP,
    Values,
    canvas,
    mean_of,
    seeds_together,
    without,
)
from securefair_lab.papers.measures import reputation


def reputation_maps(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """A row for each contender with reputations, at the first, a middle and the last forced round.

    Row n of a map is what participant n thinks of the others, over seeds.
    """
    del rows
    return _maps(finished, reputation, "reputation", _forced)


def _forced(records: Sequence[RoundRecord]) -> list[int]:
    forced = [t for t, record in enumerate(records) if record.forced]
    return sorted({forced[0], forced[len(forced) // 2], len(records) - 1}) if forced else []


def sharing_maps(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """Of each contender that is no control, in which share of all rounds each got from each."""
    del rows
    chosen = seeds_together([run for run in finished if not run.contender.control])
    figure = canvas(1.2 + 3.2 * len(chosen), 3.4)
    panels = figure.subplots(1, len(chosen), squeeze=False)[0]
    for axes, (name, runs) in zip(panels, chosen.items(), strict=True):
        share = np.mean([[r.answered for r in run.records] for run in runs], axis=(0, 1))
        np.fill_diagonal(share, np.nan)
        _heat(axes, share, name, written=len(share) <= 8)
    return figure


def link_maps(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """Who averaged with whom, first seed, in five rounds from the first to the last.

    Light: chosen in that round. Middle: could have been. Dark: out of reach.
    """
    del rows
    first = [run for run in finished if run.seed == 0 and not run.contender.control]
    figure = canvas(2.2 * 5, 0.5 + 2.3 * len(first))
    grid = figure.subplots(len(first), 5, squeeze=False)
    for line, (name, (run,)) in zip(grid, seeds_together(first).items(), strict=True):
        rounds = np.linspace(0, len(run.records) - 1, 5).round().astype(int).tolist()
        for axes, t in zip(line, rounds, strict=True):
            record = run.records[t]
            links = np.array(record.asked, dtype=float) / 2 + np.array(record.answered) / 2
            np.fill_diagonal(links, 1.0)
            axes.imshow(links, cmap=MAP, vmin=0, vmax=1, interpolation="nearest")
            chosen = np.array(record.answered).sum(axis=1).mean()
            axes.set_title(f"round {t}: {chosen:.1f} each", fontsize=8)
            axes.tick_params(labelsize=6)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(MaxNLocator(integer=True))
        line[0].set_ylabel(name.replace(": ", "\n"), fontsize=7)
    return figure


def sensitivity(
    x: str, y: str, *metrics: str
) -> Callable[[Sequence[Finished], Sequence[Row]], Figure]:
    """A map of each metric over two settings of a method."""

    def draw(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
        del finished
        shown = [row for row in rows if row.fields.get(x) is not None]
        figure = canvas(3.6 * len(metrics), 3.3)
        panels = figure.subplots(1, len(metrics), squeeze=False)[0]
        xs, ys = (sorted({float(str(row.fields[key])) for row in shown}) for key in (x, y))
        for axes, metric in zip(panels, metrics, strict=True):
            found = np.full((len(ys), len(xs)), np.nan)
            for row in shown:
                place = ys.index(float(str(row.fields[y]))), xs.index(float(str(row.fields[x])))
                found[place] = row.metrics[metric]
            image = axes.imshow(found, cmap=MAP, origin="lower")
            middle = float(np.nanmean([np.nanmin(found), np.nanmax(found)]))
            for (i, j), value in np.ndenumerate(found):
                if np.isfinite(value):
                    colour = "white" if value < middle else "black"
                    axes.text(
                        j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8
                    )
            axes.set_xticks(range(len(xs)), [f"{value:g}" for value in xs])
            axes.set_yticks(range(len(ys)), [f"{value:g}" for value in ys])
            axes.set_xlabel(x)
            axes.set_ylabel(y)
            axes.set_title(metric, fontsize=9)
            figure.colorbar(image, ax=axes, shrink=0.8)
        return figure

    return draw


def row_map(label: str) -> Callable[[Sequence[Finished], Sequence[Row]], Figure]:
    """Rows as a heat map of their metrics, a panel for each method or data set."""

    def draw(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
        del finished
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(without(row.fields, "participant"), []).append(row)
        figure = canvas(1.0 + 4.2 * len(groups), 3.6)
        panels = figure.subplots(1, len(groups), squeeze=False)[0]
        for axes, (name, own) in zip(panels, groups.items(), strict=True):
            found = np.array([list(row.metrics.values()) for row in own])
            _heat(axes, found, f"{name}\n{label}", written=found.size <= 80, top=None)
            axes.set_xticks(range(found.shape[1]), list(own[0].metrics), fontsize=6, rotation=90)
            axes.set_yticks(
                range(len(own)), [str(row.fields["participant"]) for row in own], fontsize=7
            )
        return figure

    return draw


def _maps(
    finished: Sequence[Finished],
    of: Callable[[RoundRecord], Values],
    label: str,
    rounds_of: Callable[[Sequence[RoundRecord]], list[int]],
) -> Figure:
    groups = {
        name: runs for name, runs in seeds_together(finished).items() if rounds_of(runs[0].records)
    }
    columns = max(len(rounds_of(runs[0].records)) for runs in groups.values())
    figure = canvas(1 + 2.9 * columns, 0.4 + 2.8 * len(groups))
    grid = figure.subplots(len(groups), columns, squeeze=False)
    for line, (name, runs) in zip(grid, groups.items(), strict=True):
        for axes in line:
            axes.set_axis_off()
        for axes, t in zip(line, rounds_of(runs[0].records), strict=False):
            axes.set_axis_on()
            values = mean_of(runs, of, t)
            _heat(axes, values, f"{name}\n{label}, round {t}", written=len(values) <= 8)
    return figure


def _heat(
    axes: Axes, values: Values, title: str, *, written: bool, top: float | None = 1.0
) -> None:
    highest = top if top is not None else float(np.nanmax(values))
    axes.imshow(values, cmap=MAP, vmin=0, vmax=highest, interpolation="nearest")
    axes.set_facecolor("#dddddd")  # where there is no value
    axes.set_title(title, fontsize=7)
    axes.set_xticks(
        range(values.shape[1]),
        [f"P{n + 1}" for n in range(values.shape[1])],
        fontsize=7 if values.shape[1] <= 10 else 4,
    )
    axes.set_yticks(
        range(values.shape[0]),
        [f"P{n + 1}" for n in range(values.shape[0])],
        fontsize=7 if values.shape[0] <= 10 else 4,
    )
    if written:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                colour = "white" if value < highest / 2 else "black"
                text = f"{value:.2f}" if highest <= 1 else f"{value:.0f}"
                axes.text(j, i, text, ha="center", va="center", color=colour, fontsize=7)
