"""How the cost of an exchange grows with samples and features, and which ring wins when.

    python bench/scaling.py --out docs/images --threads 1 --write docs/notebook/performance.md

Measures on this machine, writes scaling.json and scaling.svg, prints the fits. Takes some minutes.
All exchanges are measured in turn, several times over, and the shortest times count: other work on
the machine only ever adds to them. On one thread they are times of the processor, so that it adds
little. Not a test: nothing here can fail on time.
"""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from unittest.mock import patch

import msgspec
import typer
from page import PageOption, replace_tables, run_script

from securefair.circuit import planner
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.threads import cores, set_threads
from securefair.errors import PlanError
from securefair.profiling.head import describe_machine, profile_plan
from securefair.profiling.head_record import Machine
from securefair.profiling.measure import MachineLimits, measure_limits
from securefair.report import write_json, write_text
from securefair_lab.profiling.fit import LinearFit, linear_fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCK = 4096
BLOCKS = (1, 2, 3, 4, 6, 8)
WIDTHS = (64, 128, 256, 512, 768, 1000)  # 12-bit weights are exact up to 1023 inputs
BATCHES = (16, 64, 256, 500, 1024, 2048, 4096, 8192, 16384)
RINGS = (4096, 8192, 16384)
HEADS = {"linear": {"hidden": 0}, "quadratic": {"hidden": 64}}
RELEASE = {"release": "logits", "classes": 10}
TIMES = ("server_s", "answer_s", "encrypt_s")


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of one exchange."""

    samples: int
    features: int
    ring_degree: int
    limbs: int
    blocks: int
    server_s: float
    answer_s: float
    encrypt_s: float
    upload_bytes: float


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """Everything measured."""

    machine: Machine
    threads: int
    passes: int
    by_samples: list[Point]
    by_features: list[Point]
    by_ring: dict[str, list[Point]]
    fits: dict[str, LinearFit]


def plan_at(spec: ExchangeSpec, ring_degree: int) -> ExchangePlan | None:
    """The plan with samples in slots that a single ring degree allows; None where there is none."""
    only = {ring_degree: MAX_LOG_QP[ring_degree]}
    with patch.dict(MAX_LOG_QP, only, clear=True):
        try:
            return planner._search(spec, coefficients=False)
        except PlanError:
            return None


def measure(plan: ExchangePlan, limits: MachineLimits, threads: int) -> Point:
    """One exchange, after one that does not count."""
    spec = plan.spec
    clock = time.process_time if threads == 1 else time.perf_counter
    found = profile_plan(plan, limits, backend="rns", threads=threads, repeats=1, clock=clock)
    seconds = spec.samples / 1e3
    return Point(
        samples=spec.samples,
        features=spec.features,
        ring_degree=found.ring_degree,
        limbs=found.limbs,
        blocks=found.blocks,
        server_s=found.server_ms_per_sample * seconds,
        answer_s=found.answer_ms_per_sample * seconds,
        encrypt_s=found.encrypt_ms_per_sample * seconds,
        upload_bytes=found.upload_bytes_per_sample * spec.samples,
    )


def shortest(plans: Sequence[ExchangePlan], threads: int, passes: int) -> list[Point]:
    """Every plan's shortest times over all passes."""
    limits, best = measure_limits(), {}
    for number in range(passes):
        for index, plan in enumerate(plans):
            point = measure(plan, limits, threads)
            known = best.get(index, point)
            best[index] = msgspec.structs.replace(
                point, **{name: min(getattr(point, name), getattr(known, name)) for name in TIMES}
            )
            print(f"pass {number + 1}: {best[index]}", flush=True)
    return list(best.values())


def fits(by_samples: Sequence[Point], by_features: Sequence[Point]) -> dict[str, LinearFit]:
    """Lines through what should be lines: seconds over blocks, seconds over features."""
    lines = {}
    for what in TIMES:
        lines[f"{what} by blocks"] = linear_fit(
            [p.blocks for p in by_samples], [getattr(p, what) for p in by_samples]
        )
        lines[f"{what} by features"] = linear_fit(
            [p.features for p in by_features], [getattr(p, what) for p in by_features]
        )
    return lines


