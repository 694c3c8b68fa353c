"""A network's profile as a table on a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

from securefair.report import count, data_size, plural
from securefair_lab.profiling.cnn import CnnProfile


def cnn_table(profile: CnnProfile) -> Table:
    """Figures of one profile, for `rich.console.Console.print`."""
    p = profile
    rows = [
        ("Network", f"{p.network}: {count(p.multiply_adds)} products, {count(p.squares)} squares"),
        ("Batch", f"{plural(p.batch, 'image')} together, {p.slots} places"),
        ("Teacher, an image", f"{p.ms_per_image:.2f} ms on {plural(p.threads, 'thread')}"),
        ("  of processor time", f"{p.processor_ms_per_image:.2f} ms"),
        ("Encryption, an image", f"{p.encrypt_ms_per_image:.2f} ms"),
        ("Latency of the batch", f"{p.latency_seconds:.1f} s"),
        *((f"  {name}", f"{value:.1f} s") for name, value in p.stages.items()),
        ("Up, an image", data_size(round(p.bytes_up_per_image))),
        ("Down, an image", data_size(round(p.bytes_down_per_image))),
        ("Keys, once", data_size(p.key_bytes)),
        ("Peak memory, both sides", data_size(round(p.peak_rss_mb * 1e6))),
        ("  ciphertexts, planned", data_size(round(p.planned_peak_mb * 1e6))),
        (
            "Accuracy in the clear",
            f"{p.accuracy_clear:.2%} of {plural(p.test_images, 'test image')}",
        ),
        ("Accuracy encrypted", f"{p.accuracy_encrypted:.2%}"),
        ("Equal predictions", f"{p.agreement:.2%}"),
        ("Largest error of a logit", f"{p.max_abs_error:.2g}; bound {p.error_bound:.2g}"),
        ("Images beyond a bound", f"{p.beyond_bounds:.2%}"),
        ("Ring", f"N = {p.ring_degree}, limbs: {p.limbs}, log2 QP = {p.log_qp:.0f}"),
    ]
    table = Table(box=box.SIMPLE, show_header=False, title="A batch of encrypted images")
    for row in rows:
        table.add_row(*row)
    return table
