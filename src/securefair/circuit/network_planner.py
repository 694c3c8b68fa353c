"""From a spec for a network to an exchange plan: where to rescale, where to switch keys.

All values are kept at scales of at least some target: whenever primes can be dropped without
falling below it, they are. A higher target is more precise and takes a longer modulus, so the
planner searches the lowest that grants the precision, over sizes of primes and scales of the
features. Keys are switched where it costs least: before a map or after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from securefair.circuit.answer import Inputs, release_of
from securefair.circuit.network import affine_specs, settled, squared
from securefair.circuit.plan import ExchangePlan, errors, evaluate, is_masked, parameters
from securefair.circuit.schedule import LayerSteps, RescaleStep, Schedule, factors_meta
from securefair.circuit.spec import ExchangeSpec, LayerBounds
from securefair.circuit.work import (
    map_seconds,
    relinearization_seconds,
    rescaling_seconds,
    square_seconds,
)
from securefair.ckks import rules
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.primes import MAX_LIMB_BITS
from securefair.ckks.rules import AffineSpec
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.errors import EncryptionError, PlanError

LIMB_BITS = range(MAX_LIMB_BITS, 22, -1)
TARGETS = range(24, 105, 8)
"""log2 scales that values may be kept at: first so far apart, then closer below the first that
grants the precision."""

FINE_STEP = 2

START_OFFSETS = (-8, -4, 0, 4)
"""log2 scales of the features, relative to the target: fresh encryptions carry less noise."""

FACTOR_SCALES = (32, 42, 52, 58)
MAX_FLOODING_LIMBS = 4
MAX_ANSWER_LIMBS = 3
MORE, MORE_FOR_PRODUCTS = 1, 4
"""Limbs that an answer may want beyond those of the network: one for its flooding, and those of a
factor's scale where logits are multiplied."""

PROBED_LIMBS = 64
"""Where no ring would do, the search goes on to so many limbs, only to say what is missing."""


@dataclass(frozen=True)
class _Walk:
    """A network on paper: its schedule, what comes out, and how long it takes."""

    ckks: CkksSpec
    feature_scale: float
    target: int
    stages: tuple[LayerSteps, ...]
    logits: CipherTensor[None]
    seconds: float
    spare: int  # limbs that were never needed


@dataclass(frozen=True)
class _Candidate:
    schedule: Schedule
    seconds: float
    relative_error: float


def plan_network(spec: ExchangeSpec) -> ExchangePlan:
    """The cheapest plan in the smallest ring that grants the spec.

    Raises:
        PlanError: none does; says how precise the largest ring is, or how much modulus is missing.
    """
    specs = affine_specs(spec)
    nearest, unmasked = math.inf, False
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        granting = []
        for candidate in _candidates(spec, specs, ring_degree, cap):
            nearest = min(nearest, candidate.relative_error)
            if candidate.relative_error <= spec.precision:
                granting.append(candidate)
        for candidate in sorted(granting, key=lambda c: (c.seconds, c.relative_error)):
            plan = evaluate(spec, candidate.schedule)
            if plan is not None and plan.relative_error <= spec.precision:
                if is_masked(plan):
                    return plan
                unmasked = True
    raise _impossible(spec, nearest, unmasked=unmasked)


def _impossible(spec: ExchangeSpec, nearest: float, *, unmasked: bool) -> PlanError:
    if unmasked:
        return PlanError(
            "so many numbers per class could unmask the model to a dishonest student",
            where="q",
            found=spec.q,
            expected="fewer",
            hint="Release fewer numbers, or 'logits' knowingly",
        )
    squares = sum(bounds.summed > 0 for bounds in spec.network)
    if nearest < math.inf:
        return PlanError(
            "no parameters at 128-bit security grant this to a network",
            where="precision",
            found=spec.precision,
            expected=f"at least {nearest:.2g}",
            hint="Allow a larger error, fewer flooding bits, or tighter bounds on the network",
        )
    return PlanError(
        "no ring has a modulus that is long enough for this network",
        where="network",
        found=f"{squares} squares one after the other",
        expected="fewer squares, fewer bits of weights or tighter bounds",
        hint=f"The longest modulus at 128-bit security has {max(MAX_LOG_QP.values())} bits",
    )


