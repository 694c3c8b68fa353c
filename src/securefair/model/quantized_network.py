"""Integer weights of a folded network: the convolutional counterpart of `quantize`.

Weights are rounded once to integers over a power of two; biases stay real numbers, added once at
the scale that a ciphertext then has. Pools are sums and squares have no weights: both stay exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError
from securefair.model.folded_network import FoldedNetwork, Layer
from securefair.model.linear_maps import ConvMap, DenseMap, Shape
from securefair.model.quantize import LayerNorms, fitting_scale


@dataclass(frozen=True, eq=False)
class QuantizedNetwork:
    """A network whose weights are integers over powers of two.

    Attributes:
        network: the same layers, weights rounded: `clear` is what an encrypted run approximates.
        log2_scales: for each layer, weights = integers / 2^scale; None for pools and squares.
    """

    network: FoldedNetwork
    log2_scales: tuple[int | None, ...]

    @property
    def input_shape(self) -> Shape:
        """Of one sample."""
        return self.network.input_shape

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The network's layers, with rounded weights."""
        return self.network.layers

    @property
    def integers(self) -> tuple[NDArray[np.int64] | None, ...]:
        """Each layer's integer weights, in the shape of its weights; None for pools and squares."""
        return tuple(
            np.ldexp(layer.weights, scale).astype(np.int64)
            if isinstance(layer, ConvMap | DenseMap) and scale is not None
            else None
            for layer, scale in zip(self.layers, self.log2_scales, strict=True)
        )

    def clear(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Samples (B, *input_shape) -> logits (B, M), in cleartext with the rounded weights."""
        return self.network.clear(inputs)

    @property
    def norms(self) -> tuple[LayerNorms | None, ...]:
        """What a planner needs of each layer's real weights; None for pools and squares.

        A row is all that one output value reads. A convolution's is its whole kernel, as if no part
        of it fell on padding.
        """
        return tuple(
            layer_norms(layer) if isinstance(layer, ConvMap | DenseMap) else None
            for layer in self.layers
        )


def layer_norms(layer: ConvMap | DenseMap) -> LayerNorms:
    """Row norms and largest bias of one map."""
    rows = layer.weights.reshape(len(layer.weights), -1)
    return LayerNorms(
        row_l1=float(np.abs(rows).sum(axis=1).max()),
        row_l2=float(np.sqrt((rows**2).sum(axis=1).max())),
        bias=float(np.abs(layer.bias).max()),
    )


def quantize_network(network: FoldedNetwork, weight_bits: int) -> QuantizedNetwork:
    """Round every map to integers |w| < 2^weight_bits over the largest power of two that fits.

    Raises:
        ModelError: weight_bits outside 1 to 30.
    """
    return quantize_network_at(
        network, [fitting_scale(layer.weights, weight_bits) for layer in weighted(network)]
    )


def quantize_network_at(network: FoldedNetwork, log2_scales: Sequence[int]) -> QuantizedNetwork:
    """Round every map at a scale that was agreed in public, whatever its weights.

    Args:
        network: what is rounded.
        log2_scales: one for each map with weights, in order; pools and squares have none.

    Raises:
        ModelError: another number of maps with weights than scales.
    """
    if len(log2_scales) != len(weighted(network)):
        raise ModelError(
            "one scale a map with weights is needed",
            found=len(log2_scales),
            expected=len(weighted(network)),
        )
    remaining = iter(log2_scales)
    layers: list[Layer] = []
    scales: list[int | None] = []
    for layer in network.layers:
        scale = next(remaining) if isinstance(layer, ConvMap | DenseMap) else None
        if isinstance(layer, ConvMap | DenseMap) and scale is not None:
            rounded = np.ldexp(np.rint(np.ldexp(layer.weights, scale)), -scale)
            layers.append(replace(layer, weights=rounded))
        else:
            layers.append(layer)
        scales.append(scale)
    return QuantizedNetwork(FoldedNetwork(network.input_shape, tuple(layers)), tuple(scales))


def weighted(network: FoldedNetwork) -> tuple[ConvMap | DenseMap, ...]:
    """The maps that have weights, in order."""
    return tuple(layer for layer in network.layers if isinstance(layer, ConvMap | DenseMap))
