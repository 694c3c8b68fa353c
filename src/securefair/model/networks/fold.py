"""From trained modules to linear maps with pure squares between them, exactly.

Between two maps a value is known up to a pending affine, value = scale * computed + offset, where
`computed` is what the maps so far give. Batch norm, the division of an average pool and the
constants of an activation change only what is pending; the next map with weights absorbs it. An
activation completes the square (`quadratic.completed_square`): the map before it is made to compute
root (x + centre), and the rest is pending again.
Where an offset meets zero padding it is missing at the border: so offsets are whole images, and a
convolution's bias depends on the position where the border makes it so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from securefair.model.folded import FoldedNetwork, Layer, Square
from securefair.model.linear_maps import ConvMap, DenseMap, Pair, Shape, SumPool
from securefair.model.networks.builder import EncryptableNetwork, flat_modules
from securefair.model.networks.merge import dense_of_dense, mean_of_convolution
from securefair.model.networks.supported import VANISHING
from securefair.model.quadratic import Quadratic, completed_square

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Partial:
    """The maps so far, and the affine that is pending after them.

    Attributes:
        layers: what has been folded.
        before: shape of the last layer's input.
        scale, offset: in the shape of the values, flattened where the modules flatten.
    """

    layers: tuple[Layer, ...]
    before: Shape
    scale: FloatArray
    offset: FloatArray

    @property
    def shape(self) -> Shape:
        """Of the values of one sample."""
        return self.offset.shape

    @property
    def last(self) -> Layer | None:
        """What was folded last."""
        return self.layers[-1] if self.layers else None

    def then(self, layer: Layer, *, replacing: bool = False) -> _Partial:
        """One layer more, or another last one, with nothing pending."""
        before = self.before if replacing else self.shape
        layers = (*(self.layers[:-1] if replacing else self.layers), layer)
        shape = layer.output_shape(before)
        return _Partial(layers, before, np.ones(shape), np.zeros(shape))


def fold(network: EncryptableNetwork) -> FoldedNetwork:
    """The same function as the network in evaluation mode, in float64, detached from torch.

    Raises:
        ModelError: a parameter is not finite.
    """
    shape = network.input_shape
    partial = _Partial((), shape, np.ones(shape), np.zeros(shape))
    for _, module in flat_modules(network.layers):
        if not isinstance(module, VANISHING):
            partial = FOLDS[type(module)](partial, module)
    return FoldedNetwork(shape, _settled(partial).layers)


def _fold_convolution(partial: _Partial, module: nn.Conv2d) -> _Partial:
    weights, groups = _array(module.weight), module.groups
    conv = ConvMap(
        weights,
        _array(module.bias) if module.bias is not None else np.zeros(len(weights)),
        _pair(module.stride),
        _pair(module.padding),
        groups,
    )
    # What is pending is one scale a channel: only flattened values have been treated one by one.
    scale = partial.scale[:, 0, 0].reshape(groups, 1, -1, 1, 1)
    scaled = weights.reshape(groups, -1, *weights.shape[1:]) * scale
    bias = _by_channel(conv.apply(partial.offset[None])[0])
    return partial.then(replace(conv, weights=scaled.reshape(weights.shape), bias=bias))


def _fold_dense(partial: _Partial, module: nn.Linear) -> _Partial:
    weights = _array(module.weight)
    bias = _array(module.bias) if module.bias is not None else np.zeros(len(weights))
    dense = DenseMap(weights * partial.scale.ravel(), bias + weights @ partial.offset.ravel())
    both = dense_of_dense(partial.last, dense) if isinstance(partial.last, DenseMap) else None
    return partial.then(both, replacing=True) if both else partial.then(dense)


def _fold_pool(partial: _Partial, module: nn.AvgPool2d) -> _Partial:
    pool = SumPool(_pair(module.kernel_size), _pair(module.stride), _pair(module.padding))
    if isinstance(partial.last, ConvMap):
        partial = _settled(partial)
    if isinstance(partial.last, ConvMap):
        both = mean_of_convolution(partial.last, pool, partial.before)
        if both:
            return partial.then(both, replacing=True)
    divisor = math.prod(pool.kernel)
    pooled = partial.then(pool)
    scale = np.broadcast_to(partial.scale[:, :1, :1] / divisor, pooled.shape)
    return replace(pooled, scale=scale, offset=pool.apply(partial.offset[None])[0] / divisor)


def _fold_normalisation(partial: _Partial, module: nn.BatchNorm1d | nn.BatchNorm2d) -> _Partial:
    assert module.running_mean is not None  # `supported` refused others
    assert module.running_var is not None
    gain = 1 / np.sqrt(_array(module.running_var) + module.eps)
    if module.affine:
        gain *= _array(module.weight)
    shift = -_array(module.running_mean) * gain
    if module.affine:
        shift += _array(module.bias)
    return _pending(partial, gain, shift)


def _fold_quadratic(partial: _Partial, module: Quadratic) -> _Partial:
    a, b, c = (_array(each) for each in (module.square, module.slope, module.offset))
    root, centre, rest = completed_square(a, b, c)
    before = _settled(_pending(partial, root, root * centre))
    return _pending(before.then(Square()), np.ones_like(a), rest)


def _fold_flatten(partial: _Partial, _: nn.Flatten) -> _Partial:
    return replace(partial, scale=partial.scale.ravel(), offset=partial.offset.ravel())


FOLDS: dict[type[nn.Module], Callable[[_Partial, Any], _Partial]] = {
    nn.Conv2d: _fold_convolution,
    nn.Linear: _fold_dense,
    nn.AvgPool2d: _fold_pool,
    nn.BatchNorm2d: _fold_normalisation,
    nn.BatchNorm1d: _fold_normalisation,
    Quadratic: _fold_quadratic,
    nn.Flatten: _fold_flatten,
}


def _pending(partial: _Partial, gain: FloatArray, shift: FloatArray) -> _Partial:
    """Another affine of each channel, applied to the values as they are."""
    gain, shift = (x.reshape(-1, *(1,) * (len(partial.shape) - 1)) for x in (gain, shift))
    return replace(partial, scale=partial.scale * gain, offset=partial.offset * gain + shift)


def _settled(partial: _Partial) -> _Partial:
    """The same values with nothing pending, and a linear map as the last layer."""
    scale, offset, last = partial.scale, partial.offset, partial.last
    if isinstance(last, ConvMap):
        # Flattened values come back into the shape in which the convolution gives them.
        image = last.output_shape(partial.before)
        channels = scale.reshape(image)[:, 0, 0]
        if (scale.reshape(image) == channels[:, None, None]).all():
            bias = last.bias.reshape(image[0], *last.bias.shape[1:] or (1, 1))
            bias = _by_channel(bias * channels[:, None, None] + offset.reshape(image))
            conv = replace(last, weights=last.weights * channels[:, None, None, None], bias=bias)
            return _flattened_like(partial, partial.then(conv, replacing=True))
    if isinstance(last, DenseMap):
        dense = DenseMap(last.weights * scale[:, None], last.bias * scale + offset)
        return partial.then(dense, replacing=True)
    if isinstance(last, SumPool) and (scale == 1).all() and not offset.any():
        return partial
    if len(partial.shape) == 3:
        return partial.then(ConvMap(scale[:, :1, :1, None], _by_channel(offset), groups=len(scale)))
    return partial.then(DenseMap(np.diag(scale), offset))


def _flattened_like(partial: _Partial, settled: _Partial) -> _Partial:
    return replace(
        settled,
        scale=settled.scale.reshape(partial.shape),
        offset=settled.offset.reshape(partial.shape),
    )


def _by_channel(bias: FloatArray) -> FloatArray:
    """A bias image (out, H, W), as (out,) if it is the same everywhere but for rounding."""
    first = bias[:, 0, 0]
    tolerance = 1e-12 * float(np.abs(bias).max(initial=0.0))
    return first if np.abs(bias - first[:, None, None]).max(initial=0.0) <= tolerance else bias


def _array(tensor: Tensor) -> FloatArray:
    result: FloatArray = tensor.detach().double().cpu().numpy()
    return result


def _pair(value: int | tuple[int, ...] | str) -> Pair:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))
