"""The same head here, in TenSEAL, OpenFHE and DESILO, in one run, with outputs checked.

    python bench/peers/head.py --samples 4096 --features 512 --hidden 64 --classes 10

Timed is the teacher's side: from encrypted features in memory to encrypted logits (linear, square,
linear). Ours starts from the upload's bytes, and includes checking and expanding it, quantising the
weights, sanitising and writing the answer's bytes, which the others do not do; what a further
answer to the same upload takes is told below the table. Every result is decrypted and compared with
cleartext before it is printed. Where fewer samples were measured than asked for, the table says so:
a sample costs the same there whatever else is computed.

OpenFHE runs under an interpreter of its own, found as docs/backends.md says; without one it is
left out, with the reason. Its two-process row is what two cores give there. DESILO's library has a
licence for non-commercial use alone. It is compared where SECUREFAIR_DESILO_PYTHON names an
interpreter that has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import tenseal
import torch
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from securefair import ExchangeSpec, plan_exchange
from securefair.ckks.backends import kernels
from securefair.ckks.backends.openfhe_process import find_interpreter
from securefair.ckks.threads import cores, set_threads
from securefair.errors import BackendUnavailableError
from securefair.exchange.teacher import Teacher
from securefair.profiling.dry_exchange import synthetic
from securefair.profiling.exchange_cost import PreparedExchange
from securefair.profiling.head import describe_machine
from securefair.report import write_json

Array = NDArray[np.float64]

RING, SCALE_BITS, OUTER_BITS = 8192, 35, 50
"""TenSEAL's smallest ring at 128 bits: 205 of 218 bits, three levels for linear, square, linear."""

TOLERANCE = 0.05
"""Largest error of a logit that counts as the same result; logits here are about 1."""

REPEATS = 3
OURS = "securefair, rns"


class PeerResult(msgspec.Struct, frozen=True, kw_only=True):
    """One system on one work.

    Attributes:
        samples: how many were measured.
        seconds: of the teacher for these, the best of the repeats.
        further_seconds: for a further answer to the same upload; None where nothing is saved.
        ready_seconds: where encryptions of zero were made before, as by a teacher that waits.
        input_bytes: of the encrypted features on the wire; 0 in the clear.
        error: largest difference of a logit from cleartext.
        security: bits, as the system's own parameters promise; 0 in the clear.
    """

    name: str
    threads: int
    samples: int
    seconds: float
    further_seconds: float | None = None
    ready_seconds: float | None = None
    input_bytes: int
    error: float
    security: int

    @property
    def ms_per_sample(self) -> float:
        """Of the teacher's computation."""
        return self.seconds / self.samples * 1e3

    @property
    def besides(self) -> list[tuple[str, float]]:
        """What else was timed, and milliseconds a sample."""
        timed = (
            ("zeros made ahead", self.ready_seconds),
            ("a further answer", self.further_seconds),
        )
        return [(what, s / self.samples * 1e3) for what, s in timed if s is not None]


class Head(msgspec.Struct, frozen=True):
    """z = W2 (W1 x + b1)^2 + b2, row vectors: weights (inputs, outputs)."""

    w1: Array
    b1: Array
    w2: Array
    b2: Array

    def logits(self, x: Array) -> Array:
        """In the clear."""
        return (x @ self.w1 + self.b1) ** 2 @ self.w2 + self.b2


def ours(plan: Any, threads: int, expected: Array) -> PeerResult:
    """The rns backend, through the same calls as in an exchange."""
    name, exchange = OURS, PreparedExchange(plan.spec, backend="rns")
    seconds, answer = _best(lambda: exchange.evaluate(exchange.receive()))
    upload = exchange.receive()
    further, _ = _best(lambda: exchange.evaluate(upload))
    released = exchange.open(answer)
    return PeerResult(
        name=name,
        threads=threads,
        samples=plan.spec.samples,
        seconds=seconds,
        further_seconds=further,
        ready_seconds=min(_ready(exchange) for _ in range(REPEATS)),
        input_bytes=exchange.feature_bytes,
        error=_checked(name, released, expected),
        security=plan.security_bits,
    )


def _ready(exchange: PreparedExchange) -> float:
    """Seconds of a first answer, less those of the zeros that were made ahead."""
    received, upload = _timed(exchange.receive)
    Teacher.prepare(upload)
    answered, _ = _timed(lambda: exchange.evaluate(upload))
    return received + answered


