"""The kinds of figures in the papers, drawn from runs; colours are safe for the colour-blind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from securefair.records import RoundRecord
from securefair.reproduction.experiment import Fields, Finished, Row
from securefair.reproduction.measures import percent, reputation

Values = NDArray[np.float64]
# Okabe and Ito's colours, in an order that also differs in lightness, with marks of their own.
COLOURS = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#D55E00",
    "#0072B2",
    "#CC79A7",
    "#F0E442",
    "#999999",
)
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")  # another number than of colours
MAP = "cividis"


def canvas(width: float, height: float) -> Figure:
    """An empty figure of so many inches that needs no display."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def setting_name(fields: Fields) -> str:
    """Of a panel: the data and who holds what."""
    named = [f"{fields['dataset']}, {fields['split']}", f"N = {fields['n']}"]
    return ", ".join(named)


def method_name(fields: Fields) -> str:
    """In a legend: the method and what else tells it from others of the panel."""
    known = ("dataset", "split", "n", "model", "family", "method", "flippers")
    extra = [
        f"{k} {v}" if isinstance(v, int | float) else str(v)
        for k, v in fields.items()
        if k not in known and v is not None
    ]
    return ", ".join([str(fields["method"]), *extra])


def _panels(
    finished: Sequence[Finished],
) -> dict[tuple[object, ...], dict[str, list[Finished]]]:
    """Runs by setting and method, seeds together."""
    result: dict[tuple[object, ...], dict[str, list[Finished]]] = {}
    for run in finished:
        panel = result.setdefault(run.contender.setting, {})
        panel.setdefault(method_name(run.contender.fields), []).append(run)
    return result


