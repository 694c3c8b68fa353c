"""An exchange plan as tables on a terminal."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.text import Text

from securefair.circuit.packings.register import packing_of
from securefair.circuit.spec import ExchangeSpec
from securefair.profiling.cost import Cost
from securefair.profiling.cost_model import CostModel
from securefair.profiling.estimate import GIGABYTE, Estimate
from securefair.profiling.planned import PlannedStep, PlanReport
from securefair.profiling.tables import STAGES, plain_table, rows_table
from securefair.report.wording import count, data_size, duration, percent, plural


def plan_table(report: PlanReport) -> RenderableType:
    """Parameters, steps, bytes, work and disclosure, for `rich.console.Console.print`."""
    return Group(
        rows_table("Exchange plan", _parameters(report)),
        _steps(report.steps),
        rows_table("Bytes", _bytes(report)),
        rows_table("Work of one answer", _work(report)),
        rows_table("What one answer discloses", _disclosure(report)),
        rows_table("Certificate, in exact arithmetic", _certificate(report)),
        Text("Times depend on the machine: measure them with `securefair profile head`."),
    )


def estimate_table(found: Estimate, model: CostModel, spec: ExchangeSpec) -> RenderableType:
    """A hospital's whole collaboration in a few lines, and how far to trust them."""
    title = (
        f"A hospital's cost: {found.participants} participants, {found.rounds} rounds, "
        f"sharing {found.sharing:g}"
    )
    rows = [
        ("Answers given, and opened", f"{found.answers:,.0f}"),
        ("Computing as teacher", duration(found.teacher_hours * 3600)),
        ("Computing as student", duration(found.student_hours * 3600)),
        ("Sent as student", data_size(found.gigabytes_up * GIGABYTE)),
        ("Received as student", data_size(found.gigabytes_down * GIGABYTE)),
    ]
    if found.peak_gigabytes is not None:
        rows.append(("Peak memory", data_size(found.peak_gigabytes * GIGABYTE)))
    lines = [f"Measured on: {model.machine}, backend {model.backend}, threads: {model.threads}."]
    if not model.covers(spec):
        (b0, b1), (d0, d1) = model.samples, model.features
        lines.append(
            f"Extrapolated: measured were {count(b0)} to {count(b1)} samples of {count(d0)} to "
            f"{count(d1)} features."
        )
    return Group(rows_table(title, rows), Text("\n".join(lines)))


def shape(spec: ExchangeSpec) -> str:
    """The model's layers: "head 512 -> 64 -> 10"."""
    if spec.network:
        widths = (spec.features, *(bounds.values for bounds in spec.network))
    else:
        widths = (spec.features, *((spec.hidden,) if spec.hidden else ()), spec.classes)
    kind = "network" if spec.network else "head"
    return f"{kind} " + " -> ".join(count(width) for width in widths)


def _parameters(r: PlanReport) -> list[tuple[str, str]]:
    spec = r.spec
    chosen = f", {spec.basis} basis, q = {spec.q}" if spec.leaves.rows else ""
    filled = percent(spec.samples / r.places, 0)
    bits = ", ".join(f"{p.bit_length()}" for p in r.primes)
    return [
        ("Exchange", f"{count(spec.samples)} samples, {shape(spec)}"),
        ("Release", spec.release + chosen),
        ("Ring degree", f"{count(r.ring_degree)}; {plural(r.blocks, 'block')}, {filled} filled"),
        ("Packing", packing_of(r.packing).about),
        ("Limbs", f"{len(r.primes)} of {bits} bits, special {r.special_prime.bit_length()} bits"),
        ("log2 QP", f"{r.log_qp:.1f} of at most {r.log_qp_cap} bits"),
        ("Security", f"{r.security_bits} bits, classical"),
        ("Evaluation keys", ", ".join(r.evaluation_keys) or "none"),
        ("Flooding", f"{r.flooding_bits} bits above all noise that tells of the model"),
        ("  asked for", f"{spec.flooding_bits} bits; the rest fills the precision"),
        ("Largest error", f"{r.error_bound:.3g} in a released number"),
        ("  over the range", f"{r.relative_error:.2g}, asked for {spec.precision:.2g}"),
        ("  not in it", "rounding the model's weights to integers"),
    ]


def _steps(steps: list[PlannedStep]) -> RenderableType:
    table = plain_table("Steps of an answer: the result of each (scale and spare modulus in bits)")
    table.add_column("Step", no_wrap=True)
    for heading in ("Times", "Cts", "Polys", "Limbs", "Scale", "|value|", "Error", "Spare"):
        table.add_column(heading, justify="right", no_wrap=True)
    for step in steps:
        table.add_row(
            STAGES[step.stage],
            count(step.times),
            count(step.ciphertexts),
            str(step.polys),
            str(step.limbs),
            f"{step.log2_scale:.1f}",
            f"{step.bound:.4g}",
            f"{step.error:.1e}",
            f"{step.spare_bits:.1f}",
        )
    return table


def _bytes(r: PlanReport) -> list[tuple[str, str]]:
    size, samples = r.bytes, r.spec.samples
    rows = [
        ("Public key, once per key epoch", data_size(size.public_key)),
        ("Evaluation keys", data_size(size.evaluation_keys)),
        ("Features, once per data epoch", _per_sample(size.features, samples)),
        ("Basis, once per data epoch", _per_sample(size.basis, samples)),
        ("Query, every time", _per_sample(size.query, samples)),
        ("Answer, every time", _per_sample(size.answer, samples)),
    ]
    return [(name, value) for name, value in rows if not value.startswith("0")]


def _certificate(r: PlanReport) -> list[tuple[str, str]]:
    return [
        (
            fact.name[0].upper() + fact.name[1:],
            ("holds" if fact.holds else "FAILS")
            + ("" if fact.margin_bits is None else f" by {fact.margin_bits:.2f} bits"),
        )
        for fact in r.certificate
    ]


def _work(r: PlanReport) -> list[tuple[str, str]]:
    work: Cost = r.teacher
    each = work.multiply_adds / r.spec.samples
    return [
        (
            "Teacher: modular multiply-adds",
            f"{_large(work.multiply_adds)}, {_large(each)} a sample",
        ),
        ("Teacher: transforms", count(work.transforms)),
        ("Teacher: encryptions of zero", count(work.encryptions)),
        ("Teacher: residues from seeds", _large(work.expanded)),
        ("Teacher: bytes moved", data_size(work.bytes)),
        ("Student: encryptions", count(r.encryptions)),
    ]


def _disclosure(r: PlanReport) -> list[tuple[str, str]]:
    told = r.disclosure
    return [
        ("Numbers", count(told.numbers)),
        *(
            [("of the head's parameters", _share(told.numbers, told.model_parameters))]
            if told.model_parameters
            else []
        ),
        ("of all logits (samples times classes)", _share(told.numbers, told.all_logits)),
    ]


def _per_sample(size: int, samples: int) -> str:
    return f"{data_size(size)}, {data_size(size / samples)} a sample" if size else "0"


def _share(part: int, whole: int) -> str:
    return f"{percent(part / whole)} of {count(whole)}"


def _large(number: float) -> str:
    """Three digits and a power of a thousand: 3_380_000_000 as "3.38 G"."""
    power = min(4, int(math.log10(max(1.0, number)) // 3))
    return f"{number / 1000**power:.3g} {['', 'k', 'M', 'G', 'T'][power]}".strip()
