"""From a spec to an exchange plan: the smallest parameters that grant it, of heads and networks.

The planner runs the circuit itself on the planning backend, so a plan states exactly what an
encrypted run will do: levels, scales, keys, bytes and an error bound. Nothing depends on private
data; both sides compute the same plan from the same spec.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from securefair.circuit.candidates import Candidate, kept_whole, rescaled
from securefair.circuit.evaluation import computed, evaluate
from securefair.circuit.flooding import most_flooding
from securefair.circuit.monomial_plans import in_monomials
from securefair.circuit.network import affine_specs
from securefair.circuit.plan import ExchangePlan, is_masked
from securefair.circuit.schedule import (
    MAX_HELD_BYTES,
    MAX_PARTS,
    Schedule,
    check_schedule,
    held_bytes,
    travels_beside,
)
from securefair.circuit.spec import ExchangeSpec, check_spec
from securefair.circuit.work import (
    BYTE,
    encryption_seconds,
    relinearization_seconds,
)
from securefair.ckks.backends.wire import switching_key_bytes, upload_bytes
from securefair.ckks.interleaving import suits
from securefair.ckks.rules import with_count
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.specs import AffineSpec
from securefair.errors import PlanError

__all__ = ["ExchangePlan", "plan_exchange", "verified_plan"]


SPARE_BITS = 20
"""What plans of the search carry beyond the precision of a logit: 2 to 10 of heads (a coefficient
is sqrt(N) times finer than a logit, and bounds allow for eight deviations), up to 19 of networks
with two squares, whose values leave room below the modulus."""

SPARE_FORM_BITS = 8
"""The same where samples travel as monomials: 5 to 7 in plans of the search. A dishonest student
chooses what is added up in one number there, and more bits would hold a second entry of a form."""


def plan_exchange(spec: ExchangeSpec, *, monomials: bool = True) -> ExchangePlan:
    """The cheapest plan: smallest ring, then least time for the model, then fewest bytes.

    `logits` of few samples, or of few features, are cheaper with features, or products of them, in
    coefficients than with samples in slots, or with features beside each other: all are planned,
    and the one of fewer seconds taken. `monomials` false leaves all of these out, for a backend
    that packs no coefficients.

    The search takes up to seconds. Its outcome is remembered, also that there is none. Whoever
    plans at a stranger's word uses `verified_plan`.

    Raises:
        PlanError: the spec is impossible; the hint names the nearest precision or flooding.
    """
    check_spec(spec)
    found = _searched(spec, monomials)
    if isinstance(found, PlanError):
        raise found.with_traceback(None)
    return found


def verified_plan(spec: ExchangeSpec, schedule: Schedule) -> ExchangePlan:
    """The plan of a schedule that somebody else has found, if it grants the spec; no search.

    It takes milliseconds whatever is asked, and promises what a plan of one's own does: security,
    masks, flooding up to the precision and precision are checked. It may be dearer than the
    cheapest one, and a number may carry up to `most_bits`; the ledger charges what it carries. How
    many numbers leave as `logits` is the schedule's choice: `exchange.account` limits it.

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
    most = schedule.flooding_bits
    more = evaluate(spec, msgspec.structs.replace(schedule, flooding_bits=most + 1))
    if more is not None and more.floods_to_precision:
        raise PlanError(
            "this schedule floods less than the precision allows",
            where="flooding_bits",
            found=most,
            expected="as many as keep the precision",
            hint="Use the same version of securefair on both sides",
        )
    if plan.number_bits > most_bits(plan):
        raise PlanError(
            "this schedule lets a number carry more than the precision needs",
            where="schedule",
            found=f"{plan.number_bits:.0f} bits",
            expected=f"at most {most_bits(plan):.0f} bits",
        )
    return plan


def most_bits(plan: ExchangePlan) -> float:
    """Most bits that a number may carry, of any plan of this spec and packing."""
    return plan.needed_bits + (SPARE_BITS if plan.monomials is None else SPARE_FORM_BITS)


@lru_cache(maxsize=256)
def _searched(spec: ExchangeSpec, monomials: bool) -> ExchangePlan | PlanError:
    try:
        return _search(spec, monomials)
    except PlanError as error:
        return error


