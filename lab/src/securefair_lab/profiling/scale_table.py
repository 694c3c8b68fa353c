"""A scale profile and an estimate on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from securefair.profiling import TransferProfile
from securefair.report import count, data_size, percent
from securefair_lab.profiling.scale import TEACHER, ScaleProfile

MEGA = 1e6
HEADINGS = (
    "Samples",
    "Features",
    "MB",
    "Teacher ms",
    "model",
    "Encrypt s",
    "model",
    "Peak MB",
    "model",
)


def scale_table(profile: ScaleProfile) -> RenderableType:
    """Measured against predicted, point by point, the held-out one last."""
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in HEADINGS:
        grid.add_column(heading, justify="right", no_wrap=True)
    for point in (*profile.points, profile.held_out):
        if point is profile.held_out:
            grid.add_section()
        was, said = point.measured, point.predicted
        grid.add_row(
            count(point.samples),
            count(point.features),
            f"{point.bytes / MEGA:.1f}",
            *(f"{sum(d[name] for name in TEACHER) * 1e3:.1f}" for d in (was, said)),
            *(f"{d['encrypt_seconds']:.2f}" for d in (was, said)),
            *(f"{d['peak_bytes'] / MEGA:.0f}" for d in (was, said)),
        )
    last = profile.held_out
    lines = [
        f"Held out, last row: the teacher's time is predicted {_off(last.error)},",
        f"encryption {_off(last.errors['encrypt_seconds'])}, "
        f"memory {_off(last.errors['peak_bytes'])}.",
    ]
    lines += [
        f"{group.participants} participants, {group.rounds} rounds: {group.teacher_seconds:.2f} s "
        f"as teacher, estimated {_off(group.error)}; {data_size(group.bytes)}."
        for group in profile.participants
    ]
    model = profile.model
    lines.append(f"{model.machine}, backend {model.backend}, threads: {model.threads}.")
    return Group(grid, Text("\n".join(lines)))


def transfer_table(profile: TransferProfile) -> RenderableType:
    """Measured against predicted seconds, the foretold transfer last; and the prices."""
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("Hospitals", "Answers", "MB", "Seconds", "model"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for point in (*profile.points, profile.held_out):
        if point is profile.held_out:
            grid.add_section()
        grid.add_row(
            count(point.participants),
            count(point.answers),
            f"{point.bytes / MEGA:.1f}",
            f"{point.seconds:.2f}",
            f"{point.predicted:.2f}",
        )
    prices = (profile.hospital_seconds, profile.answer_seconds, profile.mask_seconds)
    hospital, answer, mask = (f"{1e3 * price:.3g} ms" for price in prices)
    lines = [
        f"Last row, foretold from the others: {_off(profile.held_out.error)}.",
        f"A hospital {hospital}, an answer {answer}, a mask {mask}, of one core, all roles.",
        f"{count(profile.patients)} patients each, {count(profile.features)} features, "
        f"{count(profile.classes)} classes, {count(profile.q)} numbers a logit, groups "
        f"of {profile.peers + 1} or more.",
        f"{profile.machine}, backend {profile.backend}, threads: 1.",
    ]
    return Group(grid, Text("\n".join(lines)))


def _off(error: float) -> str:
    return f"{percent(abs(error))} too {'high' if error > 0 else 'low'}"
