"""A circuit on the planning backend, where only public facts are computed."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.answer import (
    CONSTANT,
    Inputs,
    logits_of,
    released_coefficients,
    sums_of,
)
from securefair.circuit.network import affine_specs
from securefair.circuit.packings.register import packing_of
from securefair.circuit.schedule import Schedule, factors_meta
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor

ONE = np.ones(1, dtype=np.int64)


class PaperRun(NamedTuple):
    """A circuit that was run up to what it releases.

    Attributes:
        blocks, features, factors: see `ExchangePlan`.
        value: one tensor of what is released, before it is sanitised.
        coefficients: that leave; None for all.
    """

    blocks: int
    features: CipherMeta
    factors: CipherMeta | None
    value: CipherTensor[None]
    coefficients: NDArray[np.int64] | None


def run_on_paper(
    evaluator: PlanningEvaluator,
    spec: ExchangeSpec,
    schedule: Schedule,
    logits: CipherTensor[None] | None = None,
) -> PaperRun:
    """The circuit of one block, from the features or from `logits` on, up to what is released.

    Raises:
        EncryptionError: something does not fit.
    """
    params, specs = evaluator.params, affine_specs(spec)
    packing = packing_of(schedule.packing)
    blocks = packing.blocks(spec, schedule)
    scale, parts = schedule.feature_scale, schedule.parts
    features = packing.fresh(params, spec, log2_scale=scale, parts=parts)
    count = spec.leaves.factors(spec)
    factors = factors_meta(params, schedule, count) if count else None
    if logits is None:
        fresh, none = evaluator.load(b"", features), (None,) * len(specs)
        (logits,) = logits_of(evaluator, spec, schedule, specs, none, [fresh])
    inputs = Inputs(
        features=(),
        factors=[evaluator.load(b"", factors)] if factors else [],
        signs=ONE,
        coefficients=CONSTANT,  # any: planning only asks whether whole ciphertexts leave
    )
    (value,) = sums_of(evaluator, spec, schedule, [logits], inputs)
    if not spec.leaves.whole:  # blocks are alike, and are added
        value = evaluator.load(b"", rules.added(value.meta, blocks))
    which = released_coefficients(spec, schedule, CONSTANT)
    return PaperRun(blocks, features, factors, value, which)


@lru_cache(maxsize=1 << 11)  # a search tries some hundred
def parameters(spec: CkksSpec) -> CkksParameters:
    """The primes of a spec, found once.

    Raises:
        PlanError: see `CkksParameters`.
    """
    return CkksParameters(spec)
