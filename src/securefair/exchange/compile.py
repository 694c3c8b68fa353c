"""From a folded network to what circuits evaluate: public bounds, and private maps in bands.

    FoldedNetwork -> segments -> bounds (public, for the spec) and banded maps (the teacher's)

A segment is one linear map with the squares that follow it and, where a pool sums whole windows of
them, that pool: under encryption such sums cost less than the squares they are made of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.bands import MOST_VALUES, Window, convolution, dense, pooling
from securefair.circuit.network import PrivateMap
from securefair.circuit.spec import LayerBounds
from securefair.ckks.layers import AffineLayer
from securefair.errors import ModelError, PlanError
from securefair.model.folded import CHUNK, FoldedNetwork, Square, activation_ranges
from securefair.model.linear_maps import ConvMap, LinearMap, Pair, Shape, SumPool
from securefair.model.quantize import (
    QuantizedNetwork,
    layer_norms,
    quantize,
    quantize_at,
)


@dataclass(frozen=True, eq=False)
class Segment:
    """A linear map and what is done with its values before the next one.

    Attributes:
        index: of the map among the network's layers.
        map: the linear map.
        shape: of what it reads.
        pool: None where its values are not squared; else the window over which squares are
            summed, (1, 1) for plain squares.
    """

    index: int
    map: LinearMap
    shape: Shape
    pool: Pair | None

    @property
    def window(self) -> Window | None:
        """How it moves over an image; None for a dense map."""
        if not isinstance(self.map, ConvMap | SumPool):
            return None
        return Window(self.shape, self.map.kernel, self.map.stride, self.map.padding, self.pool)

    @property
    def values(self) -> int:
        """How many values the next segment reads."""
        channels = self.map.output_shape(self.shape)[0]
        return channels if self.window is None else channels * math.prod(self.window.pooled)

    @property
    def outputs(self) -> int:
        """How many values the map computes."""
        return self.values * math.prod(self.pool or (1, 1))


def segments(network: FoldedNetwork) -> tuple[Segment, ...]:
    """The network as linear maps, each with its squares and the pool that sums them."""
    found: list[Segment] = []
    layers, shapes = network.layers, network.shapes
    index = 0
    while index < len(layers):
        layer, shape = layers[index], shapes[index]
        if isinstance(layer, Square):
            raise ModelError("a square without a linear map before it", found=network.names)
        first, pool = index, None
        index += 1
        if index < len(layers) and isinstance(layers[index], Square):
            pool = (1, 1)
            index += 1
            after = layers[index] if index < len(layers) else None
            if isinstance(after, SumPool) and _whole(after) and len(shapes[index]) == 3:
                pool = after.kernel
                index += 1
        found.append(Segment(first, layer, shape, pool))
    return tuple(found)


def _whole(pool: SumPool) -> bool:
    """Windows neither overlap nor reach beyond the image."""
    return pool.kernel == pool.stride and pool.padding == (0, 0)


def bounds_for(
    network: FoldedNetwork,
    inputs: NDArray[np.float64],
    *,
    weight_bits: int,
    head_room: float,
) -> tuple[LayerBounds, ...]:
    """Bounds that fit this network, with room for others like it and for other samples.

    Whoever sees them learns the largest row norms and values of this network, times the head room.
    `bounds_by_shape` tell nothing of it, and are looser.

    Args:
        network: balanced, so that all channels use the range alike.
        inputs: (B, *input_shape), whose values bounds are taken from.
        weight_bits: of the largest integer weight.
        head_room: factor between what is found and what is agreed, at least 1.

    Raises:
        ModelError: `weight_bits` is out of range.
    """
    quantized = quantize(network, weight_bits)
    # By position: maps without a square between them share a name. The input comes first.
    largest = [r.maximum for r in activation_ranges(quantized.network, inputs)][1:]
    found = []
    for segment in segments(quantized.network):
        scale = quantized.log2_scales[segment.index]
        l1, l2 = _norms(segment.map)
        found.append(
            LayerBounds(
                outputs=segment.outputs,
                summed=math.prod(segment.pool) if segment.pool else 0,
                log2_scale=scale or 0,
                max_integer=1 if scale is None else 1 << weight_bits,
                l1=l1 if scale is None else l1 * head_room,
                l2=l2 if scale is None else l2 * head_room,
                bound=largest[segment.index] * head_room,
                multiply_adds=_products(segment),
            )
        )
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class Headroom:
    """What weights and values of one map may become while participants train.

    Attributes:
        weight: largest |weight|, a power of two.
        l1, l2: largest norms of a row.
        bound: largest |output|, before squares.
    """

    weight: int
    l1: float
    l2: float
    bound: float


FIRST_HEADROOM = Headroom(weight=4, l1=16.0, l2=4.0, bound=4.0)
INNER_HEADROOM = Headroom(weight=8, l1=128.0, l2=16.0, bound=4.0)
LAST_HEADROOM = Headroom(weight=32, l1=512.0, l2=128.0, bound=128.0)
"""Four times and more what balanced networks of the examples need. They reach 1 before every square
on their owner's samples; a network that outgrows the room is refused when it is to answer."""


