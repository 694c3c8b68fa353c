"""A sharing profile as files: JSON, a table for spreadsheets, and a figure."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from securefair.data import csv_text
from securefair.report import write_json, write_text
from securefair_lab.profiling.sharing_records import SharingProfile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    "probability",
    "answers",
    "declines",
    "server_seconds",
    "student_seconds",
    "bytes_up",
    "bytes_down",
    "saving_bytes",
    "saving_seconds",
    "saving_round_bytes",
    "accuracy",
)
MESSAGES = ("hello", "keys", "features", "ask", "answer", "decline")

PAPER_SAVING = (0.35, 0.50)
"""Encrypted traffic that adaptive sharing saves, as CYCle's appendix on its cost observed it."""

MEGABYTE = 1e6

LEAST_POINTS = 10.0
"""Of the axis of accuracy: what chance does to one seed must not look like a jump."""


def write_sharing(profile: SharingProfile, folder: Path) -> list[Path]:
    """Write sharing.json, sharing.csv, sharing.svg and sharing.png.

    Raises:
        OSError: the folder cannot be written.
    """
    figure = draw(profile)
    svg, png = io.StringIO(), folder / "sharing.png"
    figure.savefig(svg, format="svg", metadata={"Date": None})
    written = [
        write_json(folder / "sharing.json", profile),
        write_text(folder / "sharing.csv", table(profile)),
        write_text(folder / "sharing.svg", svg.getvalue()),
    ]
    figure.savefig(png, dpi=150)
    return [*written, png]


def table(profile: SharingProfile) -> str:
    """One row a probability, with bytes by message type, as CSV."""
    rows: list[list[object]] = [[*COLUMNS, *(f"{message}_bytes" for message in MESSAGES)]]
    for point in profile.points:
        sizes = [point.bytes_by_message.get(message, 0) for message in MESSAGES]
        rows.append([*(getattr(point, column) for column in COLUMNS), *sizes])
    return csv_text(rows)


def draw(profile: SharingProfile) -> Figure:
    """Cost, saving and accuracy over sharing probability; nothing is shown on a screen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.6), layout="constrained")
    cost, saving, accuracy = figure.subplots(1, 3)
    _draw_cost(cost, profile)
    _draw_saving(saving, profile)
    _draw_accuracy(accuracy, profile)
    for axes in (cost, saving, accuracy):
        axes.set_xlabel("sharing probability r")
        axes.set_xlim(-0.03, 1.03)
        axes.grid(alpha=0.3)
    task = profile.task
    figure.suptitle(
        f"{task.participants} participants, {task.rounds} rounds, every {task.forced_every}th "
        f"forced, release {task.release}, ring degree {task.ring_degree}, backend {task.backend}",
        fontsize=10,
    )
    return figure


def _draw_cost(axes: Axes, profile: SharingProfile) -> None:
    r = [point.probability for point in profile.points]
    line = np.array([min(r), max(r)])
    seconds = axes.twinx()
    for side, values, fit, colour, label in (
        (axes, [p.bytes / MEGABYTE for p in profile.points], profile.fit.bytes, "C0", "MB"),
        (seconds, [p.server_seconds for p in profile.points], profile.fit.seconds, "C1", "s"),
    ):
        unit = MEGABYTE if label == "MB" else 1.0
        side.plot(r, values, "o", color=colour, markersize=4)
        side.plot(line, (fit.fixed + fit.slope * line) / unit, color=colour, linewidth=1)
        side.set_ylim(bottom=0)
        side.tick_params(axis="y", colors=colour)
    axes.set_ylabel("bytes on the wire (MB)", color="C0")
    seconds.set_ylabel("teachers' seconds", color="C1")
    axes.set_title(
        f"Cost (R² {profile.fit.bytes.r2:.3f} bytes, {profile.fit.seconds.r2:.3f} seconds)"
    )


def _draw_saving(axes: Axes, profile: SharingProfile) -> None:
    r = [point.probability for point in profile.points]
    axes.axhspan(
        *(100 * share for share in PAPER_SAVING), color="0.85", label="CYCle's paper: 35-50 %"
    )
    cycle = profile.cycle
    for attribute, colour, style, label in (
        ("saving_seconds", "C1", "-", "teachers' seconds"),
        ("saving_round_bytes", "C0", "--", "bytes of the rounds"),
        ("saving_bytes", "C0", "-", "bytes with keys and features"),
    ):
        values = [100 * getattr(point, attribute) for point in profile.points]
        axes.plot(r, values, color=colour, linestyle=style, marker="o", markersize=4, label=label)
        # Larger and hollow where the line is broken: stars of one place can be told apart.
        size, inside = (13, colour) if style == "-" else (19, "none")
        saved = 100 * getattr(cycle, attribute)
        axes.plot(cycle.mean_reputation, saved, "*", color=colour, ms=size, markerfacecolor=inside)
    axes.plot([], [], "*", color="0.3", ms=11, label="CYCle, at its mean reputation")
    axes.set_ylabel("saved against always sharing (%)")
    axes.set_title("Saving")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)


def _draw_accuracy(axes: Axes, profile: SharingProfile) -> None:
    r = [point.probability for point in profile.points]
    axes.plot(r, [100 * p.accuracy for p in profile.points], "o-", color="C2", label="fixed r")
    axes.axhline(100 * profile.always.accuracy, color="0.5", linestyle="--", label="VPDL")
    cycle = profile.cycle
    axes.plot(cycle.mean_reputation, 100 * cycle.accuracy, "*", color="C2", ms=13, label="CYCle")
    low, high = axes.get_ylim()
    margin = max(0.0, LEAST_POINTS - (high - low)) / 2
    axes.set_ylim(low - margin, high + margin)
    axes.set_ylabel("mean test accuracy (%)")
    axes.set_title(f"Accuracy on {profile.task.data}")
    axes.legend(fontsize=8)