def _search(spec: ExchangeSpec, monomials: bool = True) -> ExchangePlan:
    best = _in_slots(spec)
    if monomials:
        best, few = _beside(spec, best) or best, in_monomials(spec)
        # Fewer numbers leave of these, and they take no key where features beside each other take
        # two.
        worth = WORTH if best[0].schedule.parts == 1 else WORTH**2
        if few is not None and _exchange_cost(best) >= worth * _exchange_cost(few):
            best = few
    return flooded(best[0])


def _beside(spec: ExchangeSpec, slots: Candidate) -> Candidate | None:
    """The best plan with features beside each other, if one is worth it instead of `slots`.

    As many beside each other as the samples leave room for, or fewer: their key switches take less
    time and noise, their upload more bytes. Of those that are worth it, one that takes a little
    more than the cheapest is better where it lets fewer numbers out.
    """
    if not travels_beside(spec):
        return None
    specs = affine_specs(spec)
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        granting: list[Candidate] = []
        for parts in PARTS:
            if not suits(ring_degree, parts) or 2 * spec.samples * parts > ring_degree:
                continue
            found = kept_whole(spec, specs, ring_degree, cap, parts=parts)
            lean = [way for way in found if held_bytes(spec, way[0].schedule) <= MAX_HELD_BYTES]
            granting += _granting(lean)
        if granting:
            worth_it = [way for way in granting if _worth_it(way, slots)]
            least = min(map(_exchange_cost, worth_it), default=0.0)
            near = [way for way in worth_it if WORTH * _exchange_cost(way) <= least]
            return min(near, key=lambda w: (w[0].numbers, _exchange_cost(w)), default=None)
    return None


def _worth_it(beside: Candidate, slots: Candidate) -> bool:
    """It may take a little more where it lets fewer numbers out, and must take clearly less where
    it does not."""
    worth = WORTH if beside[0].numbers < slots[0].numbers else 1 / WORTH
    return _exchange_cost(slots) >= worth * _exchange_cost(beside)


def _in_slots(spec: ExchangeSpec) -> Candidate:
    """The best plan with samples in slots, and features by themselves or in pairs."""
    specs = affine_specs(spec)
    squares = sum(bounds.summed > 0 for bounds in spec.layers)
    offered: list[Candidate] = []
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        ring = (spec, specs, ring_degree, cap)
        found = list(kept_whole(*ring))
        granting = _granting(found)
        if squares > 1 or (squares and not granting):  # there is little to save through one square
            slowest = min((seconds for _, seconds in granting), default=math.inf)
            more = list(rescaled(*ring, most=spec.precision, slowest=slowest))
            found, granting = found + more, granting + _granting(more)
        if granting:
            return _packed(min(granting, key=_cost), specs, cap)
        offered += found
    if any(plan.relative_error <= spec.precision for plan, _ in offered):
        raise _unmasked(spec)
    nearest = min(map(_masked_error, offered), default=math.inf)
    for ring_degree, cap in sorted(MAX_LOG_QP.items()) if squares else ():
        # What is not as precise as it has to be was left out so far.
        others = rescaled(spec, specs, ring_degree, cap, most=nearest)
        nearest = min(nearest, min(map(_masked_error, others), default=math.inf))
    raise _impossible(spec, squares, nearest)


def _granting(found: Sequence[Candidate]) -> list[Candidate]:
    """Those that grant, with as much flooding as the precision allows if need be."""
    precise = [each for each in found if each[0].relative_error <= each[0].spec.precision]
    return [each for each in precise if is_masked(each[0]) or is_masked(flooded(each[0]))]


def _masked_error(candidate: Candidate) -> float:
    return candidate[0].relative_error if is_masked(candidate[0]) else math.inf


def _packed(single: Candidate, specs: Sequence[AffineSpec], cap: int) -> Candidate:
    """The best plan of the same ring: as it is, or with two features in a ciphertext.

    Features are packed alike for any number of samples, so that no student that brings fewer packs
    otherwise.
    """
    plan = single[0]
    if plan.spec.hidden and not plan.spec.network and _may_pay(plan):
        found = _in_pairs(plan, specs, cap)
        if found is not None and _block_cost(found) < WORTH * _block_cost(single):
            return found
    return single


