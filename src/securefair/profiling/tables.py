"""Plans and profiles as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from securefair.profiling.head import HeadProfile
from securefair.report.wording import count, data_size, duration

STAGES = {
    "keys": "Generate keys",
    "pack": "Pack samples into slots",
    "encode": "Encode features",
    "encrypt_zeros": "Encrypt: SEAL's zeros, addition, bytes",
    "encrypt": "Encode and encrypt features",
    "prepare": "Prepare the reconstruction",
    "encrypt_query": "Encrypt predictions or basis",
    "load_keys": "Load keys",
    "expand": "Check the upload, expand seeds",
    "compile": "Quantise the model",
    "linear1": "First linear layer",
    "linear2": "Second linear layer",
    "square": "Square",
    "products": "Products with what the student encrypted",
    "add_blocks": "Add blocks",
    "relinearise": "Relinearise",
    "rescale": "Rescale",
    "sanitise": "Sanitise: mask and flood",
    "extract": "Extract what is released",
    "other": "Everything else of the teacher",
    "open": "Decrypt and decode",
    "reconstruct": "Reconstruct logits",
}


def profile_table(profile: HeadProfile) -> RenderableType:
    """Figures, stages and limits of one profile, for `rich.console.Console.print`."""
    return Group(_figures(profile), _stages(profile), Text(_limits(profile)))


def _figures(p: HeadProfile) -> Table:
    wish, machine = p.wish, p.machine
    rows = [
        (
            "Exchange",
            f"{count(wish.samples)} samples, {wish.features} -> {wish.hidden or 'linear'} -> "
            f"{wish.classes}, release {wish.release}",
        ),
        (
            "Machine",
            f"{machine.processor}, {p.threads} of {machine.cores} cores, "
            f"{machine.instruction_set}, backend {p.backend}, median of {p.repeats}",
        ),
        ("Ring degree, limbs, blocks", f"{count(p.ring_degree)}, {p.limbs}, {p.blocks}"),
        ("log2 QP, flooding", f"{p.log_qp:.1f} bits, {p.flooding_bits} bits"),
        ("Server, a sample", f"{p.server_ms_per_sample:.4f} ms"),
        ("  of it again for a further answer", f"{p.answer_ms_per_sample:.4f} ms"),
        ("Encrypt features, a sample", f"{p.encrypt_ms_per_sample:.4f} ms"),
        ("Encrypt predictions or basis, a sample", f"{p.query_ms_per_sample:.4f} ms"),
        ("Decrypt, a sample", f"{p.decrypt_us_per_sample:.2f} us"),
        ("Prepare reconstruction, reconstruct", f"{p.prepare_s:.3f} s, {p.reconstruct_ms:.2f} ms"),
        ("Up, a sample (features; all)", _both(p.upload_bytes_per_sample, p.bytes_up_per_sample)),
        ("Down, an answer", data_size(p.bytes_down)),
        ("Keys, once", data_size(p.key_bytes)),
        ("Largest error, of its bound", f"{p.max_abs_error:.3g}, {p.error_bound:.3g}"),
        ("Largest error over the range", f"{p.error_over_range:.3g}"),
        ("Peak memory, both sides", f"{p.peak_rss_mb:.0f} MB"),
    ]
    return rows_table("Head exchange", rows)


def _stages(p: HeadProfile) -> Table:
    table = plain_table("Stages (median of an exchange; limits: multiply-adds, bytes)")
    for heading in ("Side", "Stage"):
        table.add_column(heading)
    for heading in ("Time", "a sample", "Arithmetic limit", "Bandwidth limit"):
        table.add_column(heading, justify="right")
    for stage in p.stages:
        limits = (stage.arithmetic_limit_ms, stage.bandwidth_limit_ms)
        table.add_row(
            stage.side,
            STAGES[stage.stage],
            duration(stage.ms / 1e3),
            f"{stage.ms * 1e3 / p.wish.samples:.3g} us",
            *("" if limit is None else duration(limit / 1e3) for limit in limits),
        )
    return table


def _limits(p: HeadProfile) -> str:
    d = p.distance
    return (
        f"The server's {d.multiply_adds / 1e9:.3g} G modular multiply-adds need "
        f"{d.arithmetic_limit_ms_per_sample:.4f} ms a sample at the "
        f"{d.multiply_adds_per_second / 1e9:.3g} G/s measured here, its {data_size(d.bytes)} need "
        f"{d.bandwidth_limit_ms_per_sample:.4f} ms at {data_size(d.bytes_per_second)}/s: "
        f"{d.over_arithmetic_limit:.1f} and {d.over_bandwidth_limit:.1f} times the limits."
    )


def _both(first: float, second: float) -> str:
    return f"{data_size(first)}; {data_size(second)}"


def rows_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Two columns: what, how much."""
    table = plain_table(title)
    table.show_header = False
    table.add_column("")
    table.add_column("")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def plain_table(title: str) -> Table:
    """A table in the style of the run's summary."""
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
