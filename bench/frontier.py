"""Accuracy on CIFAR-10 over a teacher's time an image: the networks that encryption has room for.

    python bench/frontier.py --data DATA --cache CACHE --out docs/images --write docs/networks.md
    python bench/frontier.py --measure cifar --measure cifar-wide --measure cifar-cosines ...

DATA holds cifar10.npz. With --measure a batch of 8,192 encrypted images goes through each network
named, in a process of its own; that takes minutes and up to 14 GB. What was measured is kept in
bench/frontier.json. A network that was not is drawn hollow: its time is the planner's, times what
`cifar` took over what the planner says of it.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
import torch
import typer
from page import PageOption, replace_tables, run_script

from securefair.circuit.planner import ExchangePlan
from securefair.circuit.walk import steps_seconds
from securefair.report import read_json, write_json, write_text
from securefair_lab.data.images import load_cifar10
from securefair_lab.networks import ReferenceName, reference, trained_network
from securefair_lab.profiling.cnn_task import cnn_task
from securefair_lab.scores import accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEPT = Path(__file__).with_name("frontier.json")
NETWORKS: tuple[ReferenceName, ...] = ("cifar", "cifar-wide", "cifar-cosines")
KNOWN: ReferenceName = "cifar"
"""What the planner's seconds are scaled by."""

GOAL = (20.0, 0.85)
"""Milliseconds an image, and accuracy."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a profile (`profiling.cnn.CnnProfile`)."""

    ms_per_image: float
    processor_ms_per_image: float
    accuracy_clear: float
    accuracy_encrypted: float
    agreement: float
    peak_rss_mb: float
    threads: int


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One network.

    Attributes:
        accuracy: in the clear, over all test images.
        planned_seconds: of one core for a full batch, by the planner's prices.
        ms_per_image: measured, or else scaled from these.
        measured: None where it was not.
    """

    name: str
    multiply_adds: int
    squares: int
    parameters: int
    accuracy: float
    planned_seconds: float
    ring_degree: int
    limbs: int
    log_qp: float
    ms_per_image: float
    measured: Measured | None


def main(
    data: Annotated[Path, typer.Option(help="Folder with cifar10.npz.")],
    out: Annotated[Path, typer.Option(help="Folder for cifar-frontier.svg.")],
    cache: Annotated[Path | None, typer.Option(help="Folder for decoded images.")] = None,
    measure: Annotated[list[str] | None, typer.Option(help="Networks to measure.")] = None,
    write: PageOption = None,
) -> None:
    """Measure what is asked for, plan the rest, draw."""
    kept = read_json(KEPT, dict[str, Measured]) if KEPT.is_file() else {}
    for name in measure or []:
        kept[name] = profiled(name, data, cache)
        write_json(KEPT, kept)
    points = frontier(data, cache, kept)
    text = table(points)
    print(text)
    svg = io.StringIO()
    draw(points).savefig(svg, format="svg", metadata={"Date": None})
    write_text(out / "cifar-frontier.svg", svg.getvalue())
    if write is not None:
        replace_tables(write, {"frontier": text})


def profiled(name: str, data: Path, cache: Path | None) -> Measured:
    """A batch through one network, in a fresh process on all cores."""
    command = [sys.executable, "-m", "securefair", "profile", "cnn", "--network", name, "--json"]
    command += ["--data", str(data), *(["--cache", str(cache)] if cache else [])]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    profile = json.loads(found)
    return msgspec.convert(profile, Measured)


def frontier(data: Path, cache: Path | None, kept: dict[str, Measured]) -> list[Point]:
    """All networks, by time."""
    torch.set_num_threads(1)
    test = load_cifar10(data, cache=cache).test_samples()
    assert test is not None
    images = test.features.astype(np.float32, copy=False)
    planned, points = {}, []
    for name in NETWORKS:
        network, task = trained_network(name), cnn_task(name, folder=data, cache=cache)
        values = reference(name).encrypted(images)
        planned[name] = steps_seconds(task.plan)
        points.append(
            Point(
                name=name,
                multiply_adds=task.network.multiply_adds,
                squares=task.network.squares,
                parameters=network.parameter_count,
                accuracy=accuracy(network.logits(values).argmax(axis=1), test.labels),
                planned_seconds=planned[name],
                **_sizes(task.plan),
                ms_per_image=kept[name].ms_per_image if name in kept else np.nan,
                measured=kept.get(name),
            )
        )
    scale = kept[KNOWN].ms_per_image / planned[KNOWN] if KNOWN in kept else np.nan
    return sorted(
        (
            each
            if each.measured
            else msgspec.structs.replace(each, ms_per_image=scale * each.planned_seconds)
            for each in points
        ),
        key=lambda each: each.ms_per_image,
    )


def _sizes(plan: ExchangePlan) -> dict[str, float]:
    params = plan.params
    return {
        "ring_degree": params.ring_degree,
        "limbs": params.limbs,
        "log_qp": params.log_qp,
    }


def table(points: list[Point]) -> str:
    """Networks as rows."""
    rows = [
        "| network | products | squares | parameters | ring degree, limbs, log2 QP |"
        " teacher, ms an image | accuracy in the clear | encrypted | equal predictions |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for each in points:
        found = each.measured
        time = f"{each.ms_per_image:.1f}" if found else f"{each.ms_per_image:.0f} (planned)"
        cells = (
            f"`{each.name}`",
            f"{each.multiply_adds:,}",
            f"{each.squares:,}",
            f"{each.parameters:,}",
            f"{each.ring_degree:,}, {each.limbs}, {each.log_qp:.0f}",
            time,
            f"{each.accuracy:.2%}",
            f"{found.accuracy_encrypted:.2%}" if found else "not measured",
            f"{found.agreement:.2%}" if found else "not measured",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def draw(points: list[Point]) -> Figure:
    """Accuracy over milliseconds, the goal beside it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "securefair"  # equal figures give equal files
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot([p.ms_per_image for p in points], [100 * p.accuracy for p in points], color="0.7")
    for each in points:
        face = "C0" if each.measured else "white"
        at = (each.ms_per_image, 100 * each.accuracy)
        axes.plot(*at, "o", color="C0", markerfacecolor=face, markersize=8)
        label = each.name if each.measured else f"{each.name} (time planned)"
        axes.annotate(label, at, xytext=(0, 9), textcoords="offset points", ha="center")
    axes.plot(GOAL[0], 100 * GOAL[1], "*", color="C3", markersize=12)
    axes.annotate(
        "goal", (GOAL[0], 100 * GOAL[1]), xytext=(0, 8), textcoords="offset points", ha="center"
    )
    axes.set_xlabel("teacher's time, ms an image (2 threads, batch of 8,192)")
    axes.set_ylabel("accuracy in the clear, % of 10,000 test images")
    axes.set_xlim(0, 1.3 * max(GOAL[0], *(p.ms_per_image for p in points)))
    axes.set_ylim(70, 90)
    axes.grid(alpha=0.3)
    return figure


if __name__ == "__main__":
    run_script(main)
