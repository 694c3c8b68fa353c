"""One exchange between a student and a teacher in one process, timed by stage.

The calls are those of `exchange.Student` and `exchange.Teacher`, on synthetic samples and a model
with random weights: times, bytes and errors depend on sizes and bounds, not on what was learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.answer import Inputs
from securefair.circuit.planner import ExchangePlan
from securefair.ckks.backends.rns_keys import encoded
from securefair.ckks.keys import Backend, PublicKeys, StudentKeys
from securefair.ckks.tensor import CipherTensor
from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.exchange import steps
from securefair.exchange.saved_teacher import LoadedHead
from securefair.model.foldable import Foldable
from securefair.model.folded import dense_network
from securefair.model.linear_maps import DenseMap
from securefair.model.projection import public_rows, student_basis
from securefair.model.reconstruction import Reconstructor
from securefair.profiling.measure import Stopwatch
from securefair.profiling.observe import observed
from securefair.profiling.trace import stage_name

Array = NDArray[np.float64]

EPOCH, QUERY = "epoch", "query"
IMPORT, RECEIVE, ANSWER = "import", "receive", "answer"
"""Totals: the student's upload and each of its queries; the teacher's keys, upload and answer."""


SQUARE_ROOT = 0.5
"""Of a new head's coefficient of the square, which folding moves into its first map."""

COMPLETION = 0.5
"""What completing the square adds to the biases of a new head's first map."""

AHEAD = "zeros_ahead"
"""Stage: what a teacher makes while it waits, in no total."""


@dataclass(frozen=True, eq=False)
class Material:
    """What both sides bring to an exchange.

    Attributes:
        plan: what they agreed on.
        samples: the student's, within the bounds of the spec.
        predictions: the student's, (B, M); None where the release sends none.
        model: the teacher's.
        basis: public basis of a projection.
    """

    plan: ExchangePlan
    samples: Samples
    predictions: Array | None
    model: Foldable
    basis: steps.PublicBasis


@dataclass(frozen=True, eq=False)
class DryRun:
    """What went over the wire, in bytes, and what the student read from it."""

    upload: int  # features, and the basis where the student chooses it: once per data epoch
    query: int
    answer: int
    released: Array


@dataclass(frozen=True, eq=False)
class Sent:
    """What a student sends but its keys: encrypted features, and predictions or a basis."""

    features: bytes
    factors: bytes


def synthetic(plan: ExchangePlan, *, seed: int = 0) -> Material:
    """Uniform features within the plan's bounds, random labels, predictions and weights."""
    spec, rng = plan.spec, np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (spec.samples, spec.features)) * spec.bounds.feature
    longest = np.linalg.norm(features, axis=1, keepdims=True)
    features *= np.minimum(1.0, spec.feature_norm / longest)
    labels = rng.integers(0, spec.classes, spec.samples)
    predictions = None
    if spec.sends_predictions:
        predictions = rng.dirichlet(np.ones(spec.classes), spec.samples)
    return Material(
        plan=plan,
        samples=Samples(features, labels, spec.classes),
        predictions=predictions,
        model=synthetic_model(plan, seed=seed),
        basis=steps.public_basis(plan, b""),
    )


def synthetic_model(plan: ExchangePlan, *, seed: int = 0) -> LoadedHead:
    """The teacher's part of it: weights as a head begins with them, and as its teacher loads them.

    So a teacher that is measured takes the memory of one that was saved, without torch.
    """
    spec, rng = plan.spec, np.random.default_rng([seed, 1])  # other numbers than the samples'

    def uniform(outputs: int, inputs: int, gain: float = 1.0) -> DenseMap:
        bound = gain / np.sqrt(inputs)
        weights = rng.uniform(-bound, bound, (outputs, inputs))
        return DenseMap(weights, rng.uniform(-bound, bound, outputs))

    if not spec.hidden:
        return LoadedHead(dense_network(uniform(spec.classes, spec.features)))
    first = uniform(spec.hidden, spec.features, SQUARE_ROOT)
    first = DenseMap(first.weights, first.bias + COMPLETION)
    return LoadedHead(dense_network(first, uniform(spec.classes, spec.hidden)))


def dry_exchange(
    material: Material,
    backend: Backend,
    keys: StudentKeys,
    stages: Stopwatch,
    totals: Stopwatch,
    *,
    ahead: bool = False,
) -> DryRun:
    """One exchange; seconds are added to the watches' stages and totals.

    `ahead`: the teacher makes encryptions of zero before the upload is there, in no total.
    """
    sent, reconstructor = ask(material, keys, stages, totals)
    teacher = DryTeacher(material.plan, material.model, backend, keys.public, stages, totals)
    if ahead:
        teacher.prepare()
    teacher.receive(sent)
    answer = teacher.answer(sent)
    released = open_dry(material, keys, answer, reconstructor, stages)
    factors_stay = material.plan.spec.student_basis
    return DryRun(
        upload=len(sent.features) + (len(sent.factors) if factors_stay else 0),
        query=0 if factors_stay else len(sent.factors),
        answer=len(answer),
        released=released,
    )


