"""Plans that a ring has to offer for a spec: ways through the model, and ways to end.

A way either keeps the whole scale, with the largest scale of the features that fits, or rescales
its values as it goes. The first takes fewest steps and keys, the second a shorter modulus where
squares follow one another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from securefair.circuit.ends import (
    MAX_ANSWER_LIMBS,
    best_end,
    ended,
    multiplied,
    still_of_use,
)
from securefair.circuit.evaluation import Computed
from securefair.circuit.packings.register import packing_of
from securefair.circuit.plan import ExchangePlan
from securefair.circuit.schedule import FIRST
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.walk import WHOLE, Walk, walk
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

LOWEST = MIN_FEATURE_SCALE * SCALE_STEPS

ROUNDED = 2.0**-20
"""Above what rounding of float64 takes from a number of steps."""

FACTOR_SCALES = range(58, 19, -2)
"""log2 scales of what logits are multiplied with."""

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
    packing: str = FIRST,
    parts: int = 1,
) -> Iterator[Candidate]:
    """Nothing is rescaled before the logits; from few limbs to the first that grant the spec.

    `packing`, `parts`: of the schedule. What neither grants nor is the most precise may be left
    out.
    """
    squares = sum(bounds.summed > 0 for bounds in spec.layers)
    keyless = squares == 0 or (squares == 1 and not spec.leaves.whole)
    shared = bool(packing_of(packing).galois_name)
    keyless = keyless and not spec.multiplies and not shared
    special = smallest_prime_bits(ring_degree) if keyless else MAX_LIMB_BITS
    reached = math.inf
    for limbs in range(1, (cap - special) // (MAX_LIMB_BITS - 1) + 1):
        longest = min(MAX_LIMB_BITS, (cap - special) // limbs)
        for bits in range(longest, MIN_LIMB_BITS - 1, -1):
            # The first prime is the last that is left: an answer's scale lives in it.
            first = longest
            if shared:  # what shorter primes leave of the modulus keeps answers as short
                first = min(MAX_LIMB_BITS, cap - special - bits * (limbs - 1))
            sizes = (first,) + (bits,) * (limbs - 1)
            ckks = CkksSpec(ring_degree=ring_degree, limb_bits=sizes, special_bits=special)
            # Whatever does not grant only tells whether more limbs may.
            of_use = math.inf if bits == longest else spec.precision
            found = list(_with_largest_scale(spec, specs, ckks, of_use, packing, parts))
            yield from found
            if limbs == 1 or not any(plan.grants for plan, _ in found):
                break  # shorter primes are fewer bytes, and less precise
        if bits < longest or any(plan.grants for plan, _ in found):
            return
        error = min((plan.relative_error for plan, _ in found), default=math.inf)
        if math.inf > error >= reached * SATURATION:
            return  # scales have met another limit than the modulus
        reached = error


def rescaled(
    spec: ExchangeSpec,
    specs: Sequence[AffineSpec],
    ring_degree: int,
    cap: int,
    *,
    most: float = math.inf,
    slowest: float = math.inf,
) -> Iterator[Candidate]:
    """For each size of primes the ways around the lowest target that grants.

    Plans whose relative error is above `most`, or whose model takes longer than `slowest` seconds,
    may be left out.
    """
    for bits in LIMB_BITS:
        limbs = min(PROBED_LIMBS, (cap - MAX_LIMB_BITS) // bits)
        if limbs < 1:
            continue
        ckks = _switching(ring_degree, bits, limbs)
        nearest, error = None, spec.precision * NEARLY
        for target in TARGETS:
            found = _shortest(spec, specs, ckks, target, target, max(most, error))
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
                found = _shortest(spec, specs, ckks, finer + offset, finer, most, slowest)
                if found is None:
                    continue
                yield found
                most = still_of_use(found[0], most)
                if found[0].grants:
                    slowest = min(slowest, found[1])


def _with_largest_scale(
    spec: ExchangeSpec,
    specs: Sequence[AffineSpec],
    ckks: CkksSpec,
    most: float,
    packing: str,
    parts: int,
) -> Iterator[Candidate]:
    """For each choice of limbs, the way with the largest feature scale that fits.

    What neither grants nor is the most precise, or has a relative error above `most`, may be left
    out.
    """
    limbs = len(ckks.limb_bits)

    @cache
    def way(steps: int) -> Walk | None:
        return walk(spec, specs, ckks, steps / SCALE_STEPS, WHOLE, packing=packing, parts=parts)

    largest, rise = None, 0
    longest = MAX_ANSWER_LIMBS
    for product in range(1, limbs + 1) if spec.multiplies else (limbs,):
        factors = FACTOR_SCALES if spec.multiplies else range(1)
        if _at(spec, way, product, factors[-1], LOWEST) is None:
            continue
        granted = longest + 1  # limbs of the shortest answer that grants, with this product
        least = math.inf
        for factor in factors:
            before = largest
            found = _largest_scale(spec, way, product, factor, before, rise)
            if found is None:
                largest = None
                continue
            largest, run = found
            if before is not None:
                rise = _steps(largest) - _steps(before)
            if run.least_error == math.inf:
                continue  # the scale leaves no room for flooding, another one may
            if least < run.least_error > most:
                break  # from here on noise grows
            least = run.least_error
            for plan in ended(run, min(longest, granted), most):
                yield plan, largest.seconds
                most = still_of_use(plan, most)
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
    of factors fall evenly, those of features rise evenly; and then as far above one that fits as
    there is room. Only the time depends on that.
    """
    low, high = LOWEST - 1, rules.MAX_LOG2_ENCODED * SCALE_STEPS
    # Bits by which the value grows a step: each square doubles its scale.
    growth = 2 ** sum(bounds.summed > 0 for bounds in spec.layers) / SCALE_STEPS
    largest, stride = None, 1
    below = before is None  # whether low was found, or there is nothing below: then by bisection
    guess = LOWEST if before is None else _steps(before) + rise
    while low < high:
        middle = min(max(guess, low + 1), high)
        found = _at(spec, way, product, factor, middle)
        if found is not None:
            low, largest, below = middle, found, True
            high = guess = min(high, middle + math.floor(found[1].headroom / growth + ROUNDED))
        elif middle == LOWEST:
            return None  # mostly, where the last one has found none either
        else:
            high = middle - 1
            guess = (low + high + 1) // 2 if below else middle - stride
        stride *= 2
    return largest