def bounds_by_shape(network: FoldedNetwork, *, weight_bits: int) -> tuple[LayerBounds, ...]:
    """Bounds for every network of this architecture, before anybody has trained one.

    Nothing but shapes is read, so all participants agree on the same.

    Args:
        network: any of the architecture, for features of at most 1 in size.
        weight_bits: of the largest integer weight, at least those of `Headroom.weight`.

    Raises:
        PlanError: too few bits for the weights that there must be room for.
    """
    found, parts = [], segments(network)
    read = 1.0  # bound on the values that the next map reads
    for place, segment in enumerate(parts):
        pool = isinstance(segment.map, SumPool)
        room = FIRST_HEADROOM if place == 0 else INNER_HEADROOM
        room = LAST_HEADROOM if place == len(parts) - 1 else room
        least = room.weight.bit_length() - 1
        if not pool and weight_bits < least:
            raise PlanError(
                "weights of so few bits leave no room for those of networks",
                where="weight_bits",
                found=weight_bits,
                expected=f"at least {least}",
            )
        l1, l2 = _norms(segment.map) if pool else (room.l1, room.l2)
        # Only values before squares are balanced; other maps let through what they read.
        inside = place < len(parts) - 1 and (pool or segment.pool is None)
        bound = read * l1 if inside else room.bound
        summed = math.prod(segment.pool) if segment.pool else 0
        read = summed * bound**2 if summed else bound
        found.append(
            LayerBounds(
                outputs=segment.outputs,
                summed=summed,
                log2_scale=0 if pool else weight_bits - least,
                max_integer=1 if pool else 1 << weight_bits,
                l1=l1,
                l2=l2,
                bound=bound,
                multiply_adds=_products(segment),
            )
        )
    return tuple(found)


def _norms(layer: LinearMap) -> tuple[float, float]:
    if isinstance(layer, SumPool):
        area = math.prod(layer.kernel)
        return float(area), math.sqrt(area)
    norms = layer_norms(layer)
    return norms.row_l1, norms.row_l2


def _products(segment: Segment) -> int:
    if isinstance(segment.map, SumPool):
        return segment.outputs * math.prod(segment.map.kernel)
    return segment.map.multiply_adds(segment.shape)


@dataclass(frozen=True, eq=False)
class CompiledNetwork:
    """A model as a teacher evaluates it.

    Attributes:
        quantized: in the clear.
        maps: on ciphertexts, as whole layers or in bands.
    """

    quantized: QuantizedNetwork
    maps: tuple[PrivateMap, ...]

    def __repr__(self) -> str:
        """Secrets never print."""
        return f"CompiledNetwork({', '.join(map(repr, self.maps))})"

    @property
    def largest(self) -> int:
        """Largest |integer weight|."""
        return self.quantized.largest

    def logits(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Flat samples (B, d) -> logits (B, M) in cleartext: what an encrypted run approximates."""
        return self.quantized.logits(features)


def agreed_segments(
    network: FoldedNetwork, layer_bounds: Sequence[LayerBounds]
) -> tuple[Segment, ...]:
    """The segments of a network of the architecture that was agreed.

    Raises:
        ModelError: it has another one.
    """
    parts = segments(network)
    found = [(s.outputs, math.prod(s.pool) if s.pool else 0) for s in parts]
    expected = [(bounds.outputs, bounds.summed) for bounds in layer_bounds]
    if found != expected:
        raise ModelError(
            "another model was agreed",
            where="(values, summed squares) of each map",
            found=found,
            expected=expected,
        )
    return parts


def compile_network(
    network: FoldedNetwork, layer_bounds: Sequence[LayerBounds], *, most: int | None = MOST_VALUES
) -> CompiledNetwork:
    """Integer weights at the agreed scales; whether they keep the other bounds is checked where
    they meet ciphertexts.

    Args:
        network: what is compiled.
        layer_bounds: of the spec that was agreed on.
        most: ciphertexts that a band may compute at a time; None: dense maps as whole layers.

    Raises:
        ModelError: another architecture than the agreed one.
    """
    parts = agreed_segments(network, layer_bounds)
    scales = [
        bounds.log2_scale
        for segment, bounds in zip(parts, layer_bounds, strict=True)
        if not isinstance(segment.map, SumPool)
    ]
    quantized = quantize_at(network, scales)
    return CompiledNetwork(
        quantized, tuple(_private(segment, quantized, most) for segment in parts)
    )


def bound_logits(
    network: FoldedNetwork, layer_bounds: Sequence[LayerBounds], inputs: NDArray[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Logits in the clear, and which samples reach a value beyond its agreed bound.

    Args:
        network: with rounded weights or without.
        bounds: of the same architecture.
        inputs: (B, *input_shape).

    Returns:
        (B, M) and (B,).
    """
    bounds = {
        segment.index: bounds.bound
        for segment, bounds in zip(segments(network), layer_bounds, strict=True)
    }
    logits, beyond = np.empty((len(inputs), network.classes)), np.zeros(len(inputs), dtype=bool)
    for start in range(0, len(inputs), CHUNK):
        chunk = slice(start, start + CHUNK)
        values = inputs[chunk].astype(np.float64)
        for index, layer in enumerate(network.layers):
            values = layer.apply(values)
            if index in bounds:
                sizes = np.abs(values).reshape(len(values), -1).max(axis=1)
                beyond[chunk] |= sizes > bounds[index]
        logits[chunk] = values.reshape(len(values), -1)
    return logits, beyond


def _private(segment: Segment, quantized: QuantizedNetwork, most: int | None) -> PrivateMap:
    layer, weights = quantized.folded.layers[segment.index], quantized.integers[segment.index]
    window = segment.window
    if window is None and weights is not None and not isinstance(layer, Square | SumPool):
        if most is None:
            return AffineLayer(weights, layer.bias)
        return dense(weights, layer.bias, squared=segment.pool is not None, most=most)
    assert window is not None
    most = most or MOST_VALUES
    if isinstance(layer, ConvMap) and weights is not None:
        return convolution(weights, layer.bias, window, groups=layer.groups, most=most)
    return pooling(window, most=most)
