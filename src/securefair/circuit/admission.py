"""Which schedules are run at all: checked before anything is computed from one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from securefair.circuit.candidates import Candidate
from securefair.circuit.flooding import MAX_FLOODING_BITS
from securefair.circuit.packings.register import packing_of
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.primes import MAX_LIMB_BITS
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import PlanError

MAX_LOG2_SCALE = 128
"""Beyond what any encoding has; planning refuses earlier."""

MAX_HELD_BYTES = 1 << 30
"""Of what a teacher holds at once beside an upload: 1,000 hidden units of pairs are 0.4 GB at
N = 8192 and six limbs. With features alone, values are used up one after the other."""


def check_schedule(spec: ExchangeSpec, schedule: Schedule) -> None:
    """Refuse a schedule that no planner makes, before anything is computed from it.

    Raises:
        PlanError: the packing is unknown or does not suit, the number of limbs or stages does not
            fit, a scale is out of range, or a teacher would hold too much memory.
    """
    ckks, packing = schedule.ckks, packing_of(schedule.packing)
    cap = MAX_LOG_QP.get(ckks.ring_degree, 0)
    # Bits of primes are rounded up by less than one each.
    bits = sum(ckks.limb_bits[:cap]) + ckks.special_bits - len(ckks.limb_bits) - 1
    limbs = len(ckks.limb_bits)
    steps = [step for stage in schedule.stages for step in (stage.linear, stage.square) if step]
    scales = (schedule.feature_scale, schedule.factor_scale)
    holds = (
        1 <= limbs <= cap
        and all(1 <= each <= MAX_LIMB_BITS for each in (*ckks.limb_bits, ckks.special_bits))
        and bits <= cap
        and all(0 <= scale <= MAX_LOG2_SCALE for scale in scales)
        and spec.flooding_bits <= schedule.flooding_bits <= MAX_FLOODING_BITS
        and 1 <= schedule.answer_limbs <= schedule.flooding_limbs <= schedule.product_limbs <= limbs
        and all(1 <= step.limbs <= limbs for step in steps)
        and 1 <= schedule.parts <= ckks.ring_degree
        and packing.fits(spec, schedule)
        and _stages_fit(spec, schedule, layered=packing.layered)
    )
    if not holds:
        raise PlanError("this schedule does not fit the spec", where="schedule")
    held = packing.held_bytes(spec, schedule)
    if held > MAX_HELD_BYTES:
        raise PlanError(
            "a teacher would hold too much memory for this schedule",
            where="schedule",
            found=f"{held} bytes for {spec.samples} samples of {spec.features} features, "
            f"{spec.hidden} hidden units and {spec.classes} classes",
            expected=f"at most {MAX_HELD_BYTES} bytes",
            hint="Plan with another packing, or in a smaller ring",
        )


def lean(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Those for which a teacher holds little enough."""
    for candidate in candidates:
        plan = candidate[0]
        held = packing_of(plan.schedule.packing).held_bytes(plan.spec, plan.schedule)
        if held <= MAX_HELD_BYTES:
            yield candidate


def _stages_fit(spec: ExchangeSpec, schedule: Schedule, *, layered: bool) -> bool:
    if not layered:
        return not schedule.stages
    return len(schedule.stages) == len(spec.layers) and all(
        (stage.square is not None) == (layer.summed > 0)
        for stage, layer in zip(schedule.stages, spec.layers, strict=True)
    )