def _at(
    spec: ExchangeSpec, way: Callable[[int], Walk | None], product: int, factor: int, steps: int
) -> tuple[Walk, Computed] | None:
    """The way from features of such a scale, if it fits when it is hardly flooded at the product
    level: nothing after it restricts the scale from above."""
    found = way(steps)
    run = None if found is None else multiplied(spec, found, product, factor)
    return None if found is None or run is None or not run.fits else (found, run)


def _steps(found: Walk) -> int:
    return round(found.feature_scale * SCALE_STEPS)


def _shortest(
    spec: ExchangeSpec,
    specs: Sequence[AffineSpec],
    ckks: CkksSpec,
    start: int,
    target: int,
    most: float,
    slowest: float = math.inf,
) -> Candidate | None:
    """The best answer with as few limbs as the model fits in; the answer may want some more.

    None where its relative error is above `most`, or its model takes longer than `slowest`.
    """
    way = walk(spec, specs, ckks, start, target)
    if way is None:
        return None
    limbs, best = len(ckks.limb_bits), None
    least, more = limbs - way.spare, MORE_FOR_PRODUCTS if spec.multiplies else MORE
    # Still more only lower the scale of what is flooded, which has few limbs.
    for fewer in (*range(least, min(limbs, least + more + 1)), limbs):
        few = _switching(ckks.ring_degree, ckks.limb_bits[0], fewer)
        shorter = walk(spec, specs, few, start, target) if fewer < limbs else way
        if shorter is None:
            continue
        if shorter.seconds > slowest:
            break  # and more limbs take longer
        plan = best_end(spec, shorter, most)
        if plan is not None and (best is None or plan.relative_error < most):
            best, most = (plan, shorter.seconds), plan.relative_error
            if most <= spec.precision:
                break
    return best


def _switching(ring_degree: int, bits: int, limbs: int) -> CkksSpec:
    return CkksSpec(ring_degree=ring_degree, limb_bits=(bits,) * limbs, special_bits=MAX_LIMB_BITS)
