"""From trained modules to linear maps with pure squares between them, exactly.

What is computed between the maps, and why it is exact: `folding`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from securefair.errors import ModelError
from securefair.model.folded import FoldedNetwork
from securefair.model.folding import Folding
from securefair.model.linear_maps import ConvMap, DenseMap, Pair, SumPool
from securefair.model.networks.builder import EncryptableNetwork, flat_modules
from securefair.model.networks.supported import VANISHING
from securefair.model.quadratic import Quadratic

FloatArray = NDArray[np.float64]


def check_network(network: object) -> None:
    """Refuse what is no network that encryption evaluates.

    Raises:
        ModelError: says what makes one.
    """
    if not isinstance(network, EncryptableNetwork):
        raise ModelError(
            "this is no network that encryption evaluates",
            where="network",
            found=type(network).__name__,
            hint="he_network(layers, input_shape) makes one of an nn.Sequential",
        )


def fold(network: EncryptableNetwork) -> FoldedNetwork:
    """The same function as the network in evaluation mode, in float64, detached from torch.

    Raises:
        ModelError: a parameter is not finite, or it is no such network.
    """
    check_network(network)
    folding = Folding.of(network.input_shape)
    for _, module in flat_modules(network.layers):
        if not isinstance(module, VANISHING):
            folding = FOLDS[type(module)](folding, module)
    return folding.network()


def _fold_convolution(folding: Folding, module: nn.Conv2d) -> Folding:
    return folding.convolution(
        ConvMap(
            _array(module.weight),
            _bias(module),
            _pair(module.stride),
            _pair(module.padding),
            module.groups,
        )
    )


def _fold_dense(folding: Folding, module: nn.Linear) -> Folding:
    return folding.dense(DenseMap(_array(module.weight), _bias(module)))


def _fold_pool(folding: Folding, module: nn.AvgPool2d) -> Folding:
    return folding.mean_pool(
        SumPool(_pair(module.kernel_size), _pair(module.stride), _pair(module.padding))
    )


def _fold_normalisation(folding: Folding, module: nn.BatchNorm1d | nn.BatchNorm2d) -> Folding:
    assert module.running_mean is not None  # `supported` refused others
    assert module.running_var is not None
    gain = 1 / np.sqrt(_array(module.running_var) + module.eps)
    if module.affine:
        gain *= _array(module.weight)
    shift = -_array(module.running_mean) * gain
    if module.affine:
        shift += _array(module.bias)
    return folding.affine(gain, shift)


def _fold_quadratic(folding: Folding, module: Quadratic) -> Folding:
    return folding.quadratic(*map(_array, (module.square, module.slope, module.offset)))


def _fold_flatten(folding: Folding, _: nn.Flatten) -> Folding:
    return folding.flattened()


FOLDS: dict[type[nn.Module], Callable[[Folding, Any], Folding]] = {
    nn.Conv2d: _fold_convolution,
    nn.Linear: _fold_dense,
    nn.AvgPool2d: _fold_pool,
    nn.BatchNorm2d: _fold_normalisation,
    nn.BatchNorm1d: _fold_normalisation,
    Quadratic: _fold_quadratic,
    nn.Flatten: _fold_flatten,
}


def _bias(module: nn.Conv2d | nn.Linear) -> FloatArray:
    return _array(module.bias) if module.bias is not None else np.zeros(len(module.weight))


def _array(tensor: Tensor) -> FloatArray:
    result: FloatArray = tensor.detach().double().cpu().numpy()
    return result


def _pair(value: int | tuple[int, ...] | str) -> Pair:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))
