"""Integer weights: what a folded head becomes before it meets ciphertexts.

An integer combination of ciphertexts is exact and keeps their scale's arithmetic simple, so every
layer's weights are rounded once, here, to integers over a power of two. The rounding's effect is
known before anything is encrypted: `quantization_report`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.errors import ModelError
from securefair.model.folded import AffineMap, FoldedHead

MAX_WEIGHT_BITS = 30


@dataclass(frozen=True, eq=False, repr=False)
class QuantizedAffine:
    """x -> (weights / 2^log2_scale) @ x + bias; weights (out, in) int64, bias (out,) float64.

    The bias stays a real number: it is added once, at the scale that the ciphertext then has.
    """

    weights: NDArray[np.int64]
    log2_scale: int
    bias: NDArray[np.float64]

    @property
    def real_weights(self) -> NDArray[np.float64]:
        """weights / 2^log2_scale, exactly."""
        return np.ldexp(self.weights.astype(np.float64), -self.log2_scale)


@dataclass(frozen=True, kw_only=True)
class LayerNorms:
    """What a planner of scales and error bounds needs to know of one layer's real weights."""

    row_l1: float  # largest over rows: bounds |output| by |input|_max
    row_l2: float  # largest over rows: growth of independent errors
    bias: float  # largest magnitude


@dataclass(frozen=True, eq=False)
class QuantizedHead:
    """Quantised affine maps with a pure square of each value between every two of them."""

    layers: tuple[QuantizedAffine, ...]

    def __repr__(self) -> str:
        """Its widths; weights are private and never print."""
        inputs = [layer.weights.shape[1] for layer in self.layers[:1]]
        widths = [*inputs, *(len(layer.bias) for layer in self.layers)]
        return f"QuantizedHead({' -> '.join(map(str, widths))}, redacted)"

    @property
    def largest(self) -> int:
        """Largest |integer weight|."""
        return max(int(np.abs(layer.weights).max()) for layer in self.layers)

    def logits(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Features (B, d) -> logits (B, M) in cleartext: what an encrypted run approximates."""
        return self._dequantized().logits(features)

    def norms(self) -> tuple[LayerNorms, ...]:
        """Row norms and bias of each layer, at the scale of real numbers."""
        return tuple(
            LayerNorms(
                row_l1=float(np.abs(layer.weights).sum(axis=1).max()),
                row_l2=float(np.sqrt((layer.weights**2).sum(axis=1).max())),
                bias=float(np.abs(layer.bias).max()),
            )
            for layer in self._dequantized().layers
        )

    def _dequantized(self) -> FoldedHead:
        return FoldedHead(tuple(AffineMap(layer.real_weights, layer.bias) for layer in self.layers))


@dataclass(frozen=True, kw_only=True)
class QuantizationReport:
    """What rounding the weights did to a head on given samples."""

    weight_bits_used: int  # of the largest integer weight, sign not counted
    max_abs_logit_change: float
    accuracy_before: float
    accuracy_after: float


def quantize(head: FoldedHead, weight_bits: int) -> QuantizedHead:
    """Round every layer to integers |w| < 2^weight_bits over the largest power of two that fits.

    A layer of zeros keeps log2_scale = weight_bits. The rounding error of a weight is at most
    2^-(log2_scale + 1), so of an output at most that times the l1 norm of its inputs.

    Raises:
        ModelError: weight_bits outside 1 to 30.
    """
    return quantize_at(head, [fitting_scale(layer.weights, weight_bits) for layer in head.layers])


def quantize_at(head: FoldedHead, log2_scales: Sequence[int]) -> QuantizedHead:
    """Round every layer at a scale that was agreed in public, whatever its weights.

    Raises:
        ModelError: another number of layers than scales.
    """
    if len(log2_scales) != len(head.layers):
        raise ModelError(
            "one scale a layer is needed", found=len(log2_scales), expected=len(head.layers)
        )
    return QuantizedHead(
        tuple(_round(layer, scale) for layer, scale in zip(head.layers, log2_scales, strict=True))
    )


def quantization_report(
    head: FoldedHead, quantized: QuantizedHead, samples: Samples
) -> QuantizationReport:
    """Compare a head before and after quantisation on samples with flat features, B >= 1."""
    before, after = head.logits(samples.features), quantized.logits(samples.features)
    return rounding_report(before, after, samples.labels, quantized.largest)


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


def _round(layer: AffineMap, log2_scale: int) -> QuantizedAffine:
    integers = np.rint(np.ldexp(layer.weights, log2_scale)).astype(np.int64)
    return QuantizedAffine(integers, log2_scale, layer.bias)
