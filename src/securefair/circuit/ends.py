"""Ways to end: what logits are multiplied with, and how answers are flooded and shortened."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from securefair.circuit.evaluation import Computed, computed, least_error
from securefair.circuit.plan import ExchangePlan, is_masked
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.walk import Walk, lowered
from securefair.errors import EncryptionError

MAX_FLOODING_LIMBS = 4
MAX_ANSWER_LIMBS = 3

LEVELS = [(a, f) for a in range(1, MAX_ANSWER_LIMBS + 1) for f in range(a, MAX_FLOODING_LIMBS + 1)]
"""Limbs in which an answer travels, and at which it is flooded: first what is fewer bytes."""

FEW_FACTOR_SCALES = (58, 52, 42, 32)
"""log2 scales of what logits are multiplied with where there are many ways already."""


def best_end(spec: ExchangeSpec, way: Walk, most: float) -> ExchangePlan | None:
    """The smallest answer that grants the precision, or else the most precise.

    None where its relative error is above `most`.
    """
    ends, most = _promising(spec, way, most)
    best: ExchangePlan | None = None
    for answer_limbs, flooding_limbs in LEVELS:
        for run in ends:
            if flooding_limbs > run.schedule.product_limbs or run.least_error > most:
                continue
            plan = _leaving(run, flooding_limbs, answer_limbs)
            if plan is None or plan.relative_error > most:
                continue
            if best is None or plan.relative_error < best.relative_error:
                best = plan
        if best is not None and best.relative_error <= spec.precision:
            break  # every later one is dearer
    return best


def ended(run: Computed, longest: int, most: float) -> Iterator[ExchangePlan]:
    """Plans for the levels at which answers may be flooded, and may travel in at most `longest`
    limbs, cheapest first; up to the first that grants, as every later one is dearer.

    Those whose relative error is above `most` may be left out.
    """
    if run.least_error > most or run.least_error == math.inf:
        return
    for answer_limbs, flooding_limbs in LEVELS:
        if answer_limbs <= longest and flooding_limbs <= run.schedule.product_limbs:
            plan = _leaving(run, flooding_limbs, answer_limbs)
            if plan is not None:
                yield plan
                if plan.grants:
                    return


def still_of_use(plan: ExchangePlan, most: float) -> float:
    """The relative error, `most` so far, above which plans are of no use once this one is found:
    they neither grant nor are nearer."""
    return max(plan.spec.precision, min(most, plan.relative_error)) if is_masked(plan) else most


def multiplied(spec: ExchangeSpec, way: Walk, product: int, factor: int) -> Computed | None:
    """A model's logits, multiplied at so many limbs where a release does that; None if that does
    not fit. As long as nothing else is said they leave at that level."""
    try:
        logits = way.lowered(product) if spec.multiplies else way.logits
    except EncryptionError:
        return None
    meta = logits.meta
    if factor + meta.log2_scale + math.log2(meta.bound) > meta.log_q - 1:
        return None  # found sooner than by a refusal: the factors' bound is 1
    return computed(spec, schedule_of(spec, way, product, factor), logits=logits)


def schedule_of(spec: ExchangeSpec, way: Walk, product: int, factor: int) -> Schedule:
    """One that is flooded, and leaves, at the level of the product."""
    return Schedule(
        ckks=way.ckks,
        feature_scale=float(way.feature_scale),
        factor_scale=float(factor),
        product_limbs=product,
        relinearize=_answers_in_two(spec, way),
        flooding_bits=spec.flooding_bits,
        flooding_limbs=product,
        answer_limbs=product,
        stages=way.stages,
        packing=way.packing,
        parts=way.parts,
    )


def _promising(spec: ExchangeSpec, way: Walk, most: float) -> tuple[list[Computed], float]:
    """What may end with a relative error of at most `most`, and that or the precision, or less that
    is reached instead."""
    meta = way.logits.meta
    limbs, blocks = meta.limbs, -(-spec.samples // meta.params.slots)
    summed = 1 if spec.leaves.whole else blocks * spec.leaves.added(spec)
    noisier = replace(meta, noise=meta.noise * summed)
    if least_error(spec, schedule_of(spec, way, limbs, 0), noisier, blocks) > most:
        return [], most
    products = {limbs}
    if spec.multiplies:
        lowest = lowered(meta, way.target)
        products = {lowest, min(limbs, lowest + 1)}
    ends: list[Computed] = []
    for product in sorted(products):
        for factor in FEW_FACTOR_SCALES if spec.multiplies else (0,):
            run = multiplied(spec, way, product, factor)
            if run is None or run.least_error == math.inf:
                continue
            if run.least_error > most:
                break  # lower scales are noisier
            ends.append(run)
            plan = _leaving(run, min(MAX_FLOODING_LIMBS, product), min(MAX_ANSWER_LIMBS, product))
            if plan is not None:
                most = min(most, max(spec.precision, plan.relative_error))
    return sorted(ends, key=_scales), most


def _scales(run: Computed) -> tuple[float, ...]:
    return run.schedule.product_limbs, run.schedule.factor_scale


def _leaving(run: Computed, flooding_limbs: int, answer_limbs: int) -> ExchangePlan | None:
    levels = {"flooding_limbs": flooding_limbs, "answer_limbs": answer_limbs}
    return run.released(replace(run.schedule, **levels))


def _answers_in_two(spec: ExchangeSpec, way: Walk) -> bool:
    """Answers of three polynomials need no key; that pays only where no other step has one."""
    if spec.multiplies or way.switches:
        return True
    return spec.leaves.whole and any(bounds.summed for bounds in spec.layers)
