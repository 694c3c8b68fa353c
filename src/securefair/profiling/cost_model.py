"""A cost model of this machine: counts of work, known from a plan alone, times fitted prices.

Every price is a non-negative number, seconds or bytes a unit, found by least squares on relative
errors, so that small exchanges count as much as large ones:

    keys      1, residues of a relinearisation key
    encrypt   1, residues of the encrypted features and basis
    query     1, residues of the encrypted predictions; for releases that send them, every round
    import    1, residues of a relinearisation key
    receive   1, residues of the encrypted features and basis, of them beyond what C reuses
    prepare   entries of the kernel over the student's samples: formed, or else 1, approximated
    answer    1, multiply-adds, residues of encryptions of zero, bytes moved (`cost`)
    open      1, residues of the answer, samples
    memory    1, residues of the features, entries of the kernel

Prices hold for the head and release that they were measured with: only samples, features and what
the planner makes of them may differ. Far outside the measured sizes they are a guess: `covers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from securefair.circuit.planner import ExchangePlan
from securefair.circuit.spec import ExchangeSpec
from securefair.config.extensions import LABORATORY
from securefair.errors import ConfigError, DataError
from securefair.model.kernel import EXACT_SAMPLES, LANDMARKS
from securefair.profiling.cost import WORD, Cost, cost, total
from securefair.profiling.trace import trace
from securefair.report import read_json

T = TypeVar("T")

MEASURE = "securefair profile scale --out cost.json"
"""The command that measures these prices; the laboratory has it."""

FORMAT = 6  # grows where the program does the same work at another price, too
QUANTITIES = {
    "key_seconds": 2,
    "encrypt_seconds": 2,
    "query_seconds": 2,
    "prepare_seconds": 3,
    "import_seconds": 2,
    "receive_seconds": 3,
    "answer_seconds": 4,
    "open_seconds": 3,
    "peak_bytes": 3,
}
"""What the model tells, and of how many counts each is a sum."""

OPTIONAL = ("query_seconds", "prepare_seconds")
"""What some releases do without: 0 there."""

FIXED = ("hidden", "classes", "release", "basis", "q", "flooding_bits", "precision")
"""Fields of a spec that prices depend on."""

REUSED_RESIDUES = (32 << 20) // WORD
"""glibc gives larger allocations back at once, and every page of the next is made anew (at most
32 MiB: mallopt's M_MMAP_THRESHOLD)."""


class CostModel(msgspec.Struct, frozen=True, kw_only=True):
    """Prices on one machine, at one number of threads and with one backend.

    Attributes:
        format: format of the file.
        spec: what was measured; samples and features aside.
        machine: where they were measured.
        backend, threads: with what.
        samples, features: smallest and largest that were measured.
        prices: for every quantity, one price a count of `counts`.
        largest_error: relative, of a quantity's prediction at the points that it was fitted to.
    """

    format: int
    spec: ExchangeSpec = msgspec.field(name="wish")  # the key that scripts read
    machine: str
    backend: str
    threads: int
    samples: tuple[int, int]
    features: tuple[int, int]
    prices: Mapping[str, tuple[float, ...]]
    largest_error: Mapping[str, float]

    def covers(self, spec: ExchangeSpec) -> bool:
        """Whether the spec lies within what was measured."""
        return all(
            low <= value <= high
            for value, (low, high) in (
                (spec.samples, self.samples),
                (spec.features, self.features),
            )
        )

    def predict(self, plan: ExchangePlan) -> dict[str, float]:
        """Seconds of every stage, and bytes of memory, of one exchange under that plan.

        Raises:
            ConfigError: the model was fitted to other heads or releases.
        """
        for field in FIXED:
            found, expected = getattr(plan.spec, field), getattr(self.spec, field)
            if found != expected:
                raise ConfigError(
                    "the cost model was measured with another exchange",
                    where=field,
                    found=found,
                    expected=expected,
                    hint=f"Measure this one (with {LABORATORY}): {MEASURE}",
                )
        known = counts(plan)
        return {name: float(np.dot(known[name], self.prices[name])) for name in QUANTITIES}


def counts(plan: ExchangePlan) -> dict[str, tuple[float, ...]]:
    """The counts that each quantity is a weighted sum of."""
    n, limbs = plan.params.ring_degree, plan.params.limbs
    switching = (plan.relinearization_limbs, plan.galois_limbs)
    key = sum(2 * each * (each + 1) * n for each in switching)
    upload = upload_residues(plan)
    work = answer_work(plan)
    zeros = work.encryptions * n * (limbs + 1)
    samples = plan.spec.samples
    query = 0
    if plan.spec.sends_predictions and plan.factors is not None:
        query = plan.blocks * plan.factors.count * plan.factors.limbs * n
    exact = approximated = 0
    if plan.spec.leaves.rows:
        if samples <= EXACT_SAMPLES:
            exact = samples * samples
        else:
            approximated = samples * LANDMARKS
    return {
        "key_seconds": (1.0, key),
        "encrypt_seconds": (1.0, upload),
        "query_seconds": (float(query > 0), query),
        "prepare_seconds": (exact, float(approximated > 0), approximated),
        "import_seconds": (1.0, key),
        "receive_seconds": (1.0, upload, max(0, upload - REUSED_RESIDUES)),
        "answer_seconds": (1.0, work.multiply_adds, zeros, work.bytes),
        "open_seconds": (1.0, plan.answer_bytes / WORD, samples),
        "peak_bytes": (1.0, upload, exact + approximated),
    }


def upload_residues(plan: ExchangePlan) -> int:
    """Residues that a teacher keeps of one student, seeds expanded."""
    basis = plan.factors if plan.spec.student_basis else None
    kept = ((plan.blocks, plan.features), (plan.blocks, basis))
    return sum(
        2 * blocks * meta.count * meta.limbs * meta.params.ring_degree
        for blocks, meta in kept
        if meta is not None
    )


def answer_work(plan: ExchangePlan) -> Cost:
    """Work of one answer when the features are there already; predictions come with each query."""
    query = plan.factors if plan.spec.sends_predictions else None
    steps = [s for s in trace(plan) if s.operation != "load" or s.output == query]
    return total(cost(step) for step in steps)


def read_prices(path: Path, kind: type[T], measure: str) -> T:
    """A file of measured prices.

    Raises:
        DataError: the file is missing or is something else.
    """
    try:
        return read_json(path, kind)
    except DataError as error:
        raise DataError(
            "these are no measured prices",
            where=str(path),
            found="another kind of file" if path.is_file() else "no such file",
            hint=f"Measure them (with {LABORATORY}): {measure}",
        ) from error


def load_model(path: Path) -> CostModel:
    """A model that `profile scale` wrote.

    Raises:
        DataError: the file is missing or is no cost model of this version.
    """
    model = read_prices(path, CostModel, MEASURE)
    if model.format != FORMAT or {n: len(p) for n, p in model.prices.items()} != QUANTITIES:
        raise DataError(
            "not a cost model of this version",
            where=str(path),
            hint=f"Measure again (with {LABORATORY}): {MEASURE}",
        )
    return model
