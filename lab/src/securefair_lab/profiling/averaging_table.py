"""A weighted sum's profile as a table on a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

from securefair.report import count, data_size, plural
from securefair_lab.profiling.averaging import AveragingProfile


def averaging_table(profile: AveragingProfile) -> Table:
    """Figures of one profile, for `rich.console.Console.print`."""
    p = profile
    over = p.bytes_per_edge / p.clear_bytes_per_edge
    rows = [
        ("Averaging", f"{p.averaging}, median of {plural(p.repeats, 'sum')}"),
        ("Parameters, senders", f"{count(p.spec.parameters)}, {p.spec.senders}"),
        ("One edge", f"{p.seconds_per_edge * 1e3:.1f} ms on {plural(p.threads, 'thread')}"),
        *((f"  {name}", f"{value * 1e3:.1f} ms") for name, value in p.stages.items()),
        ("Sent on it", data_size(p.bytes_per_edge)),
        ("In the clear, as float32", f"{data_size(p.clear_bytes_per_edge)}: {over:.2f} times that"),
        ("Public key, once", data_size(p.public_key_bytes)),
        ("Largest error seen", f"{p.max_abs_error:.2g}"),
        ("Stated bound", f"{p.error_bound:.2g}"),
        ("Peak memory, everyone's", data_size(round(p.peak_rss_mb * 1e6))),
        ("Weights", "hidden from senders" if p.hides_weights else "known to their senders"),
        ("Parameters", "hidden from the receiver" if p.hides_parameters else "in the open"),
    ]
    table = Table(box=box.SIMPLE, show_header=False, title="One weighted sum")
    for row in rows:
        table.add_row(*row)
    return table
