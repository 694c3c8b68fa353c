"""Plans that a ring has to offer for a spec: ways through the model, and ways to end.

A way either keeps the whole scale, with the largest scale of the features that fits, or rescales
its values as it goes. The first takes fewest steps and keys, the second a shorter modulus where
squares follow one another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import msgspec

from securefair.circuit.evaluation import Computed, computed
from securefair.circuit.plan import ExchangePlan
from securefair.circuit.schedule import Pairs, Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.walk import WHOLE, Walk, lowered, walk
from securefair.ckks import rules
from securefair.ckks.parameters import CkksSpec
from securefair.ckks.primes import MAX_LIMB_BITS, smallest_prime_bits
from securefair.ckks.specs import AffineSpec

Candidate = tuple[ExchangePlan, float]
"""A plan, and seconds that its model takes for an upload block, roughly."""

MIN_FEATURE_SCALE = 16
SATURATION = 0.9
"""If one more limb does not bring the error below this share, still more will not either."""

SCALE_STEPS = 8
"""Steps a bit in which the largest scale of the features is searched."""

MAX_FLOODING_LIMBS = 4
MAX_ANSWER_LIMBS = 3

FACTOR_SCALES = range(58, 19, -2)
FEW_FACTOR_SCALES = (32, 42, 52, 58)
"""log2 scales of what logits are multiplied with: few where there are many ways already."""

MIN_LIMB_BITS = 23
LIMB_BITS = range(MAX_LIMB_BITS, MIN_LIMB_BITS - 1, -1)
TARGETS = range(24, 105, 8)
"""log2 scales that values may be kept at: first so far apart, then closer below the first that
grants the precision."""

FINE_STEP = 2

NEARLY = 2.0**16
"""How far from the precision the best of the targets far apart may be, so that closer ones are
tried although none of them grants."""

START_OFFSETS = (-8, -4, 0, 4)
"""log2 scales of the features, relative to the target: fresh encryptions carry less noise."""

MORE, MORE_FOR_PRODUCTS = 1, 4
"""Limbs that an answer may want beyond those of the model: one for its flooding, and those of a
factor's scale where logits are multiplied."""

PROBED_LIMBS = 64
"""Where no ring would do, the search goes on to so many limbs, only to say what is missing."""


