"""Gains over lambda_0: a column for each split, a line for each method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from securefair_lab.papers.experiment import Finished, Row
from securefair_lab.papers.figures.drawing import COLOURS, MARKS, canvas
from securefair_lab.papers.lambda_choice import CONTENDERS, PRINTED, chosen, lines

PANELS = {"MCG": "mean gain (MCG)", "CGS": "spread of gains (CGS)"}


def gains_by_lambda(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """Means over seeds with their standard errors; filled marks: where held-out images choose.

    Such a mark is the mean over seeds of what each gains at its own choice, drawn at the geometric
    mean of the choices. A thin line is at the lambda_0 of the paper.
    """
    del finished
    splits = list(dict.fromkeys(str(row.fields["split"]) for row in rows))
    figure = canvas(0.8 + 2.4 * len(splits), 5.4)
    grid = figure.subplots(len(PANELS), len(splits), squeeze=False, sharex=True)
    for column, split in enumerate(splits):
        for line, (metric, label) in enumerate(PANELS.items()):
            axes = grid[line, column]
            _draw(axes, rows, split, metric)
            if column == 0:
                axes.set_ylabel(f"{label}, points", fontsize=8)
        grid[0, column].set_title(split, fontsize=9)
        grid[-1, column].set_xlabel("lambda_0", fontsize=8)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
    return figure


def _draw(axes: Axes, rows: Sequence[Row], split: str, metric: str) -> None:
    found, best = lines(rows), chosen(rows)
    for index, name in enumerate(CONTENDERS):
        own = found[split, name]
        x = [float(str(row.fields["lambda_0"])) for row in own]
        each = np.array([row.each[metric] for row in own])
        error = each.std(axis=1, ddof=1) / np.sqrt(each.shape[1]) if each.shape[1] > 1 else 0.0
        label = name if name == "VPDL" else f"CYCle, {name}"
        colour, mark = COLOURS[index], MARKS[index]
        axes.errorbar(
            x,
            each.mean(axis=1),
            error,
            color=colour,
            marker=mark,
            markerfacecolor="none",
            markersize=5,
            linewidth=1.3,
            capsize=2,
            label=label,
        )
        choice = best[split, name]
        axes.plot(
            np.exp(np.mean(np.log(choice.lambdas))),
            choice.mean(metric),
            color=colour,
            marker=mark,
            markersize=9,
            linestyle="none",
        )
    axes.axvline(PRINTED, color="grey", linewidth=0.6, linestyle=":")
    axes.axhline(0, color="grey", linewidth=0.6)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xticks(x, [f"{value:g}" for value in x], fontsize=7)
    axes.tick_params(axis="y", labelsize=7)