def tenseal_tensor(head: Head, x: Array, threads: int, expected: Array) -> PeerResult:
    """A `ckks_tensor`: a slot a sample, a ciphertext a feature, `mm` with cleartext weights."""
    name, context = "TenSEAL tensor", _context(threads)
    samples = min(len(x), RING // 2)
    rows = x[:samples, None, :].tolist()  # a batch of matrices of one row
    encrypted = tenseal.ckks_tensor(context, tenseal.plain_tensor(rows), batch=True)
    w1, b1, w2, b2 = (
        tenseal.plain_tensor(np.atleast_2d(a).tolist())
        for a in (head.w1, head.b1, head.w2, head.b2)
    )

    def infer() -> Any:
        hidden = encrypted.mm(w1).add(b1)
        return hidden.square().mm(w2).add(b2)

    seconds, result = _best(infer, repeats=1)
    return PeerResult(
        name=name,
        threads=threads,
        samples=samples,
        seconds=seconds,
        input_bytes=len(encrypted.serialize()),
        error=_checked(name, np.array(result.decrypt().tolist()), expected[:samples]),
        security=128,
    )


def tenseal_vector(head: Head, x: Array, threads: int, expected: Array, samples: int) -> PeerResult:
    """A `ckks_vector` a sample, rotations inside `matmul`: what tutorials do.

    Biases are rows of the weights, for a constant feature and a constant hidden unit: TenSEAL
    0.3.18 adds a bias to the first slots only, and a second `matmul` reads all copies.
    """
    name, context = "TenSEAL vector", _context(threads)
    context.generate_galois_keys()
    constant = np.zeros((len(head.w1) + 1, 1))
    constant[-1] = 1.0
    w1 = np.hstack([np.vstack([head.w1, head.b1]), constant]).tolist()
    w2 = np.vstack([head.w2, head.b2]).tolist()
    vectors = [tenseal.ckks_vector(context, [*row.tolist(), 1.0]) for row in x[:samples]]

    def infer() -> list[Any]:
        return [vector.matmul(w1).square().matmul(w2) for vector in vectors]

    seconds, results = _best(infer, repeats=1)
    return PeerResult(
        name=name,
        threads=threads,
        samples=samples,
        seconds=seconds,
        input_bytes=sum(len(v.serialize()) for v in vectors),
        error=_checked(name, np.array([r.decrypt() for r in results]), expected[:samples]),
        security=128,
    )


def openfhe(head: Head, x: Array, processes: int, expected: Array) -> PeerResult:
    """Batched like the tensor, by `EvalLinearWSum`, in processes of one thread each."""
    return _elsewhere("OpenFHE", find_interpreter(), head, x, processes, expected)


def desilo(head: Head, x: Array, threads: int, expected: Array) -> PeerResult:
    """Batched like the tensor, by `weighted_sum`.

    Raises:
        BackendUnavailableError: no interpreter is named that has it.
    """
    interpreter = os.environ.get("SECUREFAIR_DESILO_PYTHON")
    if interpreter is None:
        raise BackendUnavailableError(
            "no interpreter with desilofhe is named", hint="Set SECUREFAIR_DESILO_PYTHON"
        )
    return _elsewhere("DESILO", interpreter, head, x, threads, expected)


def _elsewhere(
    name: str, interpreter: str, head: Head, x: Array, threads: int, expected: Array
) -> PeerResult:
    """A script of its own under another interpreter, with files between."""
    samples = min(len(x), RING // 2)
    with tempfile.TemporaryDirectory() as folder:
        work, result = Path(folder) / "work.npz", Path(folder) / "result.npz"
        np.savez(work, x=x[:samples], w1=head.w1, b1=head.b1, w2=head.w2, b2=head.b2)
        script = Path(__file__).with_name(f"{name.lower()}_head.py")
        subprocess.run(
            [interpreter, "-I", str(script), str(work), str(result), str(threads)],
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        with np.load(result) as found:
            seconds, size, logits = (found[key] for key in ("seconds", "input_bytes", "logits"))
    return PeerResult(
        name=name,
        threads=threads,
        samples=samples,
        seconds=float(seconds),
        input_bytes=int(size),
        error=_checked(name, logits, expected[:samples]),
        security=128,
    )


def cleartext(head: Head, x: Array, threads: int, expected: Array) -> PeerResult:
    """torch, float32: what encryption is measured against."""
    w1, b1, w2, b2, features = (
        torch.from_numpy(a).float() for a in (head.w1, head.b1, head.w2, head.b2, x)
    )
    seconds, result = _best(lambda: (features @ w1 + b1).square() @ w2 + b2, repeats=20)
    return PeerResult(
        name="cleartext, float32",
        threads=threads,
        samples=len(x),
        seconds=seconds,
        input_bytes=x.size * 4,
        error=_checked("cleartext", result.numpy().astype(np.float64), expected),
        security=0,
    )


def main(
    features: int = 512,
    hidden: int = 64,
    classes: int = 10,
    samples: int = 4096,
    precision: Annotated[
        float, typer.Option(help="Ours: largest error of a logit over the range of 64.")
    ] = 2.0**-14,
    vector_samples: Annotated[
        int, typer.Option(help="How many the per-sample vectors are measured on.")
    ] = 2,
    threads: Annotated[int | None, typer.Option(help="Of every system (default: cores).")] = None,
    out: Annotated[Path | None, typer.Option(help="JSON file for the results.")] = None,
    write: Annotated[Path | None, typer.Option(help="Page whose table is replaced.")] = None,
) -> None:
    """Measure all that are installed, check their outputs, print ratios."""
    threads = threads or cores()
    set_threads(threads)
    spec = ExchangeSpec(
        features=features,
        hidden=hidden,
        classes=classes,
        samples=samples,
        release="logits",
        precision=precision,
    )
    plan = plan_exchange(spec)
    material = synthetic(plan)
    first, second = material.model.folded().weighted
    head = Head(first.weights.T.copy(), first.bias, second.weights.T.copy(), second.bias)
    x = material.samples.features
    expected = head.logits(x)
    np.testing.assert_allclose(expected, material.model.folded().logits(x), atol=1e-9)

    results = [
        cleartext(head, x, threads, expected),
        ours(plan, threads, expected),
        tenseal_tensor(head, x, threads, expected),
        tenseal_vector(head, x, threads, expected, vector_samples),
    ]
    console = Console()
    for name, peer in (("OpenFHE", openfhe), ("DESILO", desilo)):
        try:
            results += [peer(head, x, count, expected) for count in sorted({1, threads})]
        except BackendUnavailableError as error:
            console.print(f"{name} is not compared: {error}", markup=False)
    machine = describe_machine()
    console.print(_table(results, samples, f"{features} -> {hidden} -> x^2 -> {classes}"))
    for r in results:
        for what, milliseconds in r.besides:
            console.print(f"{r.name}, {what}: {milliseconds:.3g} ms a sample.")
    console.print(f"{machine.processor}, {machine.cores} cores, {kernels.describe()}", markup=False)
    if out is not None:
        write_json(out, {"spec": spec, "machine": machine, "results": results})
    if write is not None:
        sys.path.append(str(Path(__file__).parent.parent))
        from page import replace_tables

        replace_tables(write, {"peers": _markdown(results)})


def _markdown(results: list[PeerResult]) -> str:
    (reference,) = (r for r in results if r.name == OURS)
    rows = [
        "| system | threads | samples | ms a sample | input bytes a sample | error of a logit "
        "| slower by |",
        "|" + "---|" * 7,
    ]
    for r in sorted(results, key=lambda result: result.ms_per_sample):
        rows.append(
            f"| {r.name} | {r.threads} | {r.samples:,} | {r.ms_per_sample:,.4g} "
            f"| {r.input_bytes / r.samples:,.0f} | {r.error:.1e} "
            f"| {_ratio(r.ms_per_sample / reference.ms_per_sample)} |"
        )
        for what, milliseconds in r.besides:
            rows.append(
                f"| {r.name}, {what} | {r.threads} | {r.samples:,} | {milliseconds:,.4g} | | | |"
            )
    return "\n".join(rows)


def _table(results: list[PeerResult], samples: int, work: str) -> Table:
    (reference,) = (r for r in results if r.name == OURS)
    table = Table(
        title=f"{work}, {samples} samples asked for", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column("System", no_wrap=True)
    for heading in ("threads", "samples", "ms each", "bytes", "error", "slower"):
        table.add_column(heading, justify="right", no_wrap=True)
    for r in sorted(results, key=lambda result: result.ms_per_sample):
        table.add_row(
            r.name,
            str(r.threads),
            f"{r.samples}",
            f"{r.ms_per_sample:,.4g}" if r.ms_per_sample < 1000 else f"{r.ms_per_sample:,.0f}",
            f"{r.input_bytes / r.samples:,.0f}",
            f"{r.error:.1e}",
            _ratio(r.ms_per_sample / reference.ms_per_sample),
        )
    return table


def _ratio(value: float) -> str:
    """Two to three digits and no exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _context(threads: int) -> Any:
    bits = [OUTER_BITS, SCALE_BITS, SCALE_BITS, SCALE_BITS, OUTER_BITS]
    context = tenseal.context(
        tenseal.SCHEME_TYPE.CKKS, RING, coeff_mod_bit_sizes=bits, n_threads=threads
    )
    context.global_scale = 2.0**SCALE_BITS
    return context


def _best(work: Callable[[], Any], *, repeats: int = REPEATS) -> tuple[float, Any]:
    seconds, result = float("inf"), None
    for _ in range(repeats):
        once, result = _timed(work)
        seconds = min(seconds, once)
    return seconds, result


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def _checked(name: str, found: Array, expected: Array) -> float:
    error = float(np.abs(found.reshape(expected.shape) - expected).max())
    if not error < TOLERANCE:
        raise SystemExit(f"{name}: outputs differ from cleartext by {error}")
    return error


if __name__ == "__main__":
    typer.run(main)
