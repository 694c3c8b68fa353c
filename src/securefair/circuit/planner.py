"""From a spec to an exchange plan: the smallest parameters that grant it, of heads and networks.

The planner runs the circuit itself on the planning backend, so a plan states exactly what an
encrypted run will do: levels, scales, keys, bytes and an error bound. Nothing depends on private
data; both sides compute the same plan from the same spec.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from securefair.circuit.admission import check_schedule
from securefair.circuit.candidates import Candidate
from securefair.circuit.evaluation import evaluate
from securefair.circuit.packings.register import REGISTERED, packing_of, part_of
from securefair.circuit.plan import ExchangePlan, is_masked
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec, check_spec
from securefair.circuit.weighing import flooded
from securefair.errors import PlanError

__all__ = ["ExchangePlan", "plan_exchange", "verified_plan"]


def plan_exchange(spec: ExchangeSpec, *, coefficients: bool = True) -> ExchangePlan:
    """The cheapest plan: every packing of the register says whether it is worth it instead of the
    best one before it.

    `coefficients` false leaves out those that encrypt values as coefficients, for a backend that
    does not.

    The search takes up to seconds. Its outcome is remembered, also that there is none. Whoever
    plans at a stranger's word uses `verified_plan`.

    Raises:
        PlanError: the spec is impossible; the hint names the nearest precision or flooding.
    """
    check_spec(spec)
    found = _searched(spec, coefficients)
    if isinstance(found, PlanError):
        raise found.with_traceback(None)
    return found


def verified_plan(spec: ExchangeSpec, schedule: Schedule) -> ExchangePlan:
    """The plan of a schedule that somebody else has found, if it grants the spec; no search.

    It takes milliseconds whatever is asked, and promises what a plan of one's own does: security,
    masks, flooding up to the precision and precision are checked. It may be dearer than the
    cheapest one, and a number may carry up to `most_bits`; the ledger charges what it carries. How
    many numbers leave as `logits` is the schedule's choice: `exchange.account` limits it.

    What was granted is remembered: a process certifies a plan once, however many answers it gives.

    Raises:
        PlanError: the spec is out of range, or the schedule does not grant it.
    """
    check_spec(spec)
    return _verified(spec, schedule)


@lru_cache(maxsize=64)  # strangers choose what is in it: few enough to hold
def _verified(spec: ExchangeSpec, schedule: Schedule) -> ExchangePlan:
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
    return plan.needed_bits + plan.packing.spare_bits(plan.spec, plan.schedule)


@lru_cache(maxsize=256)
def _searched(spec: ExchangeSpec, coefficients: bool) -> ExchangePlan | PlanError:
    try:
        return _search(spec, coefficients)
    except PlanError as error:
        return error


def _search(spec: ExchangeSpec, coefficients: bool = True) -> ExchangePlan:
    best: Candidate | None = None
    for name in REGISTERED:
        if coefficients or not packing_of(name).coefficients:
            best = part_of(name, "search")(spec, best) or best
    assert best is not None  # the first packing raises where it has no plan
    return flooded(best[0])
