"""A model on paper: where its values are rescaled and keys are switched, and what that takes.

Values are kept at scales of at least some target: whenever primes can be dropped without falling
below it, they are. Without any target nothing is dropped: the modulus then holds the whole scale.
Keys are switched where it costs least: before a map or after it. With the whole scale they are
switched only where a square needs two polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from securefair.circuit import answer
from securefair.circuit.network import mapped, rescaled, squared
from securefair.circuit.on_paper import parameters
from securefair.circuit.packings.register import packing_of
from securefair.circuit.plan import ExchangePlan
from securefair.circuit.schedule import FIRST, LayerSteps, RescaleStep
from securefair.circuit.spec import ExchangeSpec, LayerBounds
from securefair.circuit.work import (
    map_seconds,
    relinearization_seconds,
    rescaling_seconds,
    separation_seconds,
    square_seconds,
    switching_seconds,
)
from securefair.ckks import rules
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.parameters import CkksSpec
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.errors import EncryptionError, PlanError

WHOLE = math.inf
"""The target of values that are never rescaled on their way."""


@dataclass(frozen=True)
class Walk:
    """How a model is evaluated.

    Attributes:
        ckks: parameters.
        feature_scale: log2 scale of the features.
        target: log2 scale that values are kept at, or `WHOLE`.
        stages: stages of every map.
        logits: public facts of what comes out, a block.
        seconds: roughly, an upload block.
        spare: limbs that were never needed.
        packing, parts: packing and parts of the schedule.
    """

    ckks: CkksSpec
    feature_scale: float
    target: float
    stages: tuple[LayerSteps, ...]
    logits: CipherTensor[None]
    seconds: float
    spare: int
    packing: str = FIRST
    parts: int = 1

    @cached_property
    def _lowered(self) -> dict[int, CipherTensor[None]]:
        return {}

    def lowered(self, limbs: int) -> CipherTensor[None]:
        """The logits as they are multiplied at so many limbs.

        Raises:
            EncryptionError: they do not fit.
        """
        if limbs not in self._lowered:
            evaluator = PlanningEvaluator(self.logits.meta.params)
            self._lowered[limbs] = answer.lowered(evaluator, self.logits, limbs)
        return self._lowered[limbs]

    @cached_property
    def switches(self) -> bool:
        """Whether keys are switched on the way."""
        steps = (step for stage in self.stages for step in (stage.linear, stage.square) if step)
        return any(step.relinearize for step in steps)


def walk(
    spec: ExchangeSpec,
    specs: Sequence[AffineSpec],
    ckks: CkksSpec,
    feature_scale: float,
    target: float,
    *,
    packing: str = FIRST,
    parts: int = 1,
) -> Walk | None:
    """Run the model on the planning backend, deciding as it goes; None if it does not fit."""
    try:
        params = parameters(ckks)
        fresh = packing_of(packing).fresh(params, spec, log2_scale=feature_scale, parts=parts)
        return _walked(spec, specs, ckks, fresh, target, (packing, parts))
    except (EncryptionError, PlanError):
        return None


def _walked(
    spec: ExchangeSpec,
    specs: Sequence[AffineSpec],
    ckks: CkksSpec,
    fresh: CipherMeta,
    target: float,
    packed: tuple[str, int],
) -> Walk:
    evaluator = PlanningEvaluator(fresh.params)
    value = evaluator.load(b"", fresh)
    room, seconds, stages = rules.room(fresh), 0.0, []
    for map_spec, bounds in zip(specs, spec.layers, strict=True):
        before = _rescale_step(value.meta, target, switch=_early(value.meta, bounds, target))
        value, taken = _mapped(evaluator, value, before, map_spec, bounds)
        seconds += taken
        room = min(room, rules.room(value.meta))
        square = None
        if bounds.summed:
            square = _rescale_step(value.meta, target, switch=value.meta.polys > 2)
            value, taken = _squared(evaluator, value, square, bounds)
            seconds += taken
            room = min(room, rules.room(value.meta))
        stages.append(LayerSteps(linear=before, square=square))
    spare = min(int(room // min(ckks.limb_bits)), value.meta.limbs - 1)
    way = (ckks, fresh.log2_scale, target, tuple(stages), value, seconds, spare)
    return Walk(*way, *packed)


def steps_seconds(plan: ExchangePlan) -> float:
    """Seconds of one core that a plan's model takes for an upload block, by the prices of `work`.

    Prices weigh steps against each other. For seconds of a machine scale them by a model that was
    measured there.
    """
    evaluator, seconds = PlanningEvaluator(plan.params), 0.0
    value = evaluator.load(b"", plan.features)
    layers = zip(plan.schedule.stages, plan.specs, plan.spec.layers, strict=True)
    for steps, map_spec, bounds in layers:
        value, taken = _mapped(evaluator, value, steps.linear, map_spec, bounds)
        seconds += taken
        if steps.square is not None:
            value, taken = _squared(evaluator, value, steps.square, bounds)
            seconds += taken
    return seconds


def _mapped(
    evaluator: PlanningEvaluator,
    value: CipherTensor[None],
    before: RescaleStep,
    map_spec: AffineSpec,
    bounds: LayerBounds,
) -> tuple[CipherTensor[None], float]:
    """What a map makes of a block, and how long it takes with what comes before it."""
    seconds = _rescaling_seconds(value.meta, before)
    value = rescaled(evaluator, value, before)
    seconds += map_seconds(value.meta, bounds.outputs, bounds.multiply_adds)
    made = mapped(evaluator, value, map_spec, None)
    if value.meta.interleaved:
        seconds += separation_seconds(value.meta, map_spec)
    elif value.meta.paired:
        seconds += relinearization_seconds(made.meta)
    return made, seconds


def _squared(
    evaluator: PlanningEvaluator,
    value: CipherTensor[None],
    before: RescaleStep,
    bounds: LayerBounds,
) -> tuple[CipherTensor[None], float]:
    """Squares, summed or not, and how long they take with what comes before them."""
    seconds = _rescaling_seconds(value.meta, before)
    value = rescaled(evaluator, value, before)
    return squared(evaluator, value, bounds), seconds + square_seconds(value.meta)


def lowered(x: CipherMeta, target: float) -> int:
    """Limbs that are left when as many primes are dropped as the target allows."""
    limbs, scale = x.limbs, x.log2_scale
    while limbs > 1:
        scale -= x.params.log_primes[limbs - 1]
        if scale < target:
            break
        limbs -= 1
    return limbs


def _early(x: CipherMeta, bounds: LayerBounds, target: float) -> bool:
    """Whether products are cheaper to relinearise before the next map than after it."""
    if x.polys == 2 or target == WHOLE:
        return False
    lower = rules.relinearize(x)
    lower = rules.rescale(lower, lowered(lower, target))
    after = rules.with_count(x, bounds.outputs)
    early = switching_seconds(x, lower.limbs)
    early += map_seconds(lower, bounds.outputs, bounds.multiply_adds)
    late = switching_seconds(after, lower.limbs)
    late += map_seconds(x, bounds.outputs, bounds.multiply_adds)
    return early < late


def _rescale_step(x: CipherMeta, target: float, *, switch: bool) -> RescaleStep:
    """Three polynomials are not rescaled: their rounding errors would be multiplied by s^2."""
    three = x.polys > 2 and not switch
    return RescaleStep(relinearize=switch, limbs=x.limbs if three else lowered(x, target))


def _rescaling_seconds(x: CipherMeta, before: RescaleStep) -> float:
    seconds = switching_seconds if before.relinearize else rescaling_seconds
    return seconds(x, before.limbs)
