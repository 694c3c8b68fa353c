"""A sharing profile on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from securefair.report import data_size, percent
from securefair_lab.profiling.sharing_records import SharingCost, SharingProfile

HEADINGS = ("Answers", "Declines", "Bytes", "saved", "Time", "saved", "Accuracy")


def sharing_table(profile: SharingProfile) -> RenderableType:
    """A row a probability, VPDL and CYCle below, and what the lines say."""
    task = profile.task
    title = (
        f"{task.participants} participants with up to {task.samples} samples of "
        f"{task.features} features ({task.data}), {task.rounds} rounds, release {task.release}"
    )
    grid = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    grid.add_column("Sharing", no_wrap=True)
    for heading in HEADINGS:
        grid.add_column(heading, justify="right", no_wrap=True)
    for point in profile.points:
        saved = (percent(point.saving_bytes), percent(point.saving_seconds))
        grid.add_row(*_row(f"r {point.probability:g}", point, *saved))
    grid.add_section()
    grid.add_row(*_row("VPDL", profile.always, "", ""))
    cycle = profile.cycle
    saved = (percent(cycle.saving_bytes), percent(cycle.saving_seconds))
    grid.add_row(*_row(f"CYCle, r {cycle.mean_reputation:.2f}", cycle, *saved))
    return Group(grid, Text(_lines(profile)))


def _row(name: str, cost: SharingCost, saved_bytes: str, saved_time: str) -> list[str]:
    return [
        name,
        str(cost.answers),
        str(cost.declines),
        data_size(cost.bytes),
        saved_bytes,
        f"{cost.server_seconds:.2f} s",
        saved_time,
        percent(cost.accuracy),
    ]


def _lines(profile: SharingProfile) -> str:
    size, seconds, task = profile.fit.bytes, profile.fit.seconds, profile.task
    lines = [
        f"Bytes: {data_size(round(size.fixed))} + {data_size(round(size.slope))} x r, "
        f"R² {size.r2:.4f}.",
        f"Time, of teachers: {seconds.fixed:.2f} s + {seconds.slope:.2f} s x r, "
        f"R² {seconds.r2:.4f}.",
        f"CYCle saves {percent(profile.cycle.saving_round_bytes)} of what rounds send: without "
        "keys and samples.",
    ]
    failed = sum(point.problems for point in profile.points)
    if failed:
        lines.append(f"{failed} exchanges failed: these runs look cheaper than they are.")
    lines += [
        f"Ring degree {task.ring_degree}, log2 QP {task.log_qp:.0f}, "
        f"flooding {task.flooding_bits} bits, q = {task.q},",
        f"backend {task.backend}, threads: {task.threads}.",
    ]
    return "\n".join(lines)
