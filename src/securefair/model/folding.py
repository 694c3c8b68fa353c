"""A model folded step by step into linear maps with pure squares between them, exactly.

Between two maps a value is known up to a pending affine, value = scale * computed + offset, where
`computed` is what the maps so far give. Batch norm, the division of an average pool and the
constants of an activation change only what is pending; the next map with weights absorbs it. An
activation completes the square (`squares.completed_square`): the map before it is made to compute
root (x + centre), and the rest is pending again.
Where an offset meets zero padding it is missing at the border: so offsets are whole images, and a
convolution's bias depends on the position where the border makes it so.

Heads say their steps themselves, networks have theirs said for each module (`networks.fold`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from securefair.model.folded import FoldedNetwork, Layer, Square
from securefair.model.linear_maps import ConvMap, DenseMap, Shape, SumPool
from securefair.model.merge import dense_of_dense, mean_of_convolution
from securefair.model.squares import completed_square

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Folding:
    """The maps so far, and the affine that is pending after them; `of` begins.

    Each step returns what is folded with it; arrays that a step takes are left as they are and not
    kept.

    Attributes:
        input_shape: of one sample.
        layers: what has been folded.
        before: shape of the last layer's input.
        scale, offset: in the shape of the values, flattened where the model flattens.
    """

    input_shape: Shape
    layers: tuple[Layer, ...]
    before: Shape
    scale: FloatArray
    offset: FloatArray

    @classmethod
    def of(cls, input_shape: Shape) -> Folding:
        """Nothing yet, of samples of this shape."""
        return cls(input_shape, (), input_shape, np.ones(input_shape), np.zeros(input_shape))

    def network(self) -> FoldedNetwork:
        """What was folded.

        Raises:
            ModelError: as `FoldedNetwork`.
        """
        return FoldedNetwork(self.input_shape, self._settled().layers)

    def convolution(self, conv: ConvMap) -> Folding:
        """A convolution of the values."""
        weights, groups = conv.weights, conv.groups
        # One scale a channel is pending: only flattened values have been treated one by one.
        scale = self.scale[:, 0, 0].reshape(groups, 1, -1, 1, 1)
        scaled = weights.reshape(groups, -1, *weights.shape[1:]) * scale
        bias = _by_channel(conv.apply(self.offset[None])[0])
        return self._then(replace(conv, weights=scaled.reshape(weights.shape), bias=bias))

    def dense(self, dense: DenseMap) -> Folding:
        """A dense map of the values, flattened."""
        bias = dense.bias + dense.weights @ self.offset.ravel()
        dense = DenseMap(dense.weights * self.scale.ravel(), bias)
        both = dense_of_dense(self._last, dense) if isinstance(self._last, DenseMap) else None
        return self._then(both, replacing=True) if both else self._then(dense)

    def mean_pool(self, pool: SumPool) -> Folding:
        """The mean over the pool's windows, zeros of its padding counted."""
        folding = self._settled() if isinstance(self._last, ConvMap) else self
        if isinstance(folding._last, ConvMap):
            both = mean_of_convolution(folding._last, pool, folding.before)
            if both:
                return folding._then(both, replacing=True)
        divisor = math.prod(pool.kernel)
        pooled = folding._then(pool)
        scale = np.broadcast_to(folding.scale[:, :1, :1] / divisor, pooled._shape)
        offset = pool.apply(folding.offset[None])[0] / divisor
        return replace(pooled, scale=scale, offset=offset)

    def affine(self, gain: FloatArray, shift: FloatArray) -> Folding:
        """gain * value + shift of each channel, (channels,), or one of both for all, ()."""
        gain, shift = (x.reshape(-1, *(1,) * (len(self._shape) - 1)) for x in (gain, shift))
        return replace(self, scale=self.scale * gain, offset=self.offset * gain + shift)

    def quadratic(self, a: FloatArray, b: FloatArray, c: FloatArray) -> Folding:
        """a x^2 + b x + c of each channel, (channels,), or one triple for all, (); a above 0."""
        root, centre, rest = completed_square(a, b, c)
        before = self.affine(root, root * centre)._settled()
        return before._then(Square()).affine(np.ones_like(a), rest)

    def flattened(self) -> Folding:
        """The same values as a vector."""
        return replace(self, scale=self.scale.ravel(), offset=self.offset.ravel())

    @property
    def _shape(self) -> Shape:
        """Of the values of one sample."""
        return self.offset.shape

    @property
    def _last(self) -> Layer | None:
        """What was folded last."""
        return self.layers[-1] if self.layers else None

    def _then(self, layer: Layer, *, replacing: bool = False) -> Folding:
        """One layer more, or another last one, with nothing pending."""
        before = self.before if replacing else self._shape
        layers = (*(self.layers[:-1] if replacing else self.layers), layer)
        shape = layer.output_shape(before)
        return Folding(self.input_shape, layers, before, np.ones(shape), np.zeros(shape))

    def _settled(self) -> Folding:
        """The same values with nothing pending, and a linear map as the last layer."""
        scale, offset, last = self.scale, self.offset, self._last
        if isinstance(last, ConvMap):
            # Flattened values come back into the shape in which the convolution gives them.
            image = last.output_shape(self.before)
            channels = scale.reshape(image)[:, 0, 0]
            if (scale.reshape(image) == channels[:, None, None]).all():
                bias = last.bias.reshape(image[0], *last.bias.shape[1:] or (1, 1))
                bias = _by_channel(bias * channels[:, None, None] + offset.reshape(image))
                conv = replace(
                    last, weights=last.weights * channels[:, None, None, None], bias=bias
                )
                settled = self._then(conv, replacing=True)
                return settled.flattened() if len(self._shape) == 1 else settled
        if isinstance(last, DenseMap):
            dense = DenseMap(last.weights * scale[:, None], last.bias * scale + offset)
            return self._then(dense, replacing=True)
        if isinstance(last, SumPool) and (scale == 1).all() and not offset.any():
            return self
        if len(self._shape) == 3:
            groups = len(scale)
            return self._then(ConvMap(scale[:, :1, :1, None], _by_channel(offset), groups=groups))
        return self._then(DenseMap(np.diag(scale), offset))


def _by_channel(bias: FloatArray) -> FloatArray:
    """A bias image (out, H, W), as (out,) if it is the same everywhere but for rounding."""
    first = bias[:, 0, 0]
    tolerance = 1e-12 * float(np.abs(bias).max(initial=0.0))
    return first if np.abs(bias - first[:, None, None]).max(initial=0.0) <= tolerance else bias