def _in_pairs(single: ExchangePlan, specs: Sequence[AffineSpec], cap: int) -> Candidate | None:
    """The best plan of the same ring with pairs.

    They take half the ciphertexts to encrypt and send. They take one more key, and a key switch for
    every value of the first map of a block in every answer. The modulus pays a bit or two for each
    square.
    """
    spec, ring_degree = single.spec, single.params.ring_degree
    found = [
        each
        for each in kept_whole(spec, specs, ring_degree, cap, pairs="features")
        if held_bytes(spec, each[0].schedule) <= MAX_HELD_BYTES
    ]
    return min(_granting(found), key=_cost, default=None)


def _may_pay(plan: ExchangePlan) -> bool:
    """Whether pairs would pay if the modulus grew by nothing; spares most searches."""
    one, layer = with_count(plan.features, 1), plan.spec.layers[0]
    each = encryption_seconds(one) + upload_bytes(one) * BYTE
    hidden = with_count(plan.features, layer.outputs)
    switched = plan.spec.answers * relinearization_seconds(hidden)
    key = switching_key_bytes(plan.params, plan.params.limbs) * BYTE
    return (plan.spec.features // 2) * each > switched + key


PARTS = tuple(MAX_PARTS >> halvings for halvings in range(MAX_PARTS.bit_length() - 1))
"""Features beside each other: powers of two, most first."""

WORTH = 0.85
"""Share of the seconds that a plan with one more key may take, or with samples in slots: a smaller
gain is within what machines differ by. Each key is one more that a dishonest student can misuse,
and of slots `logits` release every number, filled or not."""


def _block_cost(candidate: Candidate) -> float:
    """Seconds of keys, one block and its answers, on both sides and between them."""
    plan, seconds = candidate
    once = (plan.key_bytes + upload_bytes(plan.features)) * BYTE
    return encryption_seconds(plan.features) + plan.spec.answers * seconds + once


def _exchange_cost(candidate: Candidate) -> float:
    """Seconds of keys, all samples and their answers, on both sides and between them."""
    plan, seconds = candidate
    once = plan.blocks * encryption_seconds(plan.features)
    once += _all_bytes(plan) * BYTE
    return once + plan.spec.answers * plan.blocks * seconds


def _all_bytes(plan: ExchangePlan) -> int:
    """Of keys, all samples and their answers."""
    return plan.key_bytes + plan.feature_bytes + plan.spec.answers * plan.answer_bytes


def flooded(plan: ExchangePlan) -> ExchangePlan:
    """The same with as much flooding as the precision allows: a number then tells no more."""
    run = computed(plan.spec, plan.schedule)

    def at(bits: int) -> ExchangePlan | None:
        schedule = msgspec.structs.replace(plan.schedule, flooding_bits=bits)
        found = None if run is None else run.released(schedule)
        return found if found is not None and found.floods_to_precision else None

    most = most_flooding(plan.spec.flooding_bits, lambda bits: at(bits) is not None)
    return at(most) or plan


def _cost(candidate: Candidate) -> tuple[float, ...]:
    """Time first, then what travels in every round, then what travels once."""
    plan, seconds = candidate
    often, once = plan.answer_bytes + plan.query_bytes, plan.feature_bytes + plan.basis_bytes
    return seconds, often, once, plan.schedule.flooding_limbs, plan.relative_error


def _unmasked(spec: ExchangeSpec) -> PlanError:
    return PlanError(
        "so many numbers per class could unmask the model to a dishonest student",
        where="q",
        found=spec.q,
        expected="fewer",
        hint="Release fewer numbers, or 'logits' knowingly",
    )


def _impossible(spec: ExchangeSpec, squares: int, nearest: float) -> PlanError:
    if nearest < math.inf:
        return PlanError(
            "no parameters at 128-bit security grant this",
            where="precision",
            found=spec.precision,
            expected=f"at least {nearest:.2g}",
            hint="Allow a larger error, fewer flooding bits, or tighter bounds on the model",
        )
    return PlanError(
        "no ring has a modulus at 128-bit security that is long enough for this model",
        where="network" if spec.network else "bounds",
        found=f"{squares} squares one after the other",
        expected="fewer squares, fewer bits of weights or tighter bounds",
        hint=f"The longest modulus at 128-bit security has {max(MAX_LOG_QP.values())} bits",
    )
