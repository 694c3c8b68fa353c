"""A sequence of common layers, computed for several networks at once.

`torch.func.vmap` gives right results for any network, but what it makes of convolutions is slow on
processors: gradients come back in other layouts than activations have, and operations on two
layouts take many times as long. Here values lie in one of three forms, and change it rarely:

- "side": (B, N C, H, W), the channels of all networks side by side. N convolutions are then one in
  N groups, and on processors, with channels last, take less time than each on its own.
- "stacked": (N, B, ...), one network after the other: a linear layer is one batched product.
- "shared": (B, ...), what all networks are given alike. The first layer is then one plain
  convolution or product with N times as many outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, eq=False)
class _Values:
    tensor: Tensor
    form: Literal["side", "stacked", "shared"]
    count: int  # N
    layout: torch.memory_format  # of images side by side

    def stacked(self) -> _Values:
        if self.form == "stacked":
            return self
        x = self.tensor
        if self.form == "shared":
            return replace(self, tensor=x.expand(self.count, *x.shape), form="stacked")
        if x.requires_grad:  # a gradient in another layout would slow down all layers before
            last = x.is_contiguous(memory_format=torch.channels_last)
            layout = torch.channels_last if last else torch.contiguous_format
            on_gradient: Any = x.register_hook  # torch leaves it untyped
            on_gradient(lambda gradient: gradient.contiguous(memory_format=layout))
        apart = x.reshape(len(x), self.count, -1, *x.shape[2:])
        return replace(self, tensor=apart.transpose(0, 1), form="stacked")

    def side(self) -> _Values:
        if self.form == "side":
            return self
        x = self.stacked().tensor.transpose(0, 1).flatten(1, 2)
        # A clone also says which layout images of one channel have, where both look the same.
        return replace(self, tensor=x.clone(memory_format=self.layout), form="side")


@dataclass(frozen=True, eq=False)
class _Layer:
    module: nn.Module
    weight: str | None  # names of its parameters in the network
    bias: str | None


class LayerSequence:
    """Layers of one architecture, in order; holds no parameters.

    Args:
        layers: with the names of their parameters.
        layout: of images; channels last on processors.
    """

    def __init__(self, layers: Sequence[_Layer], layout: torch.memory_format) -> None:
        self._layers = tuple(layers)
        self._layout = layout
        self._pools = any(isinstance(layer.module, nn.MaxPool2d) for layer in layers)

    @classmethod
    def of(cls, network: nn.Module, layout: torch.memory_format) -> LayerSequence | None:
        """The layers of a network; None if it is not a sequence of known ones.

        Known layers have just the parameters that they are made with, and no hooks: with either,
        weights may be computed from others, as spectral normalisation does.
        """
        # By identity, as a parameter that several layers share has the name of the first.
        names = {id(parameter): name for name, parameter in network.named_parameters()}
        layers: list[_Layer] = []
        for _, module in network.named_modules(remove_duplicate=False):
            if not _known(module):
                return None
            if type(module) is nn.Sequential:
                continue
            own = {name: names[id(p)] for name, p in module.named_parameters(recurse=False)}
            layers.append(_Layer(module, own.get("weight"), own.get("bias")))
        return cls(layers, layout)

    def __call__(self, tensors: Mapping[str, Tensor], features: Tensor, *, shared: bool) -> Tensor:
        """Logits (N, B, M).

        Args:
            tensors: parameters of N networks by name, each (N, ...).
            features: (N, B, ...), each network its own; (B, ...) for all if `shared`.
        """
        count = len(next(iter(tensors.values())))
        if shared and self._pools:  # pools are slow in the layout that one channel has unless told
            features = features.clone(memory_format=self._layout)
        values = _Values(features, "shared" if shared else "stacked", count, self._layout)
        for layer in self._layers:
            weight = None if layer.weight is None else tensors[layer.weight]
            bias = None if layer.bias is None else tensors[layer.bias]
            values = _LAYERS[type(layer.module)](values, layer.module, weight, bias)
        return values.stacked().tensor


def _known(module: nn.Module) -> bool:
    if _hooked(module) or not _has_usual_parameters(module):
        return False
    if type(module) is nn.Sequential:  # not a subclass, which may have its own `forward`
        return True
    if isinstance(module, nn.Conv2d) and (module.groups > 1 or module.padding_mode != "zeros"):
        return False
    if isinstance(module, nn.Flatten) and (module.start_dim, module.end_dim) != (1, -1):
        return False
    if isinstance(module, nn.MaxPool2d) and module.return_indices:
        return False
    return type(module) in _LAYERS


def _hooked(module: nn.Module) -> bool:
    hooks = (
        module._forward_pre_hooks,
        module._forward_hooks,
        module._backward_pre_hooks,
        module._backward_hooks,
    )
    return any(hooks) or "forward" in vars(module)


def _has_usual_parameters(module: nn.Module) -> bool:
    """Of linear layers and convolutions a weight and, unless it is None, a bias; of others none."""
    own = dict(module.named_parameters(recurse=False))
    if not isinstance(module, (nn.Linear, nn.Conv2d)):
        return not own
    # Where a bias is computed it is there too, but is no parameter.
    names = {"weight"} if module.bias is None else {"weight", "bias"}
    return own.keys() == names


def _linear(values: _Values, _: nn.Linear, weight: Tensor, bias: Tensor | None) -> _Values:
    if values.form == "shared":
        every = None if bias is None else bias.flatten()
        out = functional.linear(values.tensor, weight.flatten(0, 1), every)
        out = out.reshape(*out.shape[:-1], *weight.shape[:2]).movedim(-2, 0)
        return replace(values, tensor=out, form="stacked")
    x = values.stacked().tensor
    # Weights first: the gradient of few outputs then has long rows, and takes half the time.
    columns = x.flatten(1, -2).transpose(1, 2)
    if bias is None:
        out = torch.bmm(weight, columns)
    else:
        out = torch.baddbmm(bias[:, :, None], weight, columns)
    out = out.transpose(1, 2).reshape(*x.shape[:-1], -1)
    return replace(values, tensor=out, form="stacked")


def _convolution(
    values: _Values, module: nn.Conv2d, weight: Tensor, bias: Tensor | None
) -> _Values:
    if values.form == "shared":
        x, groups = values.tensor.contiguous(memory_format=values.layout), 1
    else:
        x, groups = values.side().tensor, values.count
    out = functional.conv2d(
        x,
        weight.flatten(0, 1),
        None if bias is None else bias.flatten(),
        module.stride,
        module.padding,
        module.dilation,
        groups,
    )
    return replace(values, tensor=out, form="side")


def _pool(values: _Values, module: nn.MaxPool2d, *_: object) -> _Values:
    if values.form == "stacked":
        values = values.side()
    return replace(values, tensor=module(values.tensor))


def _rectifier(values: _Values, *_: object) -> _Values:
    return replace(values, tensor=values.tensor.relu())


def _flatten(values: _Values, *_: object) -> _Values:
    if values.form == "shared":
        return replace(values, tensor=values.tensor.flatten(1))
    values = values.stacked()
    return replace(values, tensor=values.tensor.flatten(2))


_LAYERS: dict[type[nn.Module], Callable[..., _Values]] = {
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.MaxPool2d: _pool,
    nn.ReLU: _rectifier,
    nn.Flatten: _flatten,
}
