"""An estimate of a whole collaboration on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from securefair.circuit.spec import ExchangeSpec
from securefair.profiling.cost_model import CostModel
from securefair.profiling.estimate import GIGABYTE, Estimate
from securefair.report.wording import count, data_size, duration


def estimate_text(found: Estimate, model: CostModel, spec: ExchangeSpec) -> RenderableType:
    """A hospital's whole collaboration in a few lines, and how far to trust them."""
    title = (
        f"A hospital's cost: {found.participants} participants, {found.rounds} rounds, "
        f"sharing {found.sharing:g}"
    )
    grid = Table(box=box.SIMPLE, show_header=False)
    grid.add_row("Answers given, and opened", f"{found.answers:,.0f}")
    grid.add_row("Computing as teacher", duration(found.teacher_hours * 3600))
    grid.add_row("Computing as student", duration(found.student_hours * 3600))
    grid.add_row("Sent as student", data_size(found.gigabytes_up * GIGABYTE))
    grid.add_row("Received as student", data_size(found.gigabytes_down * GIGABYTE))
    if found.peak_gigabytes is not None:
        grid.add_row("Peak memory", data_size(found.peak_gigabytes * GIGABYTE))
    lines = [f"Measured on: {model.machine}, backend {model.backend}, threads: {model.threads}."]
    if not model.covers(spec):
        (b0, b1), (d0, d1) = model.samples, model.features
        lines.append(
            f"Extrapolated: measured were {count(b0)} to {count(b1)} samples of {count(d0)} to "
            f"{count(d1)} features."
        )
    return Group(Text(title), grid, Text("\n".join(lines)))
