"""Lines and points: metrics along a grid or over the rounds, and two metrics in a plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from securefair.records import RoundRecord
from securefair.reproduction.experiment import Finished, Row
from securefair.reproduction.figures.drawing import (
    COLOURS,
    MARKS,
    canvas,
    method_name,
    seeds_together,
    without,
)


def plane(x: str, y: str, better: str) -> Callable[[Sequence[Finished], Sequence[Row]], Figure]:
    """Two metrics of all rows against each other, a colour and a mark for each method.

    Args:
        better: where in the plane a method should be, in words.
    """

    def draw(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
        del finished
        figure = canvas(6.5, 5)
        axes = figure.subplots()
        shown = [row for row in rows if x in row.metrics and y in row.metrics]
        for index, name in enumerate(dict.fromkeys(method_name(row.fields) for row in shown)):
            own = [row for row in shown if method_name(row.fields) == name]
            points = np.array([[row.metrics[x], row.metrics[y]] for row in own])
            colour, mark = COLOURS[index % len(COLOURS)], MARKS[index % len(MARKS)]
            axes.scatter(points[:, 0], points[:, 1], label=name, s=28, color=colour, marker=mark)
            axes.scatter(
                points[:, 0].mean(),
                points[:, 1].mean(),
                s=130,
                color=colour,
                marker=mark,
                edgecolor="black",
                zorder=3,
            )
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_title(f"better: {better}; large marks are means over settings", fontsize=9)
        axes.legend(fontsize=8)
        return figure

    return draw


def curves(
    x: str, label: str, panels: Mapping[str, str], bound: str | None = None, **only: float
) -> Callable[[Sequence[Finished], Sequence[Row]], Figure]:
    """Metrics of rows along a grid, a line for each method.

    Args:
        x: the field that is the grid.
        label: of its axis.
        panels: metric -> label of its axis.
        bound: a metric that limits the first panel's, drawn thinly in the same colour.
        only: fields that rows must have to be drawn.
    """

    def draw(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
        del finished
        rows = [row for row in rows if all(row.fields[k] == v for k, v in only.items())]
        figure = canvas(4.8 * len(panels), 4.2)
        for axes, (metric, title) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            names = dict.fromkeys(
                without(row.fields, x, *only) for row in rows if metric in row.metrics
            )
            for index, name in enumerate(names):
                own = _points(rows, x, metric, name, *only)
                colour, line = COLOURS[index % len(COLOURS)], ("-", "--", ":", "-.")[index % 4]
                axes.plot(
                    *zip(*own, strict=True), label=name, color=colour, linestyle=line, linewidth=2
                )
                limits = _points(rows, x, bound, name, *only) if bound else []
                if limits:
                    axes.plot(
                        *zip(*limits, strict=True),
                        label=f"{bound}, {name}",
                        color=colour,
                        linestyle=line,
                        linewidth=0.8,
                    )
            axes.set_xlabel(label)
            axes.set_ylabel(title)
            axes.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.18))
        return figure

    return draw


def _points(
    rows: Sequence[Row], x: str, metric: str, name: str, *left_out: str
) -> list[tuple[float, float]]:
    return [
        (float(str(row.fields[x])), row.metrics[metric])
        for row in rows
        if without(row.fields, x, *left_out) == name and metric in row.metrics
    ]


def round_curves(
    label: str, of: Callable[[RoundRecord], float]
) -> Callable[[Sequence[Finished], Sequence[Row]], Figure]:
    """A number of every round, a line for each method, mean over seeds."""

    def draw(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
        del rows
        figure = canvas(7, 4)
        axes = figure.subplots()
        for index, (name, runs) in enumerate(seeds_together(finished).items()):
            length = min(len(run.records) for run in runs)
            lines = [[of(record) for record in run.records[:length]] for run in runs]
            axes.plot(
                np.mean(lines, axis=0),
                label=name,
                color=COLOURS[index % len(COLOURS)],
                linestyle=("-", "--")[index // len(COLOURS) % 2],
            )
        axes.set_xlabel("round")
        axes.set_ylabel(label)
        axes.legend(fontsize=8)
        return figure

    return draw
