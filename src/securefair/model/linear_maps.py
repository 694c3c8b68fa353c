"""Linear maps of images as encryption sees them: convolution, dense layer, sum over windows.

Framework-free: numbers, shapes, a cleartext evaluation in float64, and a count of products. Values
have shape (channels, height, width) a sample until a `DenseMap` flattens them, in that order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError

Shape = tuple[int, ...]
"""Of one sample: (channels, height, width) or (values,)."""

Pair = tuple[int, int]
"""Along height and width."""


@dataclass(frozen=True, eq=False, repr=False)
class ConvMap:
    """Cross-correlation with zero padding, as `torch.nn.Conv2d` computes it, without dilation.

    Attributes:
        weights: (out, in / groups, kernel height, kernel width) float64.
        bias: (out,), or (out, height, width) of the output where it depends on the position: what
            a folded constant leaves behind at a zero-padded border.
        stride, padding: along height and width; padding is the same on both sides.
        groups: channels are split into that many independent parts; `in` means depthwise.

    Raises:
        ModelError: shapes disagree or a number is not finite.
    """

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    groups: int = 1

    def __post_init__(self) -> None:
        fits = self.weights.ndim == 4 and self.weights.size and self.bias.ndim in (1, 3)
        if not fits or len(self.bias) != len(self.weights) or len(self.weights) % self.groups:
            raise ModelError(
                "a convolution's weights, bias and groups disagree",
                found=f"{self.weights.shape}, {self.bias.shape} and {self.groups} groups",
                expected="(out, in / groups, height, width) and (out,) or (out, height, width)",
            )
        if min(self.stride) < 1 or min(self.padding) < 0:
            raise ModelError(
                "a convolution cannot move like this",
                found=f"stride {self.stride}, padding {self.padding}",
            )
        _finite(self.weights, self.bias)

    @property
    def kernel(self) -> Pair:
        """Height and width of the window."""
        return int(self.weights.shape[2]), int(self.weights.shape[3])

    @property
    def inputs(self) -> int:
        """Channels in."""
        return int(self.weights.shape[1]) * self.groups

    @property
    def outputs(self) -> int:
        """Channels out."""
        return len(self.weights)

    def output_shape(self, shape: Shape) -> Shape:
        """Shape of the output for one sample of this shape.

        Raises:
            ModelError: the input does not fit the weights, or the output not the bias.
        """
        if len(shape) != 3 or shape[0] != self.inputs:
            raise misfit("a convolution", shape, f"({self.inputs}, height, width)")
        result = (self.outputs, *_moved(shape, self.kernel, self.stride, self.padding))
        if self.bias.ndim == 3 and self.bias.shape != result:
            raise misfit("a bias for every position", result, f"{self.bias.shape}")
        return result

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, in, H, W) -> (B, out, H', W')."""
        shape = self.output_shape(values.shape[1:])
        samples, groups, positions = len(values), self.groups, shape[1] * shape[2]
        kernels = self.weights.reshape(groups, -1, *self.weights.shape[1:])
        result = np.zeros((samples, groups, len(self.weights) // groups, positions))
        for (i, j), window in _windows(values, self.kernel, self.stride, self.padding, shape):
            part = window.reshape(samples, groups, -1, positions)
            result += kernels[..., i, j] @ part
        bias = self.bias if self.bias.ndim == 3 else self.bias[:, None, None]
        return result.reshape(samples, *shape) + bias

    def multiply_adds(self, shape: Shape) -> int:
        """Products for one sample of this shape; what falls on the padding is not computed."""
        inside = _inside(shape, self.kernel, self.stride, self.padding)
        return inside * self.outputs * self.inputs // self.groups


@dataclass(frozen=True, eq=False, repr=False)
class DenseMap:
    """x -> weights @ x + bias on the flattened values; weights (out, in) and bias (out,), float64.

    Raises:
        ModelError: shapes disagree or a number is not finite.
    """

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.bias.shape != self.weights.shape[:1]:
            raise ModelError(
                "a dense map's weights and bias disagree",
                found=f"{self.weights.shape} and {self.bias.shape}",
                expected="(out, in) and (out,)",
            )
        _finite(self.weights, self.bias)

    def output_shape(self, shape: Shape) -> Shape:
        """(out,) for every shape with as many values as the map takes.

        Raises:
            ModelError: another number of values.
        """
        if math.prod(shape) != self.weights.shape[1]:
            raise misfit("a dense map", shape, f"{self.weights.shape[1]} values")
        return (len(self.weights),)

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, ...) -> (B, out)."""
        self.output_shape(values.shape[1:])
        return values.reshape(len(values), -1) @ self.weights.T + self.bias

    def multiply_adds(self, shape: Shape) -> int:
        """Products for one sample of this shape."""
        self.output_shape(shape)
        return int(self.weights.size)


@dataclass(frozen=True)
class SumPool:
    """Sum over windows of each channel; zeros around. Costs additions only, and no scale.

    Average pooling is this sum; folding moves the division into a neighbouring map's weights.

    Raises:
        ModelError: a window or stride below 1, or more padding than half a window.
    """

    kernel: Pair
    stride: Pair
    padding: Pair = (0, 0)

    def __post_init__(self) -> None:
        padded = any(2 * p > k for p, k in zip(self.padding, self.kernel, strict=True))
        if min(self.kernel) < 1 or min(self.stride) < 1 or min(self.padding) < 0 or padded:
            raise ModelError("pooling cannot move like this", found=repr(self))

    def output_shape(self, shape: Shape) -> Shape:
        """Shape of the output for one sample of this shape.

        Raises:
            ModelError: the values have no height and width, or are smaller than a window.
        """
        if len(shape) != 3:
            raise misfit("pooling", shape, "(channels, height, width)")
        return (shape[0], *_moved(shape, self.kernel, self.stride, self.padding))

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, C, H, W) -> (B, C, H', W')."""
        shape = self.output_shape(values.shape[1:])
        result = np.zeros((len(values), *shape))
        for _, window in _windows(values, self.kernel, self.stride, self.padding, shape):
            result += window
        return result

    def multiply_adds(self, shape: Shape) -> int:
        """None: integers of one."""
        self.output_shape(shape)
        return 0


LinearMap = ConvMap | DenseMap | SumPool


def _moved(shape: Shape, kernel: Pair, stride: Pair, padding: Pair) -> Pair:
    """Height and width of what a window gives, the last incomplete step left out."""
    height, width = (
        (size + 2 * p - k) // s + 1
        for size, k, s, p in zip(shape[1:], kernel, stride, padding, strict=True)
    )
    if min(height, width) < 1:
        raise misfit("a window", shape, f"at least {kernel} with its padding {padding}")
    return height, width


def _windows(
    values: NDArray[np.float64], kernel: Pair, stride: Pair, padding: Pair, shape: Shape
) -> Iterator[tuple[Pair, NDArray[np.float64]]]:
    """For each place (i, j) in the window, the value (B, C, H', W') that lies there."""
    (top, left), (down, right) = padding, stride
    padded = np.pad(values, ((0, 0), (0, 0), (top, top), (left, left)))
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            yield (
                (i, j),
                padded[:, :, i : i + down * shape[1] : down, j : j + right * shape[2] : right],
            )


def _inside(shape: Shape, kernel: Pair, stride: Pair, padding: Pair) -> int:
    """Places of all windows that lie on values, not on padding."""
    total = 1
    steps = _moved(shape, kernel, stride, padding)
    for size, k, s, p, n in zip(shape[1:], kernel, stride, padding, steps, strict=True):
        starts = np.arange(n) * s - p
        overlap = np.minimum(starts + k, size) - np.maximum(starts, 0)
        total *= int(np.maximum(overlap, 0).sum())
    return total


def _finite(*arrays: NDArray[np.float64]) -> None:
    for array in arrays:
        if not np.isfinite(array).all():
            raise ModelError(
                "a linear map holds a NaN or an infinite number",
                hint="The training diverged; lower the learning rate",
            )


def misfit(what: str, found: Sequence[int], expected: str) -> ModelError:
    """The error for a shape that a map or network does not take."""
    return ModelError(f"{what} does not fit", found=tuple(found), expected=expected)
