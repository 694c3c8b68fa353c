"""For a spec that cannot be granted: a plan that can, with one number of the spec changed.

A refusal of the planner names the field at fault and what would do. A search would take a minute
for specs that multiply ciphertexts, so only what the refusal suggests is tried.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import msgspec

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.config import defaults
from securefair.errors import PlanError

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_ROUNDED = 1.06
"""Refusals print errors with two digits."""

MAX_PRECISION = 0.5


def nearest_plan(spec: ExchangeSpec, refusal: PlanError) -> tuple[str, ExchangePlan] | None:
    """The changed field and the plan; None where no change that the refusal suggests helps."""
    for field, value in _suggestions(spec, refusal):
        plan = _granted(spec, field, value)
        if plan is not None:
            return field, _closer(spec, field, plan) if field == "q" else plan
    return None


def _suggestions(spec: ExchangeSpec, refusal: PlanError) -> Iterator[tuple[str, float]]:
    """Changes to try, the smaller ones first."""
    named = [float(number) for number in _NUMBER.findall(str(refusal.expected))]
    match refusal.where:
        case "precision" if named and 0 < spec.precision <= MAX_PRECISION:
            error = named[0] * _ROUNDED
            if spec.precision < error <= MAX_PRECISION:
                yield "precision", error
            # Flooding is most of the error, and every bit less halves it.
            excess = math.floor(math.log2(error / spec.precision))
            for bits in (spec.flooding_bits - excess, spec.flooding_bits - excess - 1):
                if bits >= defaults.MIN_FLOODING_BITS:
                    yield "flooding_bits", bits
        case "q":
            yield "q", min(spec.q, spec.samples) - 1
            yield "q", 1
        case "weight_bits" | "flooding_bits" | "features" | "hidden" | "classes" | "samples":
            value = getattr(spec, refusal.where)
            if named:
                yield refusal.where, int(min(named, key=lambda limit: abs(limit - value)))


def _closer(spec: ExchangeSpec, field: str, plan: ExchangePlan) -> ExchangePlan:
    """Bisection between what was granted and what was asked for."""
    low, high = getattr(plan.spec, field), getattr(spec, field)
    while high - low > 1:
        middle = (low + high) // 2
        found = _granted(spec, field, middle)
        if found is None:
            high = middle
        else:
            low, plan = middle, found
    return plan


def _granted(spec: ExchangeSpec, field: str, value: float) -> ExchangePlan | None:
    try:
        return plan_exchange(msgspec.structs.replace(spec, **{field: value}))
    except PlanError:
        return None
