"""Which numbers of samples need the longest messages, of all that an agreement admits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from securefair.circuit.planner import ExchangePlan
from securefair.errors import PlanError


def longest_plans(
    most: int, plan_for: Callable[[int], ExchangePlan], *, fewest: int = 1
) -> list[ExchangePlan]:
    """Plans that need no shorter messages than any number of samples from `fewest` to `most`.

    Means over few used slots need more precision, so fewer samples may need larger parameters: the
    largest number is planned, its half, and so on until a release refuses. Samples that fill their
    places need more than the next number, which begins new ones: places are powers of two, so the
    largest number that fills them is planned for each. Few samples travel in another way than more
    of them, in more bytes at times: the last number of each way is planned as well.

    Args:
        most: samples of the largest participant.
        plan_for: the plan for so many samples.
        fewest: samples that are admitted at all.

    Raises:
        PlanError: the largest exchange is impossible.
    """
    halves = {most >> at for at in range(most.bit_length())}
    filled = {most >> at << at for at in range(most.bit_length())}
    plans = [plan_for(most)]
    for size in sorted({one for one in halves | filled if fewest <= one < most}, reverse=True):
        try:
            plans.append(plan_for(size))
        except PlanError:
            break
    for many, few in list(pairwise(plans)):
        plans += _between(few, many, plan_for)
    return plans


def _between(
    few: ExchangePlan, many: ExchangePlan, plan_for: Callable[[int], ExchangePlan]
) -> list[ExchangePlan]:
    """Plans around the numbers at which samples begin to travel otherwise, found by halving."""
    small, large = few.spec.samples, many.spec.samples
    ways = {(p.schedule.packing, p.schedule.parts) for p in (few, many)}
    if large - small < 2 or len(ways) == 1:
        return []
    middle = plan_for((small + large) // 2)
    return [*_between(few, middle, plan_for), middle, *_between(middle, many, plan_for)]
