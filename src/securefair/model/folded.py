"""A model as encryption sees it: linear maps with pure squares between them.

What leaves this module knows nothing of torch: a `FoldedNetwork` is numbers and shapes, computes in
float64 and counts the products that an encrypted run will do. A head is one of one or two dense
maps (`dense_network`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError
from securefair.model.linear_maps import ConvMap, DenseMap, LinearMap, Shape, SumPool, misfit

CHUNK = 128
"""Samples that a cleartext evaluation takes at a time; bounds its memory."""

CHUNK_VALUES = 1 << 20
"""It takes more of them where no layer of all together has more values than this: 8 MB."""


@dataclass(frozen=True)
class Square:
    """x -> x^2 of every value."""

    def output_shape(self, shape: Shape) -> Shape:
        """The same shape."""
        return shape

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Every value squared."""
        return np.square(values)


Layer = LinearMap | Square


@dataclass(frozen=True, eq=False, repr=False)
class FoldedNetwork:
    """Linear maps applied in order, with squares between them.

    The first and the last layer are linear; two linear maps may follow each other (a pool and what
    reads it), two squares may not.

    Attributes:
        input_shape: of one sample, (C, H, W) or (d,).
        layers: what is applied in order.

    Raises:
        ModelError: no layer, a layer does not fit the one before it, or a square stands at an end
            or after another.
    """

    input_shape: Shape
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        after_linear = False
        for layer in self.layers:
            square = type(layer) is Square
            if square and not after_linear:
                break
            after_linear = not square
        if not after_linear:
            raise ModelError(
                "a folded network needs linear maps at both ends and between its squares",
                found=", ".join(self.names) or "no layers",
            )
        _ = self.shapes

    def __repr__(self) -> str:
        """Its widths; weights are private and never print."""
        return f"{type(self).__name__}({self.widths}, redacted)"

    @property
    def widths(self) -> str:
        """Values of the input and after every linear map: "30 -> 16 -> 2"."""
        linear = [s for s, x in zip(self.shapes[1:], self.layers, strict=True) if x != Square()]
        return " -> ".join(str(math.prod(shape)) for shape in (self.input_shape, *linear))

    @property
    def names(self) -> tuple[str, ...]:
        """What each layer is: "conv 1", "square 1", "pool 2", "dense 2" after one square."""
        squares, names = 0, []
        for layer in self.layers:
            if isinstance(layer, Square):
                squares += 1
                names.append(f"square {squares}")
            else:
                kind = {ConvMap: "conv", DenseMap: "dense", SumPool: "pool"}[type(layer)]
                names.append(f"{kind} {squares + 1}")
        return tuple(names)

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Shape of the input and after every layer: one entry more than layers."""
        shapes = [self.input_shape]
        for layer in self.layers:
            shapes.append(layer.output_shape(shapes[-1]))
        return tuple(shapes)

    @property
    def features(self) -> int:
        """Values of one sample, d."""
        return math.prod(self.input_shape)

    @property
    def classes(self) -> int:
        """Width of the output, M."""
        return math.prod(self.shapes[-1])

    @property
    def weighted(self) -> tuple[ConvMap | DenseMap, ...]:
        """The maps that have weights, in order."""
        return tuple(layer for layer in self.layers if isinstance(layer, ConvMap | DenseMap))

    @property
    def depth(self) -> int:
        """Squares one after the other."""
        return sum(isinstance(layer, Square) for layer in self.layers)

    @property
    def squares(self) -> int:
        """Values that are squared for one sample: ciphertext products of an encrypted run."""
        return sum(
            math.prod(shape)
            for layer, shape in zip(self.layers, self.shapes, strict=False)
            if isinstance(layer, Square)
        )

    @property
    def multiply_adds(self) -> int:
        """Products of a weight and a value for one sample; additions of pools are not counted."""
        return sum(
            layer.multiply_adds(shape)
            for layer, shape in zip(self.layers, self.shapes, strict=False)
            if not isinstance(layer, Square)
        )

    @property
    def determining(self) -> int:
        """Numbers that determine the function, at most: as many as it has degrees of freedom.

        A unit that is squared may be scaled, if what reads it is: its scale is free. With no square
        a class is a linear map of the features and a one. With one square it is a quadratic form in
        them, of as many dimensions as symmetric matrices whose rank is the number of units, and one
        more for the bias. A shape with more parameters than that holds the same functions.
        """
        free, units = 0, 0
        for layer in self.layers:
            if isinstance(layer, ConvMap | DenseMap):
                free += layer.weights.size + layer.bias.size
                units = len(layer.weights)
            elif isinstance(layer, Square):
                free -= units
        if self.depth > 1:
            return free
        width = self.features + 1
        rank = min(self.squares, width)
        form = rank * width - rank * (rank - 1) // 2 + 1
        each = min(form, width * (width + 1) // 2) if self.depth else width
        return min(free, self.classes * each)

    def logits(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Samples (B, *input_shape), or flat ones (B, d) -> logits (B, M), in cleartext.

        Raises:
            ModelError: the samples have another shape.
        """
        flat = inputs.shape[1:] == (self.features,)
        if not flat and inputs.shape[1:] != self.input_shape:
            raise misfit("the network", inputs.shape[1:], f"{self.input_shape}")
        inputs = inputs.reshape(-1, *self.input_shape)
        step = max(CHUNK, CHUNK_VALUES // max(math.prod(shape) for shape in self.shapes))
        logits = np.empty((len(inputs), self.classes))
        for start in range(0, len(inputs), step):
            values = inputs[start : start + step]
            for layer in self.layers:
                values = layer.apply(values)
            logits[start : start + step] = values.reshape(len(values), -1)
        return logits


def dense_network(*maps: DenseMap) -> FoldedNetwork:
    """Dense maps with a square of each value between every two of them.

    Raises:
        ModelError: no map, or one does not fit the map before it.
    """
    layers = [layer for each in maps for layer in (Square(), each)][1:]
    features = int(maps[0].weights.shape[1]) if maps else 0
    return FoldedNetwork((features,), tuple(layers))


@dataclass(frozen=True, kw_only=True)
class StageRange:
    """How large the values of one stage are on given samples, over all samples and units."""

    stage: str  # "input", "dense 1", "square 1", "dense 2", ...
    rms: float
    maximum: float  # of the absolute value


def stages(
    network: FoldedNetwork, inputs: NDArray[np.float64]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """The input and every intermediate value of a batch, by name, in order; logits come last."""
    values = inputs
    yield "input", values
    for name, layer in zip(network.names, network.layers, strict=True):
        values = layer.apply(values)
        yield name, values


def activation_ranges(
    network: FoldedNetwork, inputs: NDArray[np.float64]
) -> tuple[StageRange, ...]:
    """Root mean square and largest magnitude of every stage on one's own samples, B >= 1.

    A planner of scales wants to know how large the values under encryption become. The figures
    describe these samples only: others' may be larger, so leave head room.
    """
    names = ("input", *network.names)
    squares, maxima = np.zeros(len(names)), np.zeros(len(names))
    for start in range(0, len(inputs), CHUNK):
        batch = inputs[start : start + CHUNK]
        for index, (_, values) in enumerate(stages(network, batch)):
            squares[index] += np.mean(values**2) * len(batch)
            maxima[index] = max(maxima[index], np.abs(values).max())
    rms = np.sqrt(squares / len(inputs))
    return tuple(
        StageRange(stage=name, rms=float(r), maximum=float(m))
        for name, r, m in zip(names, rms, maxima, strict=True)
    )