def _candidates(
    spec: ExchangeSpec, specs: Sequence[AffineSpec], ring_degree: int, cap: int
) -> Iterator[_Candidate]:
    """For each size of primes the schedules around the lowest target that grants."""
    for bits in LIMB_BITS:
        most = min(PROBED_LIMBS, (cap - MAX_LIMB_BITS) // bits)

        def found(
            targets: range, offsets: Sequence[int], bits: int = bits, most: int = most
        ) -> Iterator[tuple[int, _Candidate]]:
            for target in targets:
                for offset in offsets:
                    ckks = _spec(ring_degree, bits, most)
                    candidate = _shortest(spec, specs, ckks, target + offset, target)
                    if candidate is not None:
                        yield target, candidate

        for target, candidate in found(TARGETS, (0,)):
            yield candidate
            if candidate.relative_error <= spec.precision:
                finer = range(target - TARGETS.step + FINE_STEP, target + 1, FINE_STEP)
                yield from (other for _, other in found(finer, START_OFFSETS))
                break


def _shortest(
    spec: ExchangeSpec, specs: Sequence[AffineSpec], most: CkksSpec, start: int, target: int
) -> _Candidate | None:
    """The best answer with as few limbs as the network fits in; the answer may want some more."""
    walk = _walk(spec, specs, most, start, target)
    if walk is None:
        return None
    limbs, found = len(most.limb_bits), []
    least, more = limbs - walk.spare, MORE_FOR_PRODUCTS if spec.multiplies else MORE
    for fewer in range(least, min(limbs, least + more + 1)):
        ckks = _spec(most.ring_degree, most.limb_bits[0], fewer)
        shorter = _walk(spec, specs, ckks, start, target)
        candidate = _best_release(spec, shorter) if shorter is not None else None
        if candidate is not None and candidate.relative_error <= spec.precision:
            return candidate
        found.append(candidate)
    # Still more only lower the scale of what is flooded, which has few limbs.
    found.append(_best_release(spec, walk))
    candidates = [candidate for candidate in found if candidate is not None]
    return min(candidates, key=lambda c: c.relative_error, default=None)


def _spec(ring_degree: int, bits: int, limbs: int) -> CkksSpec:
    return CkksSpec(ring_degree=ring_degree, limb_bits=(bits,) * limbs, special_bits=MAX_LIMB_BITS)


def _walk(
    spec: ExchangeSpec, specs: Sequence[AffineSpec], ckks: CkksSpec, start: int, target: int
) -> _Walk | None:
    """Run the network on the planning backend, deciding as it goes; None if it does not fit."""
    try:
        params = parameters(ckks)
        fresh = rules.fresh(
            params,
            count=spec.features,
            limbs=params.limbs,
            log2_scale=start,
            bound=spec.bounds.feature,
        )
        return _walked(spec, specs, ckks, fresh, target)
    except (EncryptionError, PlanError):
        return None


def _walked(
    spec: ExchangeSpec, specs: Sequence[AffineSpec], ckks: CkksSpec, fresh: CipherMeta, target: int
) -> _Walk:
    evaluator = PlanningEvaluator(fresh.params)
    value = evaluator.load(b"", fresh)
    room, seconds, stages = _room(fresh), 0.0, []
    for map_spec, bounds in zip(specs, spec.network, strict=True):
        before = _rescale_step(value.meta, target, switch=_early(value.meta, bounds, target))
        seconds += _settling_seconds(value.meta, before)
        value = settled(evaluator, value, before)
        seconds += map_seconds(value.meta, bounds.outputs, bounds.multiply_adds)
        value = evaluator.linear(value, map_spec, None)
        room = min(room, _room(value.meta))
        square = None
        if bounds.summed:
            square = _rescale_step(value.meta, target, switch=value.meta.polys > 2)
            seconds += _settling_seconds(value.meta, square)
            value = settled(evaluator, value, square)
            seconds += square_seconds(value.meta)
            value = squared(evaluator, value, bounds)
            room = min(room, _room(value.meta))
        stages.append(LayerSteps(linear=before, square=square))
    spare = min(int(room // min(ckks.limb_bits)), value.meta.limbs - 1)
    return _Walk(ckks, fresh.log2_scale, target, tuple(stages), value, seconds, spare)


def _early(x: CipherMeta, bounds: LayerBounds, target: int) -> bool:
    """Whether products are cheaper to relinearise before the next map than after it."""
    if x.polys == 2:
        return False
    lower = rules.relinearize(x)
    lowered = rules.rescale(lower, _lowered(lower, target))
    after = rules.with_count(x, bounds.outputs)
    early = relinearization_seconds(x) + map_seconds(lowered, bounds.outputs, bounds.multiply_adds)
    late = relinearization_seconds(after) + map_seconds(x, bounds.outputs, bounds.multiply_adds)
    return early < late


def _rescale_step(x: CipherMeta, target: int, *, switch: bool) -> RescaleStep:
    """Three polynomials are not rescaled: their rounding errors would be multiplied by s^2."""
    three = x.polys > 2 and not switch
    return RescaleStep(relinearize=switch, limbs=x.limbs if three else _lowered(x, target))


def _lowered(x: CipherMeta, target: int) -> int:
    limbs, scale = x.limbs, x.log2_scale
    while limbs > 1:
        scale -= math.log2(x.params.primes[limbs - 1])
        if scale < target:
            break
        limbs -= 1
    return limbs


def _settling_seconds(x: CipherMeta, before: RescaleStep) -> float:
    seconds = relinearization_seconds(x) if before.relinearize else 0.0
    return seconds + rescaling_seconds(x, before.limbs)


def _room(x: CipherMeta) -> float:
    """Bits of the modulus above the value."""
    return x.log_q - 1 - math.log2(x.bound * 2.0**x.log2_scale + rules.TAIL * x.noise)


def _best_release(spec: ExchangeSpec, walk: _Walk) -> _Candidate | None:
    """The smallest answer that grants the precision, or else the most precise."""
    params = parameters(walk.ckks)
    blocks = -(-spec.samples // params.slots)
    found = []
    for schedule in _endings(spec, walk):
        relative = _relative_error(spec, params, walk.logits, schedule, blocks)
        if relative is not None:
            found.append((schedule, relative))
    if not found:
        return None
    granting = [pair for pair in found if pair[1] <= spec.precision]
    schedule, relative = (
        min(granting, key=lambda pair: (pair[0].answer_limbs, pair[0].flooding_limbs, pair[1]))
        if granting
        else min(found, key=lambda pair: pair[1])
    )
    return _Candidate(schedule, walk.seconds, relative)


def _endings(spec: ExchangeSpec, walk: _Walk) -> Iterator[Schedule]:
    limbs = walk.logits.meta.limbs
    switched = any(
        settling.relinearize for s in walk.stages for settling in (s.linear, s.square) if settling
    )
    products = {limbs}
    if spec.multiplies:
        lowest = _lowered(walk.logits.meta, walk.target)
        products = {lowest, min(limbs, lowest + 1)}
    for product in sorted(products):
        for factor in FACTOR_SCALES if spec.multiplies else (0,):
            for answer_limbs in range(1, min(MAX_ANSWER_LIMBS, product) + 1):
                for flooding in range(answer_limbs, min(MAX_FLOODING_LIMBS, product) + 1):
                    yield Schedule(
                        ckks=walk.ckks,
                        feature_scale=float(walk.feature_scale),
                        factor_scale=float(factor),
                        product_limbs=product,
                        relinearize=switched or spec.multiplies or spec.release == "logits",
                        flooding_limbs=flooding,
                        answer_limbs=answer_limbs,
                        stages=walk.stages,
                    )


def _relative_error(
    spec: ExchangeSpec,
    params: CkksParameters,
    logits: CipherTensor[None],
    schedule: Schedule,
    blocks: int,
) -> float | None:
    evaluator = PlanningEvaluator(params)
    try:
        factors = []
        if spec.multiplies:
            count = spec.q if spec.student_basis else spec.classes
            factors = [evaluator.load(b"", factors_meta(params, schedule, count))] * blocks
        inputs = Inputs(
            features=(),
            factors=factors,
            signs=np.ones(blocks, dtype=np.int64),
            coefficients=np.zeros(spec.q, dtype=np.int64),
        )
        released = release_of(evaluator, spec, schedule, [logits] * blocks, inputs)
    except EncryptionError:
        return None
    return errors(spec, released[0].meta, blocks)[1]