def ask(
    material: Material, keys: StudentKeys, stages: Stopwatch, totals: Stopwatch
) -> tuple[Sent, Reconstructor | None]:
    """The student up to its upload and its first query."""
    plan = material.plan
    with totals.stage(EPOCH), stages.stage("pack"):
        slots = steps.pack(plan, material.samples.features)
    with totals.stage(EPOCH), stages.stage("encrypt"):
        features = steps.encrypt(keys.encryptor, plan.features, slots)
    del slots
    rows = reconstructor = None
    if plan.spec.leaves.rows:
        with stages.stage("prepare"):
            rows = basis_rows(material)
            reconstructor = Reconstructor(material.samples, rows, plan.noise_std)
    return Sent(features, _encrypt_factors(material, rows, keys, stages, totals)), reconstructor


class DryTeacher:
    """The teacher of one upload, timed."""

    def __init__(
        self,
        plan: ExchangePlan,
        model: Foldable,
        backend: Backend,
        public: PublicKeys,
        stages: Stopwatch,
        totals: Stopwatch,
    ) -> None:
        self._plan, self._model, self._backend = plan, model, backend
        self._stages, self._totals = stages, totals
        with totals.stage(IMPORT), stages.stage("load_keys"):
            self._evaluator = _timed(backend.evaluator(plan.params, public), plan, stages)
            self._evaluator.open_keys()
        self._features: list[CipherTensor[Any]] = []
        self._factors: list[CipherTensor[Any]] = []

    def prepare(self) -> None:
        """What hides the next answer, made while the teacher waits."""
        limbs = self._plan.schedule.flooding_limbs
        with self._stages.stage(AHEAD):
            self._evaluator.prepare(limbs, self._plan.zeros)

    def receive(self, sent: Sent) -> None:
        """Features, and a basis of the student's choice."""
        plan = self._plan
        with self._totals.stage(RECEIVE):
            self._features = steps.receive(
                self._evaluator, plan.features, sent.features, plan.blocks
            )
            if plan.spec.student_basis:
                self._factors = self._received(sent)

    def answer(self, sent: Sent) -> bytes:
        """One answer, with the query that it needs."""
        plan = self._plan
        with self._totals.stage(ANSWER):
            factors = self._factors if plan.spec.student_basis else self._received(sent)
            with self._stages.stage("compile"):
                head = steps.compile_model(plan, self._model)
            basis = steps.public_basis(plan, b"")
            inputs = Inputs(self._features, factors, basis.signs, basis.coefficients)
            return steps.infer(self._evaluator, plan, head, inputs)

    def _received(self, sent: Sent) -> list[CipherTensor[Any]]:
        plan = self._plan
        if plan.factors is None:
            return []
        return steps.receive(self._evaluator, plan.factors, sent.factors, plan.blocks)


def open_dry(
    material: Material,
    keys: StudentKeys,
    answer: bytes,
    reconstructor: Reconstructor | None,
    stages: Stopwatch,
) -> Array:
    """What the student reads from an answer, which it also reconstructs logits of."""
    with stages.stage("open"):
        released = steps.open_answer(keys.decryptor, material.plan, material.basis, answer)
    if reconstructor is not None:
        with stages.stage("reconstruct"):
            reconstructor.logits(released)
    return released


def encode_only(material: Material, stages: Stopwatch) -> None:
    """The part of the encryption that is not SEAL's: all features encoded with our kernel."""
    meta = material.plan.features
    for block in steps.pack(material.plan, material.samples.features):
        with stages.stage("encode"):
            encoded(block, meta)


def rounding_error(plan: ExchangePlan, model: Foldable, samples: Samples) -> float:
    """Largest change of a logit when weights become integers: no part of what a plan promises."""
    rounded = steps.compile_model(plan, model).logits(samples.features)
    return float(np.abs(rounded - model.folded().logits(samples.features)).max())


def basis_rows(material: Material) -> Array:
    """Weights (q, B) of the samples in the numbers of a projection, as they are encrypted."""
    plan, basis = material.plan, material.basis
    if plan.spec.student_basis:
        rows = student_basis(material.samples, plan.spec.q)
        scaled: Array = rows / np.abs(rows).max(axis=1, keepdims=True)  # as large as allowed
        return scaled
    n, signs = plan.ring_degree, basis.signs.astype(np.float64)
    return public_rows(n, basis.coefficients, plan.spec.samples, signs)


def _encrypt_factors(
    material: Material,
    rows: Array | None,
    keys: StudentKeys,
    stages: Stopwatch,
    totals: Stopwatch,
) -> bytes:
    """Predictions, or a basis of the student's choice; nothing for other releases."""
    plan, factors = material.plan, material.predictions
    if plan.factors is None:
        return b""
    if rows is not None:
        factors = rows.T
    if factors is None:
        raise DataError("this release needs the student's predictions", where=plan.spec.release)
    with totals.stage(QUERY), stages.stage("encrypt_query"):
        return steps.encrypt(keys.encryptor, plan.factors, steps.pack_factors(plan, factors))


def _timed(evaluator: Any, plan: ExchangePlan, stages: Stopwatch) -> Any:
    def time_it(operation: str, method: Any, *arguments: Any, **keywords: Any) -> Any:
        with stages.stage(stage_name(operation, arguments, plan.specs)):
            return method(*arguments, **keywords)

    return observed(evaluator, time_it)