def main(
    out: Annotated[Path, typer.Option(help="Folder for scaling.json and scaling.svg.")],
    threads: Annotated[int | None, typer.Option(help="Default: all cores.")] = None,
    passes: Annotated[int, typer.Option(help="How often everything is measured.")] = 3,
    write: PageOption = None,
) -> None:
    """Measure, fit, draw."""
    threads = threads or cores()
    set_threads(threads)
    sizes = [(128, blocks * BLOCK) for blocks in BLOCKS] + [(width, BLOCK) for width in WIDTHS]
    plans = [
        plan_exchange(ExchangeSpec(features=d, samples=b, hidden=64, **RELEASE)) for d, b in sizes
    ]
    curves: list[str] = []
    for name, head in HEADS.items():
        for ring_degree in RINGS:
            for samples in BATCHES:
                plan = plan_at(
                    ExchangeSpec(features=64, samples=samples, **head, **RELEASE), ring_degree
                )
                if plan is not None:
                    curves.append(f"{name} head, N = {ring_degree}")
                    plans.append(plan)
    points = shortest(plans, threads, passes)
    by_samples = points[: len(BLOCKS)]
    by_features = points[len(BLOCKS) : len(sizes)]
    by_ring: dict[str, list[Point]] = {name: [] for name in curves}
    for name, point in zip(curves, points[len(sizes) :], strict=True):
        by_ring[name].append(point)
    scaling = Scaling(
        machine=describe_machine(),
        threads=threads,
        passes=passes,
        by_samples=by_samples,
        by_features=by_features,
        by_ring=by_ring,
        fits=fits(by_samples, by_features),
    )
    tables = {"growth": growth_table(scaling), "rings": ring_table(scaling)}
    for name, table in tables.items():
        print(f"{name}\n\n{table}\n")
    write_json(out / "scaling.json", scaling)
    svg = io.StringIO()
    draw(scaling).savefig(svg, format="svg", metadata={"Date": None})
    write_text(out / "scaling.svg", svg.getvalue())
    if write is not None:
        replace_tables(write, tables)


def growth_table(scaling: Scaling) -> str:
    """Seconds by samples and by features, with the lines through them."""
    rows = ["| samples | features | encrypt, s | receive and answer, s | a further answer, s |"]
    rows.append("|---|---|---|---|---|")
    for point in (*scaling.by_samples, *scaling.by_features):
        times = f"{point.encrypt_s:.2f} | {point.server_s:.3f} | {point.answer_s:.3f}"
        rows.append(f"| {point.samples:,} | {point.features} | {times} |")
    rows += ["", "| line | seconds | R^2 |", "|---|---|---|"]
    for name, line in scaling.fits.items():
        what, by = name.split("_s by ")
        unit = by.removesuffix("s")
        formula = f"{line.fixed:.3f} + {line.slope:.3g} a {unit}"
        rows.append(f"| {what} by {by} | {formula} | {line.r2:.4f} |")
    return "\n".join(rows)


def ring_table(scaling: Scaling) -> str:
    """Milliseconds an exchange of both sides, by ring and samples."""
    names = list(scaling.by_ring)
    rows = [f"| samples | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for number, samples in enumerate(BATCHES):
        points = [scaling.by_ring[name][number] for name in names]
        cells = [f"{(p.server_s + p.encrypt_s) * 1e3:.0f}" for p in points]
        rows.append(f"| {samples:,} | {' | '.join(cells)} |")
    return "\n".join(rows)


def draw(scaling: Scaling) -> Figure:
    """Three panels: samples, features, rings."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "securefair"  # equal figures give equal files
    figure = Figure(figsize=(13, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    line(left, scaling.by_samples, "samples", "samples of 128 features")
    line(middle, scaling.by_features, "features", "features, 4,096 samples")
    for name, points in scaling.by_ring.items():
        style = "--" if name.startswith("linear") else "-"
        each = [(p.server_s + p.encrypt_s) / p.samples * 1e3 for p in points]
        right.loglog([p.samples for p in points], each, style, marker=".", label=name)
    right.set_xlabel("samples of 64 features")
    right.set_ylabel("server and encryption, ms a sample")
    right.legend(fontsize=7)
    return figure


def line(axes: Axes, points: Sequence[Point], by: str, label: str) -> None:
    xs = [getattr(p, by) for p in points]
    for what, name in (
        ("encrypt_s", "encrypt (student)"),
        ("server_s", "receive and answer (server)"),
        ("answer_s", "a further answer (server)"),
    ):
        axes.plot(xs, [getattr(p, what) for p in points], marker="o", label=name)
    axes.set_xlabel(label)
    axes.set_ylabel("seconds an exchange")
    axes.set_xlim(0)
    axes.set_ylim(0)
    axes.legend(fontsize=7)


if __name__ == "__main__":
    run_script(main)
