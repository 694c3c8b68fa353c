"""The circuit on paper: what a schedule makes of a spec, by running it without any ciphertext."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from securefair.circuit.answer import opens_slots, sanitised, shortened
from securefair.circuit.network import affine_specs
from securefair.circuit.on_paper import PaperRun, parameters, run_on_paper
from securefair.circuit.packings.register import packing_of
from securefair.circuit.plan import ExchangePlan
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.errors import EncryptionError

LESS = 1 - 2.0**-40
"""A bound times this is one still, whatever float64 rounds on the way to it."""


def evaluate(
    spec: ExchangeSpec,
    schedule: Schedule,
    *,
    logits: CipherTensor[None] | None = None,
) -> ExchangePlan | None:
    """Run the circuit on the planning backend; None if it does not fit.

    Nor do primes that kernels do not compute with exactly (`CkksParameters.transform_exactly`).

    Args:
        spec: what is asked for.
        schedule: what is to grant it.
        logits: logits of one block, where the schedule's stages have been run already.
    """
    found = computed(spec, schedule, logits=logits)
    return None if found is None else found.released(schedule)


@dataclass(frozen=True, eq=False)
class Computed:
    """A circuit that was run up to what it releases: schedules that differ after that share it.

    Attributes:
        spec, params: see `ExchangePlan`.
        schedule: one of them.
        run: what they share.
        flooded: what came out of flooding so far, which answers of all lengths share; None where
            it did not fit.
    """

    spec: ExchangeSpec
    schedule: Schedule
    params: CkksParameters
    run: PaperRun
    flooded: dict[tuple[int, int], CipherTensor[None] | None] = field(default_factory=dict)

    def released(self, schedule: Schedule) -> ExchangePlan | None:
        """The plan of a schedule that floods and shortens answers so; None if it does not fit."""
        flooded, run = self._flooded(schedule), self.run
        if flooded is None:
            return None
        try:
            evaluator = PlanningEvaluator(self.params)
            meta = shortened(evaluator, schedule, flooded, run.coefficients).meta
        except EncryptionError:
            return None
        error, relative = errors(self.spec, schedule, meta, run.blocks)
        return ExchangePlan(
            self.spec, schedule, self.params, affine_specs(self.spec), run.blocks,
            run.features, run.factors, meta, error, relative,
        )  # fmt: skip

    @property
    def fits(self) -> bool:
        """Whether there is a plan with hardly any flooding, at the level of the product."""
        return self._flooded(replace(self.schedule, flooding_bits=0)) is not None

    @property
    def headroom(self) -> float:
        """Bits of the modulus above the value, its noise left aside."""
        meta = self.run.value.meta
        return meta.log_q - 1 - meta.log2_scale - math.log2(meta.bound)

    @cached_property
    def least_error(self) -> float:
        """See `least_error`."""
        return least_error(self.spec, self.schedule, self.run.value.meta, self.run.blocks)

    def _flooded(self, schedule: Schedule) -> CipherTensor[None] | None:
        key = (schedule.flooding_limbs, schedule.flooding_bits)
        if key not in self.flooded:
            evaluator = PlanningEvaluator(self.params)
            slots = opens_slots(schedule, self.run.coefficients)
            try:
                value = sanitised(evaluator, schedule, self.run.value, slots=slots)
            except EncryptionError:
                value = None
            self.flooded[key] = value
        return self.flooded[key]


def computed(
    spec: ExchangeSpec, schedule: Schedule, *, logits: CipherTensor[None] | None = None
) -> Computed | None:
    """The first part of `evaluate`, with its arguments; None if it does not fit."""
    params = parameters(schedule.ckks)
    if not params.transform_exactly:
        return None
    try:
        run = run_on_paper(PlanningEvaluator(params), spec, schedule, logits)
    except EncryptionError:
        return None
    return Computed(spec, schedule, params, run)


def least_error(spec: ExchangeSpec, schedule: Schedule, meta: CipherMeta, blocks: int) -> float:
    """A bound below the relative error of all plans that release what has these facts, or what is
    made of it; infinite where no modulus of theirs has room for it.

    Flooding hides the noise that is there already. Products, switches and divisions only add to it.
    """
    flood = 2.0**spec.flooding_bits * rules.TAIL * meta.noise / math.sqrt(3)
    noise = math.hypot(meta.noise, flood)
    meta = replace(meta, bound=meta.bound * LESS, noise=noise * LESS)
    return errors(spec, schedule, meta, blocks)[1] if rules.room(meta) >= 0 else math.inf


def errors(
    spec: ExchangeSpec, schedule: Schedule, meta: CipherMeta, blocks: int
) -> tuple[float, float]:
    """Bound on a released value, and relative to the range of what it is made of.

    Coefficients of a projection are an isometric image of the slots, so their noise is compared
    with the logits' range slot for slot. Of b blocks that are added, a slot holds a sum of b
    logits. What samples of different blocks have in common adds up to b times one logit, and what
    is their own to sqrt(b) times one, in the mean square: single sums are smaller or larger. So the
    noise of a coefficient, over what one logit's spread contributes, is at least sqrt(b) times
    smaller than that of one block, and not b times, which only bounds the sum. A mean over slots
    sees only the used ones.
    """
    span = 2 * spec.bounds.logit
    packing = packing_of(schedule.packing)
    rounded = packing.rounding(spec, schedule)
    if spec.leaves.whole:
        slots = packing.opens_slots(packing.leaving(spec, schedule, None))
        error = rules.slot_error(meta) if slots else rules.coefficient_error(meta)
        return error + rounded, (error + rounded) / span
    error = rules.coefficient_error(meta)
    if spec.multiplies:  # coefficient 0 is the mean over the slots of a block
        total = error * meta.params.slots
        return total, total / (span * spec.samples)
    isometric = math.sqrt(packing.ring_degree(schedule))
    return error + rounded, (error * isometric + rounded) / (span * math.sqrt(blocks))
