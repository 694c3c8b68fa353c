"""What plans cost, by which they are weighed against each other."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from securefair.circuit.candidates import Candidate
from securefair.circuit.evaluation import computed
from securefair.circuit.flooding import most_flooding
from securefair.circuit.plan import ExchangePlan, is_masked
from securefair.circuit.work import BYTE, encryption_seconds
from securefair.ckks.backends.wire import upload_bytes

WORTH = 0.85
"""Share of the seconds that a plan with one more key may take, or with samples in slots: a smaller
gain is within what machines differ by. Each key is one more that a dishonest student can misuse,
and of slots `logits` release every number, filled or not."""


def granting(found: Iterable[Candidate]) -> list[Candidate]:
    """Those that grant, with as much flooding as the precision allows if need be."""
    precise = [each for each in found if each[0].relative_error <= each[0].spec.precision]
    return [each for each in precise if is_masked(each[0]) or is_masked(flooded(each[0]))]


def flooded(plan: ExchangePlan) -> ExchangePlan:
    """The same with as much flooding as the precision allows: a number then tells no more."""
    run = computed(plan.spec, plan.schedule)

    def at(bits: int) -> ExchangePlan | None:
        schedule = msgspec.structs.replace(plan.schedule, flooding_bits=bits)
        found = None if run is None else run.released(schedule)
        return found if found is not None and found.floods_to_precision else None

    most = most_flooding(plan.spec.flooding_bits, lambda bits: at(bits) is not None)
    return at(most) or plan


def block_seconds(candidate: Candidate) -> tuple[float, ...]:
    """Time first, then what travels in every round, then what travels once."""
    plan, seconds = candidate
    often, once = plan.answer_bytes + plan.query_bytes, plan.feature_bytes + plan.basis_bytes
    return seconds, often, once, plan.schedule.flooding_limbs, plan.relative_error


def block_cost(candidate: Candidate) -> float:
    """Seconds of keys, one block and its answers, on both sides and between them."""
    plan, seconds = candidate
    once = (plan.key_bytes + upload_bytes(plan.features)) * BYTE
    return encryption_seconds(plan.features) + plan.spec.answers * seconds + once


def exchange_cost(candidate: Candidate) -> float:
    """Seconds of keys, all samples and their answers, on both sides and between them."""
    plan, seconds = candidate
    once = plan.blocks * encryption_seconds(plan.features)
    once += all_bytes(plan) * BYTE
    return once + plan.spec.answers * plan.blocks * seconds


def all_bytes(plan: ExchangePlan) -> int:
    """Of keys, all samples and their answers."""
    return plan.key_bytes + plan.feature_bytes + plan.spec.answers * plan.answer_bytes
