"""Maps of a network in bands: groups of values that are computed together, in order of position.

A band reads few values and makes few, so a network is evaluated without holding any layer of it
as a whole. Values are numbered as an image (channels, height, width) is flattened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.patches import Indices, Patch, PatchLayer

Shape = tuple[int, ...]
Pair = tuple[int, int]
Place = tuple[int, int]

MOST_VALUES = 256
"""Ciphertexts that a band computes before squares are summed: some hundred MB of residues."""


@dataclass(frozen=True, eq=False)
class Band:
    """Values that are computed together.

    Attributes:
        reads: (n,) values that it reads, ascending.
        writes: (m,) values that it makes.
        layer: the affine map from what it reads, in that order.
        groups: (m, terms) outputs of the layer whose squares add up to each value; None where
            nothing is squared.
    """

    reads: Indices
    writes: Indices
    layer: PatchLayer
    groups: Indices | None


@dataclass(frozen=True, eq=False)
class BandedMap:
    """A whole map, with the squares and the sums over windows that follow it.

    Attributes:
        inputs, values: how many it reads and makes.
        bands: all of it, in order of position.
    """

    inputs: int
    values: int
    bands: tuple[Band, ...]

    def __repr__(self) -> str:
        """Secrets never print."""
        return f"BandedMap({self.inputs} -> {self.values}, {len(self.bands)} bands, redacted)"

    @property
    def outputs(self) -> int:
        """Values of the affine map, before squares are summed."""
        return sum(band.layer.outputs for band in self.bands)

    @property
    def multiply_adds(self) -> int:
        """Products of a weight and a value for one sample; ones of a pool count."""
        return sum(band.layer.multiply_adds for band in self.bands)


@dataclass(frozen=True)
class Window:
    """How a kernel moves over an image; `pool`: squares are then summed over such windows.

    Attributes:
        shape: shape of the input, (channels, height, width).
        kernel, stride, padding: along height and width.
        pool: None where nothing is squared, (1, 1) for plain squares.
    """

    shape: Shape
    kernel: Pair
    stride: Pair
    padding: Pair
    pool: Pair | None

    @property
    def positions(self) -> Pair:
        """Height and width of what the kernel gives."""
        height, width = (
            (size + 2 * p - k) // s + 1
            for size, k, s, p in zip(
                self.shape[1:], self.kernel, self.stride, self.padding, strict=True
            )
        )
        return height, width

    @property
    def pooled(self) -> Pair:
        """The same after pooling; an incomplete last window is left out."""
        (height, width), (down, right) = self.positions, self.pool or (1, 1)
        return height // down, width // right

    def members(self, y: int, x: int) -> list[Place]:
        """Kernel positions that are summed at a pooled position."""
        down, right = self.pool or (1, 1)
        return [(y * down + i, x * right + j) for i in range(down) for j in range(right)]

    def inside(self, place: Place) -> tuple[slice, slice]:
        """The part of the kernel that lies on the image there, not on padding."""
        rows, columns = (
            slice(max(0, p - at * s), min(k, size + p - at * s))
            for at, size, k, s, p in zip(
                place, self.shape[1:], self.kernel, self.stride, self.padding, strict=True
            )
        )
        return rows, columns

    def pixels(self, place: Place) -> Indices:
        """Numbers (channels, rows, columns) of the values under that part of the kernel."""
        channels, height, width = self.shape
        rows, columns = self.inside(place)
        y = place[0] * self.stride[0] - self.padding[0] + np.arange(rows.start, rows.stop)
        x = place[1] * self.stride[1] - self.padding[1] + np.arange(columns.start, columns.stop)
        planes = np.arange(channels)[:, None, None] * (height * width)
        numbers: Indices = planes + y[:, None] * width + x
        return numbers

    def tiles(self, channels: int, most: int) -> Iterator[list[Place]]:
        """Pooled positions in squares of at most so many values, in order of position.

        Sides are powers of two, so that a map over what comes out needs few tiles at a time.
        """
        terms = math.prod(self.pool or (1, 1))
        fitting = max(1, most // (channels * terms))
        side = 1 << (math.isqrt(fitting).bit_length() - 1)
        height, width = self.pooled
        for top in range(0, height, side):
            for left in range(0, width, side):
                yield [
                    (y, x)
                    for y in range(top, min(top + side, height))
                    for x in range(left, min(left + side, width))
                ]


def convolution(
    weights: NDArray[np.int64],
    bias: NDArray[np.float64],
    window: Window,
    *,
    groups: int = 1,
    most: int = MOST_VALUES,
) -> BandedMap:
    """Integer weights (out, in / groups, height, width), bias (out,) or one for every position."""
    each, outputs = len(weights) // groups, len(weights)
    channels = weights.shape[1]
    constants = np.broadcast_to(
        bias[:, None, None] if bias.ndim == 1 else bias, (outputs, *window.positions)
    )

    def patches(places: Sequence[tuple[int, Place]]) -> Iterator[Patch]:
        inside = window.inside(places[0][1])
        pixels = [window.pixels(place) for _, place in places]
        for g in range(groups):
            part = slice(g * channels, (g + 1) * channels)
            own = weights[g * each : (g + 1) * each, :, inside[0], inside[1]]
            reads = np.stack([_paired(p[part][None])[0] for p in pixels])
            made = np.arange(g * each, (g + 1) * each)
            yield Patch(_paired(own), reads, np.stack([i * outputs + made for i, _ in places]))

    return _banded(window, outputs, constants, patches, most)


def pooling(window: Window, *, most: int = MOST_VALUES) -> BandedMap:
    """Sums over the window of each channel."""
    channels = window.shape[0]
    constants = np.zeros((channels, *window.positions))

    def patches(places: Sequence[tuple[int, Place]]) -> Iterator[Patch]:
        reads = np.concatenate([window.pixels(p).reshape(channels, -1) for _, p in places])
        writes = np.concatenate([i * channels + np.arange(channels) for i, _ in places])
        yield Patch(np.ones((1, reads.shape[1]), dtype=np.int64), reads, writes[:, None])

    return _banded(window, channels, constants, patches, most)


def dense(
    weights: NDArray[np.int64],
    bias: NDArray[np.float64],
    *,
    squared: bool,
    most: int = MOST_VALUES,
) -> BandedMap:
    """Integer weights (out, in) and bias (out,)."""
    outputs, inputs = weights.shape
    bands = []
    for first in range(0, outputs, most):
        own = weights[first : first + most]
        made = np.arange(len(own))
        patch = Patch(own, np.arange(inputs)[None], made[None])
        layer = PatchLayer(inputs, (patch,), bias[first : first + most])
        groups = made[:, None] if squared else None
        bands.append(Band(np.arange(inputs), first + made, layer, groups))
    return BandedMap(inputs, outputs, tuple(bands))


def _banded(
    window: Window,
    outputs: int,
    constants: NDArray[np.float64],
    patches: Callable[[Sequence[tuple[int, Place]]], Iterator[Patch]],
    most: int,
) -> BandedMap:
    """`patches` makes those of numbered places that see the same part of the kernel."""
    height, width = window.pooled
    bands = []
    for tile in window.tiles(outputs, most):
        members = [window.members(y, x) for y, x in tile]
        places = [place for each in members for place in each]
        alike: dict[str, list[tuple[int, Place]]] = {}
        for index, place in enumerate(places):
            alike.setdefault(repr(window.inside(place)), []).append((index, place))
        found = [patch for same in alike.values() for patch in patches(same)]
        reads = np.unique(np.concatenate([patch.reads.ravel() for patch in found]))
        local = tuple(Patch(p.weights, np.searchsorted(reads, p.reads), p.writes) for p in found)
        bias = np.concatenate([constants[:, y, x] for y, x in places])
        terms = len(members[0])
        # Output o of member t of tile position i is number (i * terms + t) * outputs + o.
        numbers = np.arange(len(bias)).reshape(len(tile), terms, outputs)
        writes = [o * height * width + y * width + x for y, x in tile for o in range(outputs)]
        bands.append(
            Band(
                reads=reads,
                writes=np.array(writes),
                layer=PatchLayer(len(reads), local, bias),
                groups=None
                if window.pool is None
                else np.ascontiguousarray(numbers.swapaxes(1, 2).reshape(-1, terms)),
            )
        )
    values = outputs * height * width
    return BandedMap(math.prod(window.shape), values, tuple(bands))


def _paired(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, channels, rows, columns) -> (n, k), neighbouring channels of a pixel next to each other.

    Kernels take inputs in pairs and prepare each distinct pair once: pairs of channels are the same
    at every place that reads a pixel.
    """
    n, even = len(x), x.shape[1] // 2 * 2
    pairs = x[:, :even].transpose(0, 2, 3, 1).reshape(n, -1)
    return np.ascontiguousarray(np.concatenate([pairs, x[:, even:].reshape(n, -1)], axis=1))
