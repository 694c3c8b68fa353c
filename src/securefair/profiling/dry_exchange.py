"""One exchange between a student and a teacher in one process, timed by stage.

The calls are those of `exchange.Student` and `exchange.Teacher`, on invented samples and a model
with random weights: times, bytes and errors depend on sizes and bounds, not on what was learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.circuit.answer import Inputs
from securefair.circuit.planner import ExchangePlan
from securefair.ckks.backends import kernels
from securefair.ckks.keys import Backend, StudentKeys
from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.exchange import steps
from securefair.model.heads import Head, HeadKind, build_head
from securefair.model.projection import public_rows, student_basis
from securefair.model.reconstruction import Reconstructor
from securefair.profiling.measure import Stopwatch
from securefair.profiling.observe import observed
from securefair.profiling.trace import stage_name

Array = NDArray[np.float64]

EPOCH, QUERY = "epoch", "query"
IMPORT, RECEIVE, ANSWER = "import", "receive", "answer"
"""Totals: the student's upload and each of its queries; the teacher's keys, upload and answer."""


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
    model: Head
    basis: steps.PublicBasis


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """What went over the wire, in bytes, and what the student read from it."""

    upload: int  # features, and the basis where the student chooses it: once per data epoch
    query: int
    answer: int
    released: Array


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
    kind: HeadKind = "quadratic" if spec.hidden else "linear"
    return Material(
        plan=plan,
        samples=Samples(features, labels, spec.classes),
        predictions=predictions,
        model=build_head(kind, spec.features, spec.hidden, spec.classes, seed),
        basis=steps.public_basis(plan, b""),
    )


def dry_exchange(
    material: Material, backend: Backend, keys: StudentKeys, stages: Stopwatch, totals: Stopwatch
) -> Rehearsed:
    """One exchange; seconds are added to the watches' stages and totals."""
    plan = material.plan
    with totals.stage(EPOCH), stages.stage("pack"):
        slots = steps.pack(plan, material.samples.features)
    with totals.stage(EPOCH), stages.stage("encrypt"):
        features = steps.encrypt(keys.encryptor, plan.features, slots)
    rows = reconstructor = None
    if plan.spec.release == "projection":
        with stages.stage("prepare"):
            rows = basis_rows(material)
            reconstructor = Reconstructor(material.samples, rows, plan.noise_std)
    factors = _encrypt_factors(material, rows, keys, stages, totals)

    with totals.stage(IMPORT), stages.stage("load_keys"):
        evaluator = _timed(backend.evaluator(plan.params, keys.public), plan, stages)
    with totals.stage(RECEIVE):
        received = steps.receive(evaluator, plan.features, features, plan.blocks)
    factors_stay = plan.spec.student_basis
    with totals.stage(RECEIVE if factors_stay else ANSWER):
        factor_blocks = []
        if plan.factors is not None:
            factor_blocks = steps.receive(evaluator, plan.factors, factors, plan.blocks)
    with totals.stage(ANSWER):
        with stages.stage("compile"):
            head = steps.compile_model(plan, material.model)
        basis = material.basis
        inputs = Inputs(received, factor_blocks, basis.signs, basis.coefficients)
        answer = steps.infer(evaluator, plan, head, inputs)

    with stages.stage("open"):
        released = steps.open_answer(keys.decryptor, plan, basis, answer)
    if reconstructor is not None:
        with stages.stage("reconstruct"):
            reconstructor.logits(released)
    return Rehearsed(
        upload=len(features) + (len(factors) if factors_stay else 0),
        query=0 if factors_stay else len(factors),
        answer=len(answer),
        released=released,
    )


def encode_only(material: Material, stages: Stopwatch) -> None:
    """The part of the encryption that is not SEAL's: all features encoded with our kernel."""
    meta = material.plan.features
    basis = kernels.Basis(meta.params.ring_degree, meta.params.primes[: meta.limbs])
    for block in steps.pack(material.plan, material.samples.features):
        with stages.stage("encode"):
            kernels.encode(torch.from_numpy(block), 2.0**meta.log2_scale, basis)


def rounding_error(plan: ExchangePlan, model: Head, samples: Samples) -> float:
    """Largest change of a logit when weights become integers: no part of what a plan promises."""
    rounded = steps.compile_model(plan, model).logits(samples.features)
    return float(np.abs(rounded - model.logits(samples.features)).max())


def basis_rows(material: Material) -> Array:
    """Weights (q, B) of the samples in the numbers of a projection, as they are encrypted."""
    plan, basis = material.plan, material.basis
    if plan.spec.student_basis:
        rows = student_basis(material.samples, plan.spec.q)
        scaled: Array = rows / np.abs(rows).max(axis=1, keepdims=True)  # as large as allowed
        return scaled
    n, signs = plan.params.ring_degree, basis.signs.astype(np.float64)
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
