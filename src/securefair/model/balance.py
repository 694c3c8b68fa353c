"""Moving scale between the maps of a network, so that public bounds hold for every value.

A channel's value before a square may be multiplied by c if all that reads its square is divided by
c^2: logits do not change. Encryption needs the freedom, because its scales and bounds are public
and must not depend on private weights, and because a modulus is paid for the largest channel.

Heads are balanced by the norm of their rows, which bounds their values for any sample. Over several
squares such a bound is hopelessly large, so networks are balanced by the values that they take on
samples of their owner.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError
from securefair.model.folded import CHUNK, FoldedNetwork, Layer, Square, stages
from securefair.model.linear_maps import ConvMap, DenseMap

FloatArray = NDArray[np.float64]


def balance_by_weights(network: FoldedNetwork, row_norm: float) -> FoldedNetwork:
    """The same function; what is squared has weights and bias of Euclidean norm `row_norm`.

    Units whose weights and bias are all zero stay as they are. The last map takes what the others
    give away; a network without squares is returned unchanged.

    Raises:
        ModelError: a map is not dense.
    """
    layers = list(network.layers)
    for index, layer in enumerate(network.layers):
        if not isinstance(layer, DenseMap | Square):
            raise ModelError("only dense maps are balanced by weights", found=network.names)
        if isinstance(layer, Square):
            before = layers[index - 1]
            assert isinstance(before, DenseMap)
            norms = np.sqrt((before.weights**2).sum(axis=1) + before.bias**2)
            factor = np.divide(row_norm, norms, out=np.ones_like(norms), where=norms > 0)
            _move(layers, index - 1, index + 1, factor, ())
    return FoldedNetwork(network.input_shape, tuple(layers)) if len(layers) > 1 else network


def balanced_by_values(network: FoldedNetwork, inputs: FloatArray) -> FoldedNetwork:
    """The same function with every channel reaching 1 before its square, on these samples.

    Channels that are zero on all samples stay as they are, and so does a square that no map with
    weights precedes. Logits do not change.

    Args:
        network: what is balanced.
        inputs: (B, *input_shape), B >= 1; other samples may exceed 1, so a plan leaves head
            room.

    Raises:
        ModelError: no samples.
    """
    if len(inputs) == 0:
        raise ModelError("a network cannot be balanced without samples", where="inputs")
    layers = list(network.layers)
    shapes = network.shapes
    for index, largest in _maxima(network, inputs).items():
        before = _weighted(layers, range(index - 1, -1, -1))
        after = _weighted(layers, range(index + 1, len(layers)))
        if before is None or after is None:
            continue
        factor = np.divide(1.0, largest, out=np.ones_like(largest), where=largest > 0)
        _move(layers, before, after, factor, shapes[after][1:])
    return FoldedNetwork(network.input_shape, tuple(layers))


def _maxima(network: FoldedNetwork, inputs: FloatArray) -> dict[int, FloatArray]:
    """For the index of each square, the largest magnitude of each channel before it."""
    found: dict[int, FloatArray] = {}
    for start in range(0, len(inputs), CHUNK):
        values = stages(network, inputs[start : start + CHUNK])
        for index, (layer, (_, before)) in enumerate(zip(network.layers, values, strict=False)):
            if isinstance(layer, Square):
                axes = (0, *range(2, before.ndim))
                largest = np.abs(before).max(axis=axes)
                found[index] = np.maximum(found.get(index, 0.0), largest)
    return found


def _weighted(layers: list[Layer], places: range) -> int | None:
    """The first map with weights, in this order, up to the next square."""
    for index in places:
        if isinstance(layers[index], ConvMap | DenseMap):
            return index
        if isinstance(layers[index], Square):
            break
    return None


def _move(
    layers: list[Layer], before: int, after: int, factor: FloatArray, positions: tuple[int, ...]
) -> None:
    """Multiply each channel by its factor before a square, and divide its square after it."""
    layers[before] = _outputs_times(layers[before], factor)
    layers[after] = _inputs_times(layers[after], factor**-2, positions)


def _outputs_times(layer: Layer, factor: FloatArray) -> Layer:
    if isinstance(layer, ConvMap):
        by_position = factor.reshape(-1, *(1,) * (layer.bias.ndim - 1))
        weights = layer.weights * factor[:, None, None, None]
        return replace(layer, weights=weights, bias=layer.bias * by_position)
    assert isinstance(layer, DenseMap)
    return DenseMap(layer.weights * factor[:, None], layer.bias * factor)


def _inputs_times(layer: Layer, factor: FloatArray, positions: tuple[int, ...]) -> Layer:
    if isinstance(layer, ConvMap):
        groups, weights = layer.groups, layer.weights
        grouped = weights.reshape(groups, -1, *weights.shape[1:])
        scaled = grouped * factor.reshape(groups, 1, -1, 1, 1)
        return replace(layer, weights=scaled.reshape(weights.shape))
    assert isinstance(layer, DenseMap)
    each = math.prod(positions)
    return DenseMap(layer.weights * (factor.repeat(each) if each > 1 else factor), layer.bias)
