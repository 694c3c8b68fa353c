"""Plans and profiles as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from securefair.profiling.head_record import HeadProfile
from securefair.report.wording import count, data_size, duration, plural

STAGES = {
    "keys": "Generate keys",
    "pack": "Pack into slots",
    "encode": "Encode",
    "encrypt_zeros": "Encrypt zeros, add",
    "encrypt": "Encode, encrypt",
    "prepare": "Prepare reconstruction",
    "encrypt_query": "Encrypt factors",
    "load_keys": "Load keys",
    "zeros_ahead": "Zeros made ahead",
    "receive": "Check upload",
    "compile": "Quantise model",
    "layers": "Expand, evaluate head",
    "linear1": "Linear 1",
    "linear2": "Linear 2",
    "conjugate": "Add conjugates",
    "square": "Square",
    "forms": "Multiply by forms",
    "join": "Join classes",
    "products": "Products",
    "add_blocks": "Add blocks",
    "relinearise": "Relinearise",
    "rescale": "Rescale",
    "sanitise": "Sanitise",
    "extract": "Extract",
    "other": "Other",
    "open": "Decrypt, decode",
    "reconstruct": "Reconstruct logits",
}


def profile_table(profile: HeadProfile) -> RenderableType:
    """Figures, stages and limits of one profile, for `rich.console.Console.print`."""
    return Group(_figures(profile), _stages(profile), Text(_limits(profile)))


def _figures(p: HeadProfile) -> Table:
    spec, machine = p.spec, p.machine
    layers = [spec.features, *([spec.hidden] if spec.hidden else []), spec.classes]
    rows = [
        ("Samples, head", f"{count(spec.samples)}, {' -> '.join(count(w) for w in layers)}"),
        ("Release", spec.release),
        ("Processor", f"{machine.processor}, {plural(machine.cores, 'core')}"),
        ("Backend", f"{p.backend}, {machine.instruction_set}, {plural(p.threads, 'thread')}"),
        ("Device", p.device),
        ("Repeats", f"median of {p.repeats}, {'fresh processes' if p.fresh else 'one process'}"),
        ("Ring degree, limbs, blocks", f"{count(p.ring_degree)}, {p.limbs}, {p.blocks}"),
        ("log2 QP, flooding", f"{p.log_qp:.1f} bits, {p.flooding_bits} bits"),
        ("Server, a sample", f"{p.server_ms_per_sample:.4f} ms"),
        ("  of it for every answer", f"{p.answer_ms_per_sample:.4f} ms"),
        ("  made ahead for it", f"{p.ahead_ms_per_sample:.4f} ms"),
        ("Encrypt features, a sample", f"{p.encrypt_ms_per_sample:.4f} ms"),
        ("Encrypt factors, a sample", f"{p.query_ms_per_sample:.4f} ms"),
        ("Decrypt, a sample", f"{p.decrypt_us_per_sample:.2f} us"),
        ("Prepare, reconstruct", f"{p.prepare_s:.3f} s, {p.reconstruct_ms:.2f} ms"),
        ("Features up, a sample", data_size(p.upload_bytes_per_sample)),
        ("All up, a sample", data_size(p.bytes_up_per_sample)),
        ("Answer down", data_size(p.bytes_down)),
        ("Keys", data_size(p.key_bytes)),
        ("Largest error, its bound", f"{p.max_abs_error:.3g}, {p.error_bound:.3g}"),
        ("Largest error over the range", f"{p.error_over_range:.3g}"),
        ("Besides: a logit by rounding weights", f"{p.rounding_error:.3g}"),
        *(
            (
                ("Peak memory, teacher", f"{p.peak_rss_mb:.0f} MB"),
                ("Peak memory, student", f"{p.student_peak_rss_mb:.0f} MB"),
            )
            if p.fresh
            else (("Peak memory, both sides", f"{p.peak_rss_mb:.0f} MB"),)
        ),
    ]
    return rows_table("Head exchange", rows)


def _stages(p: HeadProfile) -> Table:
    table = plain_table("Stages of an exchange, and what its multiply-adds and bytes need at least")
    for heading in ("Side", "Stage"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Time", "us/sample", "Arithmetic", "Bandwidth"):
        table.add_column(heading, justify="right", no_wrap=True)
    for stage in p.stages:
        limits = (stage.arithmetic_limit_ms, stage.bandwidth_limit_ms)
        table.add_row(
            stage.side,
            STAGES[stage.stage],
            duration(stage.ms / 1e3),
            f"{stage.ms * 1e3 / p.spec.samples:.3g}",
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
    """A table in the style of the run's summary, but tighter: 80 columns hold nine figures."""
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
