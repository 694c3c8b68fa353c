"""From encrypted features to an answer, whatever the release and the packing.

    features -> logits -> [products with what the student encrypted] -> sums -> sanitise -> answer

Blocks of N/2 samples are added before anything is released, so that an answer does not grow with
the data; only `logits` keeps them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.network import Chunk, PrivateMap, relinearized
from securefair.circuit.packings.register import packing_of
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.evaluator import Evaluator, Released
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherTensor

P = TypeVar("P")

CONSTANT = np.zeros(1, dtype=np.int64)
"""Index of the coefficient that holds the mean over slots."""


@dataclass(frozen=True)
class Inputs(Generic[P]):
    """What the student uploaded, block by block.

    Attributes:
        features: d ciphertexts an upload block; of a network also chunks to be loaded.
        factors: predictions (M) or basis rows (q) a block; empty where nothing is multiplied.
        signs: (blocks,) +1 or -1, under which blocks of a public projection are added.
        coefficients: (q,) released coefficients of a public projection.
    """

    features: Sequence[CipherTensor[P] | Sequence[Chunk[P]]]
    factors: Sequence[CipherTensor[P]]
    signs: NDArray[np.int64]
    coefficients: NDArray[np.int64]


def answer(
    evaluator: Evaluator[P],
    spec: ExchangeSpec,
    schedule: Schedule,
    specs: Sequence[AffineSpec],
    maps: Sequence[PrivateMap | None],
    inputs: Inputs[P],
) -> list[Released]:
    """One released tensor; for `logits` one a block."""
    logits = logits_of(evaluator, spec, schedule, specs, maps, inputs.features)
    return release_of(evaluator, spec, schedule, logits, inputs)


def logits_of(
    evaluator: Evaluator[P],
    spec: ExchangeSpec,
    schedule: Schedule,
    specs: Sequence[AffineSpec],
    maps: Sequence[PrivateMap | None],
    blocks: Sequence[CipherTensor[P] | Sequence[Chunk[P]]],
) -> list[CipherTensor[P]]:
    """One ciphertext a class for each block of N/2 samples, or of such as travel as coefficients.

    Args:
        evaluator, spec, schedule, specs: any backend's, and public facts.
        maps: None for each where nothing is computed.
        blocks: blocks of the upload.
    """
    packing = packing_of(schedule.packing)
    return packing.logits(evaluator, spec, schedule, specs, maps, blocks)


def release_of(
    evaluator: Evaluator[P],
    spec: ExchangeSpec,
    schedule: Schedule,
    logits: Sequence[CipherTensor[P]],
    inputs: Inputs[P],
) -> list[Released]:
    """What leaves of the logits of all blocks; the features among the inputs are not read."""
    which = released_coefficients(spec, schedule, inputs.coefficients)
    sums = sums_of(evaluator, spec, schedule, logits, inputs)
    return [release(evaluator, schedule, each, which) for each in sums]


def sums_of(
    evaluator: Evaluator[P],
    spec: ExchangeSpec,
    schedule: Schedule,
    logits: Sequence[CipherTensor[P]],
    inputs: Inputs[P],
) -> list[CipherTensor[P]]:
    """What is released, before it is sanitised; must not leave as it is."""
    if spec.leaves.whole:
        return list(logits)
    if spec.multiplies:
        products = [
            multiply(evaluator, spec, schedule, block, factor)
            for block, factor in zip(logits, inputs.factors, strict=True)
        ]
        return [reduce(evaluator.add, products)]
    return [signed_sum(evaluator, logits, inputs.signs)]


def released_coefficients(
    spec: ExchangeSpec, schedule: Schedule, public: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Coefficients that leave, `public` ones of a public projection; None for whole ciphertexts."""
    chosen = None
    if not spec.leaves.whole:
        chosen = CONSTANT if spec.multiplies else public
    return packing_of(schedule.packing).leaving(spec, schedule, chosen)


def multiply(
    evaluator: Evaluator[P],
    spec: ExchangeSpec,
    schedule: Schedule,
    logits: CipherTensor[P],
    factors: CipherTensor[P],
) -> CipherTensor[P]:
    """Products whose mean over slots is the release."""
    logits = lowered(evaluator, logits, schedule.product_limbs)
    found: CipherTensor[P] = spec.leaves.products(evaluator, factors, logits, spec.bounds.logit)
    return found


def lowered(evaluator: Evaluator[P], logits: CipherTensor[P], limbs: int) -> CipherTensor[P]:
    """Logits as they are multiplied at so many limbs."""
    if logits.meta.polys > 2:
        logits = relinearized(evaluator, logits, limbs)
    return evaluator.rescale(logits, limbs)


def signed_sum(
    evaluator: Evaluator[P], blocks: Sequence[CipherTensor[P]], signs: NDArray[np.int64]
) -> CipherTensor[P]:
    """sum_b sign_b block_b. The first sign is +1: a common sign would mean nothing."""
    total = blocks[0]
    for block, sign in zip(blocks[1:], signs[1:], strict=True):
        combine = evaluator.add if sign > 0 else evaluator.subtract
        total = combine(total, block)
    return total


def release(
    evaluator: Evaluator[P],
    schedule: Schedule,
    value: CipherTensor[P],
    coefficients: NDArray[np.int64] | None,
) -> Released:
    """Key switch if planned, come down to the flooding level, sanitise, shrink, extract."""
    value = sanitised(evaluator, schedule, value, slots=opens_slots(schedule, coefficients))
    return shortened(evaluator, schedule, value, coefficients)


def opens_slots(schedule: Schedule, coefficients: NDArray[np.int64] | None) -> bool:
    """Whether slots are opened, and not coefficients."""
    return packing_of(schedule.packing).opens_slots(coefficients)


def sanitised(
    evaluator: Evaluator[P], schedule: Schedule, value: CipherTensor[P], *, slots: bool
) -> CipherTensor[P]:
    """The first part of `release`; `slots`: see `opens_slots`."""
    if schedule.relinearize and value.meta.polys > 2:
        value = relinearized(evaluator, value, schedule.flooding_limbs, slots=slots)
    value = evaluator.rescale(value, schedule.flooding_limbs, slots=slots)
    return evaluator.sanitize(value, schedule.flooding_bits)


def shortened(
    evaluator: Evaluator[P],
    schedule: Schedule,
    value: CipherTensor[P],
    coefficients: NDArray[np.int64] | None,
) -> Released:
    """The second part: what is sanitised tells only its plaintext, so dropping to fewer limbs for
    the wire costs precision and no privacy."""
    slots = opens_slots(schedule, coefficients)
    value = evaluator.rescale(value, schedule.answer_limbs, slots=slots)
    return evaluator.extract(value, coefficients)
