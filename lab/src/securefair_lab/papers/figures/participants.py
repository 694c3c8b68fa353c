"""Figures of who ends where: bars, radars, and accuracy after against before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from securefair_lab.papers.experiment import Finished, Row
from securefair_lab.papers.figures.drawing import (
    COLOURS,
    MARKS,
    canvas,
    column,
    mean_of,
    panels_of,
    seeds_together,
    setting_name,
)
from securefair_lab.papers.measures import percent

WHISKERS = "#777777"  # to be seen on black and beside it
FEW_BARS = 16  # of a panel: so many have room for their numbers


def participant_bars(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """A panel for each setting, a group of bars for each participant: accuracy in percent.

    Whiskers are the spread over seeds (ddof 1), where there are several.
    """
    del rows
    panels = panels_of(finished)
    figure = canvas(9, 0.6 + 2.4 * len(panels))
    for axes, methods in zip(column(figure, len(panels)), panels.values(), strict=True):
        first = next(iter(methods.values()))
        width = 0.8 / len(methods)
        for place, (name, runs) in enumerate(methods.items()):
            each = np.array([percent(run.records[-1]) for run in runs])
            count = each.shape[1]
            spots = np.arange(count) + (place - (len(methods) - 1) / 2) * width
            bars = axes.bar(
                spots,
                each.mean(axis=0),
                width,
                yerr=each.std(axis=0, ddof=1) if len(runs) > 1 else None,
                ecolor=WHISKERS,
                capsize=2,
                label=name,
                color=COLOURS[place % len(COLOURS)],
            )
            if count * len(methods) <= FEW_BARS:
                axes.bar_label(bars, fmt="%.1f", fontsize=7, padding=2)
        axes.margins(y=0.12)
        axes.set_xticks(range(count), [f"P{n + 1}" for n in range(count)])
        axes.set_ylabel("test accuracy, %")
        seeds = f", mean and spread of {len(first)} seeds" if len(first) > 1 else ""
        axes.set_title(setting_name(first[0].contender.fields) + seeds, loc="left", fontsize=9)
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def level_bars(label: str) -> Callable[[Sequence[Finished], Sequence[Row]], Figure]:
    """Metrics P1, P2, ... of rows and their "spread of P1", ...: a panel for each data set.

    Args:
        label: of the axis.
    """

    def draw(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
        del finished
        datasets = list(dict.fromkeys(str(row.fields["dataset"]) for row in rows))
        figure = canvas(1.5 + 2.9 * len(datasets), 3.6)
        panels = figure.subplots(1, len(datasets), squeeze=False, sharey=True)[0]
        for axes, dataset in zip(panels, datasets, strict=True):
            own = [row for row in rows if row.fields["dataset"] == dataset]
            for place, row in enumerate(own):
                names = [key for key in row.metrics if key.startswith("P")]
                axes.bar(
                    np.arange(len(names)) + 0.27 * (place - 1),
                    [row.metrics[name] for name in names],
                    0.27,
                    yerr=[row.metrics[f"spread of {name}"] for name in names],
                    ecolor=WHISKERS,
                    capsize=2,
                    color=COLOURS[place],
                    label=str(row.fields["method"]),
                )
                axes.set_xticks(range(len(names)), names)
            axes.set_title(dataset, fontsize=9)
        panels[0].set_ylabel(label)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
        return figure

    return draw


def participant_radar(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """A radar for each setting, a spoke for each participant: accuracy in percent."""
    del rows
    panels = panels_of(finished)
    figure = canvas(5.2 * len(panels), 5)
    for place, methods in enumerate(panels.values(), start=1):
        axes = figure.add_subplot(1, len(panels), place, projection="polar")
        for index, (name, runs) in enumerate(methods.items()):
            accuracy = mean_of(runs, percent)
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


def correlation_panels(finished: Sequence[Finished], rows: Sequence[Row]) -> Figure:
    """Accuracy after against before collaboration, a panel for each method, a point for each."""
    del rows
    methods = seeds_together([run for run in finished if not run.contender.control])
    figure = canvas(3.2 * len(methods), 3.4)
    panels = figure.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for axes, (name, runs) in zip(panels, methods.items(), strict=True):
        after = mean_of(runs, percent)
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
