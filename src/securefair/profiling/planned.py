"""Everything public about an exchange plan as one record: what `securefair plan` prints."""

from __future__ import annotations

import math

import msgspec

from securefair.circuit.certificate import Fact, certificate
from securefair.circuit.planner import ExchangePlan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.tensor import CipherMeta
from securefair.profiling.cost import Cost, cost, total
from securefair.profiling.trace import TracedStep, trace


class PlannedStep(msgspec.Struct, frozen=True, kw_only=True):
    """What a step of the answer leaves behind.

    Attributes:
        stage: the step, as the profile names it.
        times: how often it happens, once a block for most.
        ciphertexts, polys, limbs: shape of its result.
        log2_scale: between a value and its integer encoding.
        bound: declared bound on |value|.
        error: bound on a slot's error, in the value's unit.
        spare_bits: bits of the modulus that the value and its noise leave free.
        work: all times together.
    """

    stage: str
    times: int
    ciphertexts: int
    polys: int
    limbs: int
    log2_scale: float
    bound: float
    error: float
    spare_bits: float
    work: Cost


class PlannedBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of every message, exactly.

    Attributes:
        public_key, evaluation_keys: once per key epoch.
        features, basis: once per data epoch.
        query: with every question.
        answer: with every answer.
        up_per_sample: features, basis and query over the samples.
        down_per_sample: answer over the samples.
    """

    public_key: int
    evaluation_keys: int
    features: int
    basis: int
    query: int
    answer: int
    up_per_sample: float
    down_per_sample: float


class Disclosure(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers that one answer discloses of the model, and what to compare them with.

    Attributes:
        numbers: released by an answer.
        model_parameters: the teacher's model's; as many numbers could determine it. None for a
            network, whose spec does not tell how often it uses a weight.
        all_logits: what the release `logits` would disclose, samples times classes.
    """

    numbers: int
    model_parameters: int | None
    all_logits: int


class Certified(msgspec.Struct, frozen=True, kw_only=True):
    """One fact of a plan's noise certificate (`circuit.certificate`).

    Attributes:
        name: name of the fact.
        holds: by exact arithmetic, independent of the planner.
        margin_bits: log2 by which it holds; None where it holds by any.
    """

    name: str
    holds: bool
    margin_bits: float | None


class PlanReport(msgspec.Struct, frozen=True, kw_only=True):
    """An exchange plan in full.

    Attributes:
        spec: what was asked for.
        ring_degree, slots, blocks: N, N / 2, and the blocks that the samples fill.
        packing: what a place holds: a feature, a pair of them, features beside each other
            (`ckks.interleaving`), or monomials, which take many coefficients
            (`circuit.packings.monomials`).
        places: samples that the blocks have room for.
        primes, special_prime: the modulus; all data primes are limbs of a fresh ciphertext.
        log_qp, log_qp_cap: bits of the whole modulus, and the most that security allows.
        security_bits: classical.
        evaluation_keys: names of the keys that the teacher needs.
        steps: the answer, from upload to release.
        teacher: work of one answer, the upload's expansion included.
        encryptions: symmetric ones by the student, of features and factors.
        error_bound: error bound of a released number, in its own unit.
        relative_error: the same over the range that the spec declares.
        flooding_bits: by which answers are flooded: at least what was asked for.
        number_bits: most that one released number carries, whatever a student asks.
        certificate: the plan's facts, checked anew in exact arithmetic.
    """

    spec: ExchangeSpec = msgspec.field(name="wish")  # the key that scripts read
    ring_degree: int
    slots: int
    blocks: int
    packing: str
    places: int
    primes: tuple[int, ...]
    special_prime: int
    log_qp: float
    log_qp_cap: int
    security_bits: int
    evaluation_keys: tuple[str, ...]
    steps: list[PlannedStep]
    teacher: Cost
    encryptions: int
    bytes: PlannedBytes
    disclosure: Disclosure
    error_bound: float
    relative_error: float
    flooding_bits: int
    number_bits: float
    certificate: list[Certified]


def report_plan(plan: ExchangePlan) -> PlanReport:
    """All facts of a plan; runs the circuit once more on paper."""
    spec, params = plan.spec, plan.params
    steps = [planned_step(step) for step in trace(plan)]
    factors = plan.factors.count if plan.factors else 0
    return PlanReport(
        spec=spec,
        ring_degree=params.ring_degree,
        slots=params.slots,
        blocks=plan.blocks,
        packing=plan.schedule.packing,
        places=plan.places,
        primes=params.primes,
        special_prime=params.special_prime,
        log_qp=params.log_qp,
        log_qp_cap=MAX_LOG_QP[params.ring_degree],
        security_bits=plan.security_bits,
        evaluation_keys=_keys(plan),
        steps=steps,
        teacher=total(step.work for step in steps),
        encryptions=plan.blocks * plan.features.count + plan.blocks * factors,
        bytes=_bytes(plan),
        disclosure=Disclosure(
            numbers=plan.numbers,
            model_parameters=spec.parameters,
            all_logits=spec.samples * spec.classes,
        ),
        error_bound=plan.error_bound,
        relative_error=plan.relative_error,
        flooding_bits=plan.schedule.flooding_bits,
        number_bits=plan.number_bits,
        certificate=[_certified(fact) for fact in certificate(plan)],
    )


def _keys(plan: ExchangePlan) -> tuple[str, ...]:
    needed = {
        "relinearisation": plan.relinearization_limbs,
        plan.galois_name: plan.galois_limbs,
    }
    return tuple(name for name, wanted in needed.items() if wanted)


def _certified(fact: Fact) -> Certified:
    margin = fact.margin_bits
    return Certified(
        name=fact.name,
        holds=fact.holds,
        margin_bits=round(margin, 3) if math.isfinite(margin) else None,
    )


def planned_step(step: TracedStep) -> PlannedStep:
    """The public facts of a step's result, and its work."""
    out = step.output
    error = rules.slot_error if out.packing != "coefficients" else rules.coefficient_error
    return PlannedStep(
        stage=step.stage,
        times=step.times,
        ciphertexts=out.count,
        polys=out.polys,
        limbs=out.limbs,
        log2_scale=out.log2_scale,
        bound=out.bound,
        error=error(out),
        spare_bits=_spare_bits(out),
        work=cost(step),
    )


def _bytes(plan: ExchangePlan) -> PlannedBytes:
    samples = plan.spec.samples
    return PlannedBytes(
        public_key=plan.public_key_bytes,
        evaluation_keys=plan.evaluation_key_bytes,
        features=plan.feature_bytes,
        basis=plan.basis_bytes,
        query=plan.query_bytes,
        answer=plan.answer_bytes,
        up_per_sample=(plan.feature_bytes + plan.basis_bytes + plan.query_bytes) / samples,
        down_per_sample=plan.answer_bytes / samples,
    )


def _spare_bits(x: CipherMeta) -> float:
    largest = x.bound * 2.0**x.log2_scale + rules.TAIL * x.noise
    return x.log_q - 1 - math.log2(largest)
