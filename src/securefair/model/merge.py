"""Two linear maps as one, where that saves products."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from securefair.model.linear_maps import ConvMap, DenseMap, Shape, SumPool


def mean_of_convolution(conv: ConvMap, pool: SumPool, shape: Shape) -> ConvMap | None:
    """The mean over a pool's windows of a convolution's output, as one convolution.

    Without overlap it never costs more: windows of 2 x 2 over a kernel of 3 x 3 are one kernel of
    4 x 4 at a quarter of the places.

    Args:
        conv, pool: applied in this order.
        shape: of the convolution's input.

    Returns:
        None where the pool pads with zeros, which a padded input does not give, or where the
        merged map would take more products.
    """
    if pool.padding != (0, 0):
        return None
    (height, width), (down, right) = conv.kernel, conv.stride
    tall, wide = (
        k + s * (window - 1)
        for k, s, window in zip(conv.kernel, conv.stride, pool.kernel, strict=True)
    )
    weights = np.zeros((*conv.weights.shape[:2], tall, wide))
    for i in range(pool.kernel[0]):
        for j in range(pool.kernel[1]):
            top, left = down * i, right * j
            weights[:, :, top : top + height, left : left + width] += conv.weights
    divisor = math.prod(pool.kernel)
    bias = conv.bias if conv.bias.ndim == 1 else pool.apply(conv.bias[None])[0] / divisor
    stride = (down * pool.stride[0], right * pool.stride[1])
    both = replace(conv, weights=weights / divisor, bias=bias, stride=stride)
    return both if both.multiply_adds(shape) <= conv.multiply_adds(shape) else None


def dense_of_dense(first: DenseMap, second: DenseMap) -> DenseMap | None:
    """Two dense maps as one; None where the merged map would take more products."""
    if len(second.weights) * first.weights.shape[1] > first.weights.size + second.weights.size:
        return None
    return DenseMap(second.weights @ first.weights, second.weights @ first.bias + second.bias)
