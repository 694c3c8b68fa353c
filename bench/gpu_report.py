"""Which card is here, whether it gives the bits of the CPU, and how fast it is: one Markdown file.

    python bench/gpu_report.py [--device cuda] [--out gpu-report.md]

Every kernel runs on the same random residues on both and is compared bit by bit. Then whole
exchanges of 512 -> 64 -> x^2 -> 10 on 4096 samples: from bytes in the host's memory to bytes in
the host's memory, so transfers are included, with the GPU's largest memory; and the KL cross term
on resident data. Its first line names the card. Without one it says so and ends with 1; nothing is
claimed that did not run. `--device cpu-kernels` tries the report itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import torch
import typer
import warp as wp
from numpy.typing import NDArray

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend, kernels
from securefair.ckks.backends.residues import Residues, copied, in_memory, named_device
from securefair.ckks.backends.rns import RnsBackend
from securefair.ckks.primes import ntt_primes
from securefair.errors import SecureFairError
from securefair.profiling.dry_exchange import ANSWER, RECEIVE, DryTeacher, ask, synthetic
from securefair.profiling.head import describe_machine
from securefair.profiling.measure import Stopwatch
from securefair.report import write_text

RING, LIMBS, COUNT = 8192, 4, 8
REPEATS = 7
RELEASES: tuple[str, ...] = ("logits", "projection", "loss")
HEAD = {"features": 512, "hidden": 64, "classes": 10, "samples": 4096}


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(work: Callable[[], object], device: torch.device) -> float:
    """Median milliseconds, after one run that does not count."""
    times = []
    for _ in range(REPEATS + 1):
        synchronise(device)
        started = time.perf_counter()
        work()
        synchronise(device)
        times.append(time.perf_counter() - started)
    return median(times[1:]) * 1e3


def kernel_rows(device: torch.device) -> list[str]:
    """A row a kernel: equal bits or not, milliseconds on the CPU and there."""
    primes = ntt_primes(RING, 31, LIMBS + 1)
    basis, special = kernels.Basis(RING, primes[:LIMBS]), primes[-1]
    rng = np.random.default_rng(0)

    def random(*lead: int, limbs: tuple[int, ...] = basis.primes) -> NDArray[np.int32]:
        rows = [rng.integers(0, p, (*lead, RING), dtype=np.int32) for p in limbs]
        return np.stack(rows, axis=-2)

    x, y, three = random(COUNT, 2), random(COUNT, 2), random(COUNT, 3)
    key = random(LIMBS, 2, limbs=primes)
    weights = rng.integers(-2047, 2048, (16, COUNT))
    seeds = rng.integers(0, 256, (COUNT, 64), dtype=np.uint8)

    def transformed(t: Residues) -> Residues:
        values = copied(t)
        kernels.ntt_forward_(values, basis)
        return values

    work: dict[str, tuple[Callable[..., Residues], tuple[NDArray[np.generic], ...]]] = {
        "transform": (transformed, (x,)),
        "add": (lambda a, b: kernels.add(a, b, basis), (x, y)),
        "linear": (lambda a: kernels.linear(weights, a, basis), (x,)),
        "square": (lambda a: kernels.square(a, basis), (x,)),
        "sums of products": (lambda a, b: kernels.inner(a, b, basis), (x, y)),
        "rescale": (lambda a: kernels.rescale(a, LIMBS - 2, basis), (x,)),
        "relinearise": (lambda a, k: kernels.relinearize(a, k, special, basis), (three, key)),
        "expand seeds": (lambda s: kernels.expand_seeds(s, basis), (seeds,)),
    }
    rows = []
    for name, (kernel, arguments) in work.items():
        there = [torch.from_numpy(argument).to(device) for argument in arguments]
        equal = np.array_equal(kernel(*arguments), in_memory(kernel(*there)))
        on_cpu = timed(lambda k=kernel, a=arguments: k(*a), torch.device("cpu"))
        on_device = timed(lambda k=kernel, a=there: k(*a), device)
        rows.append(f"| {name} | {'equal' if equal else '**DIFFERENT**'} | {on_cpu:.2f} "
                    f"| {on_device:.2f} |")  # fmt: skip
    return rows


def exchange_row(release: str, name: str) -> str:
    """One release: receive and answer from bytes to bytes, error over its bound, memory."""
    device = torch.device("cuda" if name.startswith("cuda") else "cpu")
    plan = plan_exchange(ExchangeSpec(**HEAD, release=release))
    material = synthetic(plan)
    keys = get_backend("rns").generate_keys(
        plan.params,
        relinearization=plan.relinearization_limbs,
        galois=plan.galois_limbs,
        element=plan.galois_element,
    )
    sent, _ = ask(material, keys, Stopwatch(), Stopwatch())
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    first, further = [], []
    for _ in range(REPEATS):
        totals = Stopwatch()
        teacher = DryTeacher(
            plan, material.model, RnsBackend(name), keys.public, Stopwatch(), totals
        )
        teacher.prepare()
        teacher.receive(sent)
        teacher.answer(sent)
        first.append(totals.seconds[RECEIVE] + totals.seconds[ANSWER])
        teacher.prepare()
        before = totals.seconds[ANSWER]
        teacher.answer(sent)
        further.append(totals.seconds[ANSWER] - before)
    memory = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
    each = 1e3 / plan.spec.samples
    return (f"| `{release}` | {median(first) * each:.5f} | {median(further) * each:.5f} "
            f"| {memory / 1e9:.2f} |")  # fmt: skip


def cross_term_row(device: torch.device) -> str:
    """Products of predictions and logits on resident data, microseconds a sample."""
    primes = ntt_primes(2 * RING, 31, LIMBS)
    basis = kernels.Basis(2 * RING, primes)
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, p, (10, 2, 2 * RING)) for p in primes]
    x = torch.from_numpy(np.stack(rows, axis=-2).astype(np.int32)).to(device)
    each = timed(lambda: kernels.inner(x, x, basis), device) * 1e3 / RING
    return f"KL cross term on resident data: {each:.4f} us a sample."


def card(device: torch.device) -> str:
    """What the first line says of it."""
    if device.type != "cuda":
        return "No card: the kernels of cards on this processor."
    found = torch.cuda.get_device_properties(device)
    memory, processors = found.total_memory / 1e9, found.multi_processor_count
    generation = f"sm_{found.major}{found.minor}"
    return f"Card: {found.name}, {memory:.0f} GB, {generation}, {processors} multiprocessors."


def report(name: str, device: torch.device) -> str:
    """The whole file."""
    machine = describe_machine()
    lines = [
        card(device), "",
        f"torch {torch.__version__}, warp {wp.config.version}; host {machine.processor}, "
        f"{machine.cores} cores, {machine.instruction_set}.", "",
        "| kernel | bits | CPU, ms | device, ms |", "|---|---|---|---|", *kernel_rows(device), "",
        "| release | receive + answer, ms a sample | further answer | GPU memory, GB |",
        "|---|---|---|---|", *(exchange_row(release, name) for release in RELEASES),
        "", cross_term_row(device), "",
    ]  # fmt: skip
    return "\n".join(lines)


def main(
    device: Annotated[str, typer.Option(help="As encryption.device.")] = "cuda",
    out: Annotated[Path, typer.Option(help="Where the report goes.")] = Path("gpu-report.md"),
) -> None:
    """Check, measure, write."""
    try:
        found = named_device(device)
    except SecureFairError as refused:
        print(f"No card: nothing was measured. {refused}", file=sys.stderr)
        raise typer.Exit(1) from None
    if found is None:
        print("the processor's own kernels are what a card is compared with", file=sys.stderr)
        raise typer.Exit(1)
    text = report(device, found)
    write_text(out, text)
    print(text)
    if "DIFFERENT" in text:
        raise typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