def _mean(runs: Sequence[Finished], of: Callable[[RoundRecord], object], at: int = -1) -> Values:
    stacked = np.array([of(run.records[at]) for run in runs], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        mean: Values = stacked.mean(axis=0)
    return mean


def participant_bars(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """A panel for each setting, a group of bars for each participant: accuracy in percent."""
    del rows
    panels = _panels(finished)
    figure = canvas(9, 0.6 + 2.2 * len(panels))
    for axes, methods in zip(_column(figure, len(panels)), panels.values(), strict=True):
        fields = next(iter(methods.values()))[0].contender.fields
        width = 0.8 / len(methods)
        for place, (name, runs) in enumerate(methods.items()):
            accuracy = _mean(runs, percent)
            spots = np.arange(len(accuracy)) + (place - (len(methods) - 1) / 2) * width
            axes.bar(spots, accuracy, width, label=name, color=COLOURS[place % len(COLOURS)])
        axes.set_xticks(range(len(accuracy)), [f"P{n + 1}" for n in range(len(accuracy))])
        axes.set_ylabel("test accuracy, %")
        axes.set_title(setting_name(fields), loc="left", fontsize=9)
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def participant_radar(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """A radar for each setting, a spoke for each participant: accuracy in percent."""
    del rows
    panels = _panels(finished)
    figure = canvas(5.2 * len(panels), 5)
    for place, methods in enumerate(panels.values(), start=1):
        axes = figure.add_subplot(1, len(panels), place, projection="polar")
        for index, (name, runs) in enumerate(methods.items()):
            accuracy = _mean(runs, percent)
            angles = np.linspace(0, 2 * np.pi, len(accuracy), endpoint=False)
            axes.plot(
                np.append(angles, angles[0]),
                np.append(accuracy, accuracy[0]),
                color=COLOURS[index % len(COLOURS)],
                marker=MARKS[index % len(MARKS)],
                markersize=4,
                label=name,
            )
        axes.set_xticks(angles, [f"P{n + 1}" for n in range(len(angles))], fontsize=7)
        axes.tick_params(axis="y", labelsize=7)
        fields = next(iter(methods.values()))[0].contender.fields
        axes.set_title(f"{setting_name(fields)}\ntest accuracy, %", fontsize=9)
        axes.legend(fontsize=7, loc="lower left", bbox_to_anchor=(-0.15, -0.15))
    return figure


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
    chosen = _seeds_together([run for run in finished if not run.contender.control])
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
    for line, run in zip(grid, first, strict=True):
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
        line[0].set_ylabel(method_name(run.contender.fields), fontsize=7)
    return figure


def correlation_panels(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """Accuracy after against before collaboration, a panel for each method, a point for each."""
    del rows
    methods = _seeds_together([run for run in finished if not run.contender.control])
    figure = canvas(3.2 * len(methods), 3.4)
    panels = figure.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for axes, (name, runs) in zip(panels, methods.items(), strict=True):
        after = _mean(runs, percent)
        before = np.mean([percent(run.control[-1]) for run in runs], axis=0)
        axes.scatter(before, after, color=COLOURS[5], zorder=2)
        for n, (x, y) in enumerate(zip(before, after, strict=True), start=1):
            axes.annotate(f"P{n}", (x, y), xytext=(4, 3), textcoords="offset points", fontsize=7)
        ends = [min(*before, *after), max(*before, *after)]
        axes.plot(ends, ends, color="grey", linewidth=0.8, linestyle="--", zorder=1)
        found = np.corrcoef(before, after)[0, 1] if np.ptp(after) and np.ptp(before) else 0.0
        axes.set_title(f"{name}\nPearson {found:.2f}", fontsize=8)
        axes.set_xlabel("accuracy alone, %")
    panels[0].set_ylabel("accuracy after, %")
    return figure


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
                _without(row.fields, x, *only) for row in rows if metric in row.metrics
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
        if _without(row.fields, x, *left_out) == name and metric in row.metrics
    ]


def _without(fields: Fields, *left_out: str) -> str:
    return ", ".join(
        f"{key} {value}" if isinstance(value, int | float) else str(value)
        for key, value in fields.items()
        if key not in left_out and value is not None
    )


def round_curves(
    label: str, of: Callable[[RoundRecord], float]
) -> Callable[[Sequence[Finished], Sequence[Row]], Figure]:
    """A number of every round, a line for each method, mean over seeds."""

    def draw(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
        del rows
        figure = canvas(7, 4)
        axes = figure.subplots()
        for index, (name, runs) in enumerate(_seeds_together(finished).items()):
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


def row_map(label: str) -> Callable[[Sequence[Finished], Sequence[Row]], Figure]:
    """Rows as a heat map of their metrics, a panel for each method or data set."""

    def draw(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
        del finished
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(_without(row.fields, "participant"), []).append(row)
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


def _seeds_together(finished: Sequence[Finished]) -> dict[str, list[Finished]]:
    result: dict[str, list[Finished]] = {}
    several = len({run.contender.setting for run in finished}) > 1
    for run in finished:
        fields = run.contender.fields
        name = method_name(fields)
        result.setdefault(f"{setting_name(fields)}: {name}" if several else name, []).append(run)
    return result


def _maps(
    finished: Sequence[Finished],
    of: Callable[[RoundRecord], Values],
    label: str,
    rounds_of: Callable[[Sequence[RoundRecord]], list[int]],
) -> Figure:
    groups = {
        name: runs for name, runs in _seeds_together(finished).items() if rounds_of(runs[0].records)
    }
    columns = max(len(rounds_of(runs[0].records)) for runs in groups.values())
    figure = canvas(1 + 2.9 * columns, 0.4 + 2.8 * len(groups))
    grid = figure.subplots(len(groups), columns, squeeze=False)
    for line, (name, runs) in zip(grid, groups.items(), strict=True):
        for axes in line:
            axes.set_axis_off()
        for axes, t in zip(line, rounds_of(runs[0].records), strict=False):
            axes.set_axis_on()
            values = _mean(runs, of, t)
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


def _column(figure: Figure, count: int) -> Sequence[Axes]:
    axes: Sequence[Axes] = figure.subplots(count, 1, squeeze=False)[:, 0].tolist()
    return axes