def kept_whole(
    spec: ExchangeSpec,
    specs: Sequence[AffineSpec],
    ring_degree: int,
    cap: int,
    *,
    pairs: Pairs = "none",
) -> Iterator[Candidate]:
    """Nothing is rescaled before the logits; from few limbs to the first that grant the spec.

    `pairs`: what shares a ciphertext.
    """
    squares = sum(bounds.summed > 0 for bounds in spec.layers)
    keyless = squares == 0 or (squares == 1 and spec.release != "logits")
    keyless = keyless and not spec.multiplies and pairs == "none"
    special = smallest_prime_bits(ring_degree) if keyless else MAX_LIMB_BITS
    reached = math.inf
    for limbs in range(1, (cap - special) // (MAX_LIMB_BITS - 1) + 1):
        most = min(MAX_LIMB_BITS, (cap - special) // limbs)
        for bits in range(most, MIN_LIMB_BITS - 1, -1):
            # The first prime is the last that is left: an answer's scale lives in it.
            first = most
            if pairs != "none":  # what shorter primes leave of the modulus keeps answers as short
                first = min(MAX_LIMB_BITS, cap - special - bits * (limbs - 1))
            sizes = (first,) + (bits,) * (limbs - 1)
            ckks = CkksSpec(ring_degree=ring_degree, limb_bits=sizes, special_bits=special)
            found = list(_with_largest_scale(spec, specs, ckks, pairs=pairs))
            yield from found
            if limbs == 1 or not any(plan.grants for plan, _ in found):
                break  # shorter primes are fewer bytes, and less precise
        if bits < most or any(plan.grants for plan, _ in found):
            return
        error = min((plan.relative_error for plan, _ in found), default=math.inf)
        if math.inf > error >= reached * SATURATION:
            return  # scales have met another limit than the modulus
        reached = error


def rescaled(
    spec: ExchangeSpec, specs: Sequence[AffineSpec], ring_degree: int, cap: int
) -> Iterator[Candidate]:
    """For each size of primes the ways around the lowest target that grants."""
    for bits in LIMB_BITS:
        most = min(PROBED_LIMBS, (cap - MAX_LIMB_BITS) // bits)
        if most < 1:
            continue
        ckks = _switching(ring_degree, bits, most)
        nearest, error = None, spec.precision * NEARLY
        for target in TARGETS:
            found = _shortest(spec, specs, ckks, target, target)
            if found is None:
                continue
            yield found
            if found[0].relative_error <= error:
                nearest, error = target, found[0].relative_error
            if error <= spec.precision:
                break
        if nearest is None:
            continue
        # Beyond the nearest one that does not grant, the next may be the first that does not fit.
        last = nearest if error <= spec.precision else nearest + TARGETS.step - FINE_STEP
        for finer in range(nearest - TARGETS.step + FINE_STEP, last + 1, FINE_STEP):
            for offset in START_OFFSETS:
                other = _shortest(spec, specs, ckks, finer + offset, finer)
                if other is not None:
                    yield other


def _with_largest_scale(
    spec: ExchangeSpec, specs: Sequence[AffineSpec], ckks: CkksSpec, *, pairs: Pairs
) -> Iterator[Candidate]:
    """For each choice of limbs, the way with the largest feature scale that fits."""
    limbs = len(ckks.limb_bits)

    @cache
    def way(steps: int) -> Walk | None:
        return walk(spec, specs, ckks, steps / SCALE_STEPS, WHOLE, pairs=pairs)

    largest, rise = None, 0
    longest = MAX_ANSWER_LIMBS
    for product in range(1, limbs + 1) if spec.multiplies else (limbs,):
        granted = longest + 1  # limbs of the shortest answer that grants, with this product
        for factor in FACTOR_SCALES if spec.multiplies else (0,):
            before = largest
            found = _largest_scale(spec, way, product, factor, before, rise)
            if found is None:
                largest = None
                continue
            largest, run = found
            if before is not None:
                rise = _steps(largest) - _steps(before)
            schedule = _schedule(spec, largest, product, factor)
            for plan in _ended(run, schedule, min(longest, granted), lambda plan: plan.grants):
                yield plan, largest.seconds
                if plan.grants:
                    granted = plan.schedule.answer_limbs
        # All take the same time. Factors of more limbs are more bytes: only answers may be shorter.
        longest = granted - 1
        if not longest:
            return


def _largest_scale(
    spec: ExchangeSpec,
    way: Callable[[int], Walk | None],
    product: int,
    factor: int,
    before: Walk | None,
    rise: int,
) -> tuple[Walk, Computed] | None:
    """A larger scale is more precise until the value wraps around the modulus.

    It is looked for around what the last one has found, plus as much as that rose by: where scales
    of factors fall evenly, those of features rise evenly. Only the time depends on that.
    """

    def at(steps: int) -> tuple[Walk, Computed] | None:
        found = way(steps)
        if found is None:
            return None
        # Hardly flooded, at the product level: nothing after it restricts the scale from above.
        schedule = _schedule(spec, found, product, factor)
        run = computed(spec, schedule, logits=found.logits)
        if run is None or not run.fits(msgspec.structs.replace(schedule, flooding_bits=0)):
            return None
        return found, run

    lowest, high = MIN_FEATURE_SCALE * SCALE_STEPS, rules.MAX_LOG2_ENCODED * SCALE_STEPS
    low, largest, stride = lowest - 1, None, 1
    above = below = before is None  # whether low and high were found: then by bisection
    guess = 0 if before is None else _steps(before) + rise
    if before is None and at(lowest) is None:
        return None  # mostly, where the last one has found none either
    while low < high:
        middle = (low + high + 1) // 2 if above and below else min(max(guess, low + 1), high)
        found = at(middle)
        if found is not None:
            low, largest, below = middle, found, True
            guess = middle + stride
        else:
            high, above = middle - 1, True
            guess = middle - stride
        stride *= 2
    return largest


def _steps(found: Walk) -> int:
    return round(found.feature_scale * SCALE_STEPS)


def _shortest(
    spec: ExchangeSpec, specs: Sequence[AffineSpec], most: CkksSpec, start: int, target: int
) -> Candidate | None:
    """The best answer with as few limbs as the model fits in; the answer may want some more."""
    way = walk(spec, specs, most, start, target)
    if way is None:
        return None
    limbs, found = len(most.limb_bits), []
    least, more = limbs - way.spare, MORE_FOR_PRODUCTS if spec.multiplies else MORE
    for fewer in range(least, min(limbs, least + more + 1)):
        ckks = _switching(most.ring_degree, most.limb_bits[0], fewer)
        shorter = walk(spec, specs, ckks, start, target)
        candidate = _best_end(spec, shorter) if shorter is not None else None
        if candidate is not None and candidate[0].relative_error <= spec.precision:
            return candidate
        found.append(candidate)
    # Still more only lower the scale of what is flooded, which has few limbs.
    found.append(_best_end(spec, way))
    candidates = [candidate for candidate in found if candidate is not None]
    return min(candidates, key=lambda c: c[0].relative_error, default=None)


def _best_end(spec: ExchangeSpec, way: Walk) -> Candidate | None:
    """The smallest answer that grants the precision, or else the most precise."""
    limbs = way.logits.meta.limbs
    products = {limbs}
    if spec.multiplies:
        lowest = lowered(way.logits.meta, way.target)
        products = {lowest, min(limbs, lowest + 1)}

    def precise(plan: ExchangePlan) -> bool:
        return plan.relative_error <= spec.precision

    found, longest = [], MAX_ANSWER_LIMBS
    for product in sorted(products):
        for factor in FEW_FACTOR_SCALES if spec.multiplies else (0,):
            schedule = _schedule(spec, way, product, factor)
            run = computed(spec, schedule, logits=way.logits)
            for plan in _ended(run, schedule, longest, precise) if run else ():
                found.append(plan)
                if precise(plan):
                    longest = plan.schedule.answer_limbs
    granting = [plan for plan in found if precise(plan)]
    if granting:
        return min(granting, key=_size), way.seconds
    best = min(found, key=lambda plan: plan.relative_error, default=None)
    return None if best is None else (best, way.seconds)


def _size(plan: ExchangePlan) -> tuple[float, ...]:
    schedule = plan.schedule
    return schedule.answer_limbs, schedule.flooding_limbs, plan.relative_error


def _ended(
    run: Computed, whole: Schedule, longest: int, enough: Callable[[ExchangePlan], bool]
) -> Iterator[ExchangePlan]:
    """Plans for the levels at which answers may be flooded, and may travel in at most `longest`
    limbs, cheapest first; up to the first that is good enough, as every later one is dearer."""
    product = whole.product_limbs
    for answer_limbs in range(1, min(longest, product) + 1):
        for flooding in range(answer_limbs, min(MAX_FLOODING_LIMBS, product) + 1):
            levels = {"flooding_limbs": flooding, "answer_limbs": answer_limbs}
            plan = run.released(msgspec.structs.replace(whole, **levels))
            if plan is not None:
                yield plan
                if enough(plan):
                    return


def _schedule(spec: ExchangeSpec, way: Walk, product: int, factor: int) -> Schedule:
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
        pairs=way.pairs,
    )


def _answers_in_two(spec: ExchangeSpec, way: Walk) -> bool:
    """Answers of three polynomials need no key; that pays only where no other step has one."""
    if spec.multiplies or way.switches:
        return True
    return spec.release == "logits" and any(bounds.summed for bounds in spec.layers)


def _switching(ring_degree: int, bits: int, limbs: int) -> CkksSpec:
    return CkksSpec(ring_degree=ring_degree, limb_bits=(bits,) * limbs, special_bits=MAX_LIMB_BITS)
