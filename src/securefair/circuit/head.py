"""Encrypted inference of a private head: linear, or linear - square - linear."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.evaluator import AffineLayer, Evaluator
from securefair.ckks.rules import AffineSpec
from securefair.ckks.tensor import CipherTensor

P = TypeVar("P")


def head_specs(spec: ExchangeSpec) -> tuple[AffineSpec, ...]:
    """The public side of every layer: one affine map, or two with a square between them."""
    bounds, bits = spec.bounds, spec.weight_bits
    output = AffineSpec(
        inputs=spec.hidden or spec.features,
        outputs=spec.classes,
        log2_scale=bits - math.ceil(math.log2(bounds.output_weight)),
        max_integer=1 << bits,
        l1=bounds.output_l1,
        l2=bounds.output_l2,
        bound=bounds.logit,
    )
    if not spec.hidden:
        return (output,)
    log2_scale = bits - math.ceil(math.log2(bounds.row_norm))
    # Rounding d weights by up to half a unit each lengthens a row by at most sqrt(d) / 2 units.
    l2 = bounds.row_norm + math.sqrt(spec.features) * 2.0 ** (-log2_scale - 1)
    hidden = AffineSpec(
        inputs=spec.features,
        outputs=spec.hidden,
        log2_scale=log2_scale,
        max_integer=1 << bits,
        l1=l2 * math.sqrt(spec.features),
        l2=l2,
        bound=spec.hidden_bound,
    )
    return hidden, output


def head_logits(
    evaluator: Evaluator[P],
    features: CipherTensor[P],
    specs: Sequence[AffineSpec],
    layers: Sequence[AffineLayer | None],
) -> CipherTensor[P]:
    """Features (d ciphertexts) -> logits (M ciphertexts) of one block.

    Nothing is rescaled and nothing relinearised on the way: the modulus holds the whole scale,
    so key switching and rounding happen once for each class, not for each hidden unit.
    """
    value = features
    for index, (spec, layer) in enumerate(zip(specs, layers, strict=True)):
        if index:
            value = evaluator.square(value)
        value = evaluator.linear(value, spec, layer)
    return value
