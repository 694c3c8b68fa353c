"""A teacher's answer step by step, on paper: levels, scales and noise, and what each step costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from securefair.circuit.answer import Inputs, answer
from securefair.circuit.planner import ExchangePlan
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.evaluator import Released
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.profiling.observe import observed

LAYERS = "layers"
"""What a head's maps are counted under where they are evaluated in one."""

WITHIN_LAYERS = ("linear1", "conjugate", "square", "linear2")
"""Its steps on paper."""

_STAGES = {
    "load": "receive",
    "square_sums": "square",
    "add": "add_blocks",
    "subtract": "add_blocks",
    "real_part": "conjugate",
    "inner_plain": "forms",
    "gather": "join",
    "multiply": "products",
    "inner": "products",
    "outer": "products",
    "relinearize": "relinearise",
    "sanitize": "sanitise",
    "quadratic": LAYERS,
}


@dataclass(frozen=True)
class TracedStep:
    """One operation of an answer, as often as it happens alike.

    Attributes:
        stage: what the profile counts it under.
        operation: the evaluator's method.
        inputs, output: public facts of the ciphertexts; of the last time where sums grow. Pairs of
            samples become two tensors, of which this is either.
        coefficients: how many coefficients leave; None where whole ciphertexts do, or nothing.
        times: how often, once a block for most.
        products: those of a sparse linear map, weight by ciphertext; None where it is dense.
    """

    stage: str
    operation: str
    inputs: tuple[CipherMeta, ...]
    output: CipherMeta
    coefficients: int | None
    times: int
    products: int | None = None


def stage_name(operation: str, arguments: Sequence[object], specs: Sequence[AffineSpec]) -> str:
    """What the time of an operation is counted under: layers by number, sums of blocks alike."""
    for argument in arguments:
        if isinstance(argument, AffineSpec):
            return f"linear{specs.index(argument) + 1}"
    return _STAGES.get(operation, operation)


def trace(plan: ExchangePlan) -> tuple[TracedStep, ...]:
    """The steps of an answer in order, equal ones of different blocks counted together."""
    seen: dict[tuple[object, ...], TracedStep] = {}
    products = {
        f"linear{place}": bounds.multiply_adds
        for place, bounds in enumerate(plan.spec.network, start=1)
    }

    def write_down(operation: str, method: Any, *arguments: Any, **keywords: Any) -> Any:
        result = method(*arguments, **keywords)
        inputs = tuple(a.meta for a in arguments if isinstance(a, CipherTensor))
        coefficients = None
        if isinstance(result, Released) and result.coefficients is not None:
            coefficients = len(result.coefficients)
        stage = stage_name(operation, arguments, plan.specs)
        output = result[0].meta if isinstance(result, tuple) else result.meta  # of all alike
        step = TracedStep(stage, operation, inputs, output, coefficients, 1, products.get(stage))
        shapes = [meta.residue_shape for meta in (*inputs, output)]
        if shapes == [output.residue_shape] * 2 and operation == "rescale":
            return result  # nothing to come down from
        key = (stage, *shapes)
        known = seen.get(key)
        seen[key] = step if known is None else replace(step, times=known.times + 1)
        return result

    evaluator = observed(PlanningEvaluator(plan.params), write_down)
    factors = plan.factors
    inputs = Inputs(
        features=[evaluator.load(b"", plan.features) for _ in range(plan.blocks)],
        factors=[evaluator.load(b"", factors) for _ in range(plan.blocks)] if factors else [],
        signs=np.ones(plan.blocks, dtype=np.int64),
        coefficients=np.zeros(plan.spec.q, dtype=np.int64),
    )
    answer(evaluator, plan.spec, plan.schedule, plan.specs, (None,) * len(plan.specs), inputs)
    return tuple(seen.values())
