"""Integer weights: what a folded network becomes before it meets ciphertexts.

An integer combination of ciphertexts is exact and keeps their scale's arithmetic simple, so every
map's weights are rounded once, here, to integers over a power of two. Biases stay real numbers,
added once at the scale that a ciphertext then has. Pools are sums and squares have no weights: both
stay exact. The rounding's effect is known before anything is encrypted: `rounding_report`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError
from securefair.model.folded import FoldedNetwork
from securefair.model.linear_maps import ConvMap, DenseMap

MAX_WEIGHT_BITS = 30


@dataclass(frozen=True, kw_only=True)
class LayerNorms:
    """What a planner of scales and error bounds needs to know of one layer's real weights."""

    row_l1: float  # largest over rows: bounds |output| by |input|_max
    row_l2: float  # largest over rows: growth of independent errors
    bias: float  # largest magnitude


@dataclass(frozen=True, eq=False, repr=False)
class QuantizedNetwork:
    """A network whose weights are integers over powers of two.

    Attributes:
        folded: what was rounded.
        integers: each layer's integer weights, in the shape of its weights; None for pools and
            squares.
        log2_scales: for each layer, weights = integers / 2^scale; None for pools and squares.
    """

    folded: FoldedNetwork
    integers: tuple[NDArray[np.int64] | None, ...]
    log2_scales: tuple[int | None, ...]

    def __repr__(self) -> str:
        """Its widths; weights are private and never print."""
        return f"QuantizedNetwork({self.folded.widths}, redacted)"

    @cached_property
    def network(self) -> FoldedNetwork:
        """The same layers with rounded weights: what an encrypted run approximates."""
        layers = zip(self.folded.layers, self.integers, self.log2_scales, strict=True)
        rounded = [
            replace(layer, weights=np.ldexp(integers.astype(np.float64), -scale))
            if isinstance(layer, ConvMap | DenseMap) and integers is not None and scale is not None
            else layer
            for layer, integers, scale in layers
        ]
        return FoldedNetwork(self.folded.input_shape, tuple(rounded))

    @property
    def largest(self) -> int:
        """Largest |integer weight|."""
        return max(
            int(np.abs(integers).max()) for integers in self.integers if integers is not None
        )

    def logits(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Samples (B, *input_shape), or flat ones -> logits (B, M), with the rounded weights."""
        return self.network.logits(inputs)

    def norms(self) -> tuple[LayerNorms | None, ...]:
        """What a planner needs of each layer's real weights; None for pools and squares."""
        return tuple(
            layer_norms(layer) if isinstance(layer, ConvMap | DenseMap) else None
            for layer in self.network.layers
        )


def layer_norms(layer: ConvMap | DenseMap) -> LayerNorms:
    """Row norms and largest bias of one map.

    A row is all that one output value reads. A convolution's is its whole kernel, as if no part of
    it fell on padding.
    """
    rows = layer.weights.reshape(len(layer.weights), -1)
    return LayerNorms(
        row_l1=float(np.abs(rows).sum(axis=1).max()),
        row_l2=float(np.sqrt((rows**2).sum(axis=1).max())),
        bias=float(np.abs(layer.bias).max()),
    )


@dataclass(frozen=True, kw_only=True)
class QuantizationReport:
    """What rounding the weights did to a model on given samples."""

    weight_bits_used: int  # of the largest integer weight, sign not counted
    max_abs_logit_change: float
    accuracy_before: float
    accuracy_after: float


def quantize(network: FoldedNetwork, weight_bits: int) -> QuantizedNetwork:
    """Round every map to integers |w| < 2^weight_bits over the largest power of two that fits.

    A map of zeros keeps log2_scale = weight_bits. The rounding error of a weight is at most
    2^-(log2_scale + 1), so of an output at most that times the l1 norm of its inputs.

    Raises:
        ModelError: weight_bits outside 1 to 30.
    """
    scales = [fitting_scale(layer.weights, weight_bits) for layer in network.weighted]
    return quantize_at(network, scales)


def quantize_at(network: FoldedNetwork, log2_scales: Sequence[int]) -> QuantizedNetwork:
    """Round every map at a scale that was agreed in public, whatever its weights.

    Args:
        network: what is rounded.
        log2_scales: one for each map with weights, in order; pools and squares have none.

    Raises:
        ModelError: another number of maps with weights than scales, or a weight is NaN or too
            large.
    """
    expected = len(network.weighted)
    if len(log2_scales) != expected:
        raise ModelError(
            "one scale a map with weights is needed", found=len(log2_scales), expected=expected
        )
    remaining = iter(log2_scales)
    integers: list[NDArray[np.int64] | None] = []
    scales: list[int | None] = []
    for layer in network.layers:
        weights, scale = None, None
        if isinstance(layer, ConvMap | DenseMap):
            scale = next(remaining)
            weights = _integers(np.ldexp(layer.weights, scale))
        integers.append(weights)
        scales.append(scale)
    return QuantizedNetwork(network, tuple(integers), tuple(scales))


def _integers(scaled: NDArray[np.float64]) -> NDArray[np.int64]:
    """Scaled weights, rounded; what is no integer of 53 bits would become any number."""
    if not (np.abs(scaled) < 2.0**53).all():
        raise ModelError(
            "a weight is too large to be rounded, or no number",
            found=float(np.abs(scaled).max()),
            expected="training that does not diverge",
        )
    return np.rint(scaled).astype(np.int64)


def rounding_report(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    labels: NDArray[np.int64],
    largest: int,
) -> QuantizationReport:
    """Compare logits (B, M) of any model before and after rounding, B >= 1.

    Args:
        before, after: on the same samples.
        labels: theirs, (B,).
        largest: |integer weight| after rounding.
    """
    return QuantizationReport(
        weight_bits_used=largest.bit_length(),
        max_abs_logit_change=float(np.abs(after - before).max()),
        accuracy_before=float(np.mean(before.argmax(axis=1) == labels)),
        accuracy_after=float(np.mean(after.argmax(axis=1) == labels)),
    )


def fitting_scale(weights: NDArray[np.float64], weight_bits: int) -> int:
    """log2 of the largest power of two at which all weights round to |integer| < 2^weight_bits.

    Raises:
        ModelError: weight_bits outside 1 to 30.
    """
    if not 1 <= weight_bits <= MAX_WEIGHT_BITS:
        raise ModelError(
            "weights cannot be rounded to so many bits",
            where="weight_bits",
            found=weight_bits,
            expected=f"1 to {MAX_WEIGHT_BITS}",
        )
    mantissa, exponent = math.frexp(float(np.abs(weights).max()))
    log2_scale = weight_bits - exponent
    # The largest weight now lies in [2^(bits - 1), 2^bits); it must not round up to 2^bits.
    if mantissa * 2**weight_bits >= 2**weight_bits - 0.5:
        log2_scale -= 1
    return log2_scale
