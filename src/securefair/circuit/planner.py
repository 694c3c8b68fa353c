"""From a spec to an exchange plan: the smallest parameters that grant it.

The planner runs the circuit itself on the planning backend, so a plan states exactly what an
encrypted run will do: levels, scales, keys, bytes and an error bound. Nothing depends on private
data; both sides compute the same plan from the same spec.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from securefair.circuit.network_planner import plan_network
from securefair.circuit.plan import ExchangePlan, evaluate, is_masked
from securefair.circuit.schedule import Schedule, check_schedule, idle_stages
from securefair.circuit.spec import ExchangeSpec, check_spec
from securefair.ckks import rules
from securefair.ckks.parameters import CkksSpec
from securefair.ckks.primes import MAX_LIMB_BITS, smallest_prime_bits
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import PlanError

__all__ = ["ExchangePlan", "plan_exchange", "verified_plan"]

MIN_FEATURE_SCALE = 16
SATURATION = 0.9
"""If one more limb does not bring the error below this share, still more will not either."""

SCALE_STEPS = 8
"""Steps a bit in which feature scales are searched."""

FACTOR_SCALES = range(58, 19, -2)
MAX_FLOODING_LIMBS = 4
MAX_ANSWER_LIMBS = 3

SPARE_BITS = 32
"""A limb: the search finds plans up to so far from what precision needs."""


def plan_exchange(spec: ExchangeSpec) -> ExchangePlan:
    """The cheapest plan: smallest ring, then fewest limbs, then smallest answer.

    The search takes up to seconds, and minutes for a million samples. Its outcome is remembered,
    also that there is none. Whoever plans at a stranger's word uses `verified_plan`.

    Raises:
        PlanError: the spec is impossible; the hint names the nearest precision or flooding.
    """
    check_spec(spec)
    found = _searched(spec)
    if isinstance(found, PlanError):
        raise found.with_traceback(None)
    return found


def verified_plan(spec: ExchangeSpec, schedule: Schedule) -> ExchangePlan:
    """The plan of a schedule that somebody else has found, if it grants the spec; no search.

    It takes milliseconds whatever is asked, and promises what a plan of one's own does: security,
    masks, flooding and precision are checked. It may be dearer than the cheapest one, and a number
    may carry up to `SPARE_BITS` more than the precision needs; the ledger charges what it carries.

    Raises:
        PlanError: the spec is out of range, or the schedule does not grant it.
    """
    check_spec(spec)
    check_schedule(spec, schedule)
    plan = evaluate(spec, schedule)
    if plan is None or not plan.relative_error <= spec.precision or not is_masked(plan):
        raise PlanError(
            "this schedule does not grant the spec",
            where="schedule",
            hint="Use the same version of securefair on both sides",
        )
    needed = -math.log2(spec.precision)
    if spec.multiplies:  # a mean over all slots, of which the samples fill some
        needed += math.log2(plan.blocks * plan.params.slots / spec.samples)
    if plan.number_bits > needed + SPARE_BITS:
        raise PlanError(
            "this schedule lets a number carry more than the precision needs",
            where="schedule",
            found=f"{plan.number_bits:.0f} bits",
            expected=f"at most {needed + SPARE_BITS:.0f} bits",
        )
    return plan


@lru_cache(maxsize=256)
def _searched(spec: ExchangeSpec) -> ExchangePlan | PlanError:
    try:
        return _search(spec)
    except PlanError as error:
        return error


def _search(spec: ExchangeSpec) -> ExchangePlan:
    if spec.network:
        return plan_network(spec)
    nearest, unmasked = math.inf, False
    for ring in _rings(spec):
        reached = math.inf
        for ckks in ring:
            plans = [p for s in _schedules(spec, ckks) if (p := evaluate(spec, s)) is not None]
            masked = [p for p in plans if is_masked(p)]
            granting = [p for p in masked if p.relative_error <= spec.precision]
            if granting:
                return min(granting, key=_cost)
            unmasked |= any(p.relative_error <= spec.precision for p in plans)
            error = min((p.relative_error for p in plans), default=math.inf)
            nearest = min(nearest, *(p.relative_error for p in masked), math.inf)
            if math.inf > error >= reached * SATURATION:
                break  # scales have met another limit than the modulus
            reached = error
    if unmasked:
        raise PlanError(
            "so many numbers per class could unmask the model to a dishonest student",
            where="q",
            found=spec.q,
            expected="fewer",
            hint="Release fewer numbers, or 'logits' knowingly",
        )
    raise PlanError(
        "no parameters at 128-bit security grant this",
        where="precision",
        found=spec.precision,
        expected=f"at least {nearest:.2g}" if nearest < math.inf else "a shallower circuit",
        hint="Allow a larger error, fewer flooding bits, or tighter bounds on the model",
    )


def _cost(plan: ExchangePlan) -> tuple[float, ...]:
    """What to save among plans of one parameter set."""
    traffic = plan.answer_bytes + plan.query_bytes
    return traffic, plan.schedule.flooding_limbs, plan.relative_error


def _rings(spec: ExchangeSpec) -> Iterator[list[CkksSpec]]:
    """Parameter sets of one ring degree after the other, each from few limbs to many."""
    switches = _switches_keys(spec)
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        special = MAX_LIMB_BITS if switches else smallest_prime_bits(ring_degree)
        specs = []
        for limbs in range(1, (cap - special) // (MAX_LIMB_BITS - 1) + 1):
            bits = min(MAX_LIMB_BITS, (cap - special) // limbs)
            specs.append(
                CkksSpec(ring_degree=ring_degree, limb_bits=(bits,) * limbs, special_bits=special)
            )
        yield specs


def _schedules(spec: ExchangeSpec, ckks: CkksSpec) -> Iterator[Schedule]:
    """For each choice of limbs, the schedule with the largest feature scale that fits."""
    limbs = len(ckks.limb_bits)
    factor_scales = FACTOR_SCALES if spec.multiplies else (0,)
    for product in range(1, limbs + 1) if spec.multiplies else (limbs,):
        for factor in factor_scales:
            scale = _largest_feature_scale(spec, ckks, product, factor)
            if scale is None:
                continue
            for answer_limbs in range(1, min(MAX_ANSWER_LIMBS, product) + 1):
                for flooding in range(answer_limbs, min(MAX_FLOODING_LIMBS, product) + 1):
                    yield _schedule(spec, ckks, scale, factor, product, flooding, answer_limbs)


def _largest_feature_scale(
    spec: ExchangeSpec, ckks: CkksSpec, product: int, factor: int
) -> float | None:
    """Bisection: a larger scale is more precise until the value wraps around the modulus."""
    low, high = MIN_FEATURE_SCALE * SCALE_STEPS - 1, rules.MAX_LOG2_ENCODED * SCALE_STEPS
    while low < high:
        middle = (low + high + 1) // 2
        # Flooded at the product level: nothing after it restricts the scale from above.
        scale = middle / SCALE_STEPS
        schedule = _schedule(spec, ckks, scale, factor, product, product, product)
        if evaluate(spec, schedule, flood=False) is None:
            high = middle - 1
        else:
            low = middle
    return low / SCALE_STEPS if low >= MIN_FEATURE_SCALE * SCALE_STEPS else None


def _schedule(
    spec: ExchangeSpec,
    ckks: CkksSpec,
    scale: float,
    factor: int,
    product: int,
    flooding: int,
    answer_limbs: int,
) -> Schedule:
    return Schedule(
        ckks=ckks,
        feature_scale=scale,
        factor_scale=float(factor),
        product_limbs=product,
        relinearize=_switches_keys(spec),
        flooding_limbs=flooding,
        answer_limbs=answer_limbs,
        stages=idle_stages(len(ckks.limb_bits), 1 if spec.hidden else 0),
    )


def _switches_keys(spec: ExchangeSpec) -> bool:
    """A public projection answers with three polynomials instead: no evaluation key at all."""
    if spec.multiplies:
        return True
    return bool(spec.hidden) and spec.release == "logits"
