"""An alignment's profile as a table on a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

from securefair.report import count, data_size, plural
from securefair_lab.profiling.alignment import AlignmentProfile


def alignment_table(profile: AlignmentProfile) -> Table:
    """Figures of one profile, for `rich.console.Console.print`."""
    p = profile
    rows = [
        ("Gradient, numbers encrypted", f"{count(p.dimension)}, {count(p.numbers)}"),
        ("Ciphertexts", f"{p.ciphertexts} of ring degree {count(p.ring_degree)}"),
        ("Backend", f"{p.backend}, median of {plural(p.repeats, 'run')}"),
        ("One alignment", f"{p.milliseconds:.2f} ms"),
        *((f"  {name}", f"{value:.2f} ms") for name, value in p.stages.items()),
        ("Up, down", f"{data_size(p.bytes_up)}, {data_size(p.bytes_down)}"),
        ("Public key, once", data_size(p.public_key_bytes)),
        ("Largest error seen", f"{p.abs_error:.2g}"),
        ("Stated bound", f"{p.stated_error_bound:.2g}, exceeded with probability {p.failure:g}"),
        ("  of it by encryption", f"{p.encryption_error_bound:.2g}, worst case"),
    ]
    table = Table(box=box.SIMPLE, show_header=False, title="One encrypted alignment")
    for row in rows:
        table.add_row(*row)
    return table
