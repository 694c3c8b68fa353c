"""Lines and points: metrics along a grid or over the rounds, everyone's or two in a plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from securefair.records import RoundRecord
from securefair_lab.papers.experiment import Finished, Row
from securefair_lab.papers.figures.drawing import (
    COLOURS,
    MARKS,
    canvas,
    method_name,
    seeds_together,
    setting_name,
    without,
)
from securefair_lab.papers.measures import percent


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


def participant_curves(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """Everyone's accuracy over the rounds: a panel for each method, a row for each setting.

    Dotted, in the same colour, where each ends alone. The first seed; the axis begins where the
    lowest panel is after a tenth of the rounds, since all the rest happens above.
    """
    del rows
    first = [run for run in finished if run.seed == 0]
    settings = list(dict.fromkeys(setting_name(run.contender.fields) for run in first))
    methods = list(dict.fromkeys(method_name(run.contender.fields) for run in first))
    figure = canvas(0.8 + 2.7 * len(methods), 0.8 + 2.9 * len(settings))
    grid = figure.subplots(len(settings), len(methods), squeeze=False, sharey="row")
    lowest: dict[int, list[float]] = {}
    for run in first:
        place = settings.index(setting_name(run.contender.fields))
        name = method_name(run.contender.fields)
        axes = grid[place, methods.index(name)]
        lines = np.array([percent(record) for record in run.records]).T
        lowest.setdefault(place, []).append(float(lines[:, lines.shape[1] // 10].min()))
        for n, (line, alone) in enumerate(zip(lines, percent(run.control[-1]), strict=True)):
            colour = COLOURS[n % len(COLOURS)]
            axes.plot(line, color=colour, linewidth=1.4, label=f"P{n + 1}")
            if not run.contender.control:
                axes.axhline(alone, color=colour, linewidth=0.8, linestyle=":")
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("round", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(visible=True, axis="y", linewidth=0.3)
    for place, setting in enumerate(settings):
        grid[place, 0].set_ylim(bottom=min(lowest[place]) - 1)
        grid[place, 0].set_ylabel(f"{setting}\ntest accuracy, %", fontsize=8)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    handles.append(Line2D([], [], color="grey", linewidth=0.8, linestyle=":"))
    labels.append("alone, in the end")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
    return figure
