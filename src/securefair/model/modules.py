"""A caller's own torch modules as heads, and trained heads back as such modules.

Encrypted inference evaluates two shapes: a linear layer, and linear - square - linear. A module of
exactly one of these becomes a head with the same parameters; every other one is refused with what
could be written instead, because approximating it would be another model than the caller's.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from securefair.errors import ModelError
from securefair.model.heads import (
    SQUARE_FLOOR,
    SQUARE_INITIAL,
    Head,
    LinearHead,
    QuadraticHead,
)

HINT = (
    "Use nn.Linear, or nn.Sequential(nn.Linear, securefair.Quadratic(), nn.Linear), and give what "
    "comes before as extractor"
)


class Quadratic(nn.Module):
    """The activation a u^2 + b u with one learned pair (a, b): what encryption can evaluate.

    Args:
        square: a before training, above 1/32.
        slope: b before training.

    Raises:
        ModelError: `square` is too small: the square could not be folded into the layer before it.
    """

    def __init__(self, square: float = SQUARE_INITIAL, slope: float = 0.5) -> None:
        super().__init__()
        if not SQUARE_FLOOR < square < math.inf:
            raise ModelError(
                "out of range", where="square", found=square, expected=f"above {SQUARE_FLOOR}"
            )
        self.square = nn.Parameter(torch.tensor(float(square)))
        self.slope = nn.Parameter(torch.tensor(float(slope)))

    def forward(self, u: Tensor) -> Tensor:
        """Any shape, elementwise."""
        return u * (self.square * u + self.slope)


def head_of(module: nn.Module) -> Head:
    """A head with the parameters of a module, in float64; the module is left as it is.

    `nn.Flatten` in front and nested `nn.Sequential` are allowed, features being vectors anyway.

    Raises:
        ModelError: the module is of no shape that encryption evaluates; names the layer.
    """
    if isinstance(module, Head):
        return copy.deepcopy(module)
    match _layers(module):
        case [nn.Linear() as output]:
            return _linear_head(output)
        case [nn.Linear() as first, Quadratic() as activation, nn.Linear() as output]:
            return _quadratic_head(first, activation, output)
        case layers:
            raise _refusal(layers)


def module_of(head: Head, like: nn.Module) -> nn.Module:
    """A copy of the module that a head came from, with the head's parameters and its own type.

    Args:
        head: trained; of `head_of(like)`'s shape.
        like: gives layers, types and device.
    """
    if isinstance(like, Head):
        return copy.deepcopy(head)
    module = copy.deepcopy(like)
    with torch.no_grad():
        match _layers(module), head:
            case [nn.Linear() as output], LinearHead():
                _fill(output, head.output_weights, head.output_bias)
            case [nn.Linear() as first, Quadratic() as activation, nn.Linear() as output], (
                QuadraticHead()
            ):
                _fill(first, head.hidden_weights, head.hidden_bias)
                activation.square.copy_(head.square)
                activation.slope.copy_(head.slope)
                _fill(output, head.output_weights, head.output_bias)
            case layers, _:
                raise _refusal(layers)
    return module


def _layers(module: nn.Module) -> list[nn.Module]:
    """The layers that compute something, in order."""
    return [layer for layer in _unfolded(module) if not isinstance(layer, nn.Flatten)]


def _unfolded(module: nn.Module) -> Iterator[nn.Module]:
    if isinstance(module, nn.Sequential):
        for part in module:
            yield from _unfolded(part)
    else:
        yield module


def _linear_head(output: nn.Linear) -> LinearHead:
    head = LinearHead(output.in_features, output.out_features, torch.Generator())
    with torch.no_grad():
        head.output_weights.copy_(output.weight)
        head.output_bias.copy_(_bias(output))
    return head


def _quadratic_head(first: nn.Linear, activation: Quadratic, output: nn.Linear) -> QuadraticHead:
    if first.out_features != output.in_features:
        raise ModelError(
            "the layers do not fit together",
            found=f"{first.out_features} outputs, {output.in_features} inputs",
        )
    head = QuadraticHead(
        first.in_features, first.out_features, output.out_features, torch.Generator()
    )
    square = activation.square.item()
    if square <= SQUARE_FLOOR:
        raise ModelError(
            "the square of an activation is too small",
            found=square,
            expected=f"above {SQUARE_FLOOR}",
        )
    with torch.no_grad():
        head.hidden_weights.copy_(first.weight)
        head.hidden_bias.copy_(_bias(first))
        # a = f + (a0 - f) exp(rho), see QuadraticHead
        gain = math.log((square - SQUARE_FLOOR) / (SQUARE_INITIAL - SQUARE_FLOOR))
        head.square_log_gain.fill_(gain)
        head.slope.fill_(activation.slope.item())
        head.output_weights.copy_(output.weight)
        head.output_bias.copy_(_bias(output))
    return head


def _bias(layer: nn.Linear) -> Tensor:
    if layer.bias is None:
        raise ModelError("a linear layer needs a bias", where="bias", found="bias=False")
    return layer.bias


def _fill(layer: nn.Linear, weights: Tensor, bias: Tensor) -> None:
    layer.weight.copy_(weights)
    layer.bias.copy_(bias)


def _refusal(layers: list[nn.Module]) -> ModelError:
    known = (nn.Linear, Quadratic)
    strange = next((layer for layer in layers if not isinstance(layer, known)), None)
    if strange is None:
        shape = " - ".join(type(layer).__name__ for layer in layers) or "no layer"
        return ModelError("encryption cannot evaluate this model", found=shape, hint=HINT)
    return ModelError(
        "encryption cannot evaluate this layer", found=type(strange).__name__, hint=HINT
    )
