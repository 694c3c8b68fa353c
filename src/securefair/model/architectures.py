"""Networks of the papers' experiments, by name: what runs in the clear and is averaged.

Under encryption other networks are used (`heads`): these have rectifiers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import nn

from securefair.errors import ConfigError, ModelError
from securefair.model.heads import build_head
from securefair.model.plain_heads import HeadKind
from securefair.model.resnet import resnet18 as residual_network
from securefair.model.stacked import Build

Shape = tuple[int, ...]


def logistic(shape: Shape, classes: int) -> nn.Module:
    """Softmax regression."""
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes))


def mlp(shape: Shape, classes: int, *hidden: int) -> nn.Module:
    """Fully connected layers with rectifiers between them."""
    sizes = (math.prod(shape), *hidden)
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], classes))


def cnn(shape: Shape, classes: int) -> nn.Module:
    """The CNN of RFFL, CGSV and CYCle's comparison with them: 121,182 parameters at (3, 32, 32).

    Two 5x5 convolutions of 16 and 32 channels with 2x2 pooling, then 120 and 84 units.
    """
    return _pooled_cnn(shape, classes, channels=(16, 32), units=(120, 84))


def lenet(shape: Shape, classes: int) -> nn.Module:
    """DPFL's CNN for CIFAR-10 and CINIC-10 (App. H.3, H.5): 62,006 parameters at (3, 32, 32).

    Two 5x5 convolutions of 6 and 16 channels, then 120 and 84 units. The text names a pooling
    layer only after the first convolution, but its first dense layer of 400 inputs needs a second.
    """
    return _pooled_cnn(shape, classes, channels=(6, 16), units=(120, 84))


def femnist_lenet(shape: Shape, classes: int) -> nn.Module:
    """DPFL's CNN for FEMNIST (App. H.4): 37,586 parameters at (1, 28, 28).

    As `lenet`, with 4 and 12 channels, 192 inputs of the first dense layer, 120 and 100 units.
    """
    return _pooled_cnn(shape, classes, channels=(4, 12), units=(120, 100))


def small_cnn(shape: Shape, classes: int) -> nn.Module:
    """A CNN for two cores: strides instead of pooling, 8 and 16 channels."""
    channels, height, width = _image(shape, least=8)
    flat = 16 * math.ceil(height / 4) * math.ceil(width / 4)
    return nn.Sequential(
        nn.Conv2d(channels, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(flat, classes),
    )


def resnet18(shape: Shape, classes: int) -> nn.Module:
    """torchvision's ResNet-18, with the usual first layers for images below 64 pixels."""
    channels, height, width = _image(shape, least=8)
    return residual_network(channels, min(height, width), classes)


ARCHITECTURES: dict[str, Callable[[Shape, int], nn.Module]] = {
    "logistic": logistic,
    "mlp-32": lambda shape, classes: mlp(shape, classes, 32),
    "mlp-64": lambda shape, classes: mlp(shape, classes, 64),
    "mlp-128-64": lambda shape, classes: mlp(shape, classes, 128, 64),
    "small-cnn": small_cnn,
    "cnn": cnn,
    "lenet": lenet,
    "femnist-lenet": femnist_lenet,
    "resnet18": resnet18,  # needs the extra `vision`
}


def architecture(name: str, shape: Shape, classes: int) -> Build:
    """How to build the named network for samples of this shape; other processes can take it.

    Besides `ARCHITECTURES`, "linear-head" and "quadratic-head-H" (H hidden units) name the heads
    that are evaluated under encryption.

    Raises:
        ConfigError: there is no such network.
    """
    kind, _, hidden = name.partition("-head")
    if _ and kind in ("linear", "quadratic"):
        if kind == "quadratic" and not hidden.removeprefix("-").isdecimal():
            raise ConfigError("how many hidden units?", found=name, expected="quadratic-head-16")
        units = int(hidden.removeprefix("-") or 1)
        of_kind: HeadKind = "linear" if kind == "linear" else "quadratic"
        return partial(_head, of_kind, math.prod(shape), units, classes)
    if name not in ARCHITECTURES:
        raise ConfigError(
            "there is no such network",
            found=name,
            expected=", ".join([*ARCHITECTURES, "linear-head", "quadratic-head-16"]),
        )

    return partial(_network, name, shape, classes)


def _head(
    kind: HeadKind, features: int, units: int, classes: int, generator: torch.Generator
) -> nn.Module:
    return build_head(kind, features, units, classes, generator.initial_seed())


def _network(name: str, shape: Shape, classes: int, generator: torch.Generator) -> nn.Module:
    # torch's layers draw from the global generator: lend it the seed, and give it back. Not by
    # `torch.manual_seed`, which for GPUs to come keeps every caller's stack.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(generator.initial_seed())
        return ARCHITECTURES[name](shape, classes)


def _pooled_cnn(
    shape: Shape, classes: int, *, channels: tuple[int, int], units: tuple[int, int]
) -> nn.Module:
    """Twice a 5x5 convolution and 2x2 pooling, then two hidden dense layers."""
    colours, height, width = _image(shape, least=16)
    flat = channels[1] * (((height - 4) // 2 - 4) // 2) * (((width - 4) // 2 - 4) // 2)
    return nn.Sequential(
        nn.Conv2d(colours, channels[0], 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(*channels, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(flat, units[0]),
        nn.ReLU(),
        nn.Linear(*units),
        nn.ReLU(),
        nn.Linear(units[1], classes),
    )


def _image(shape: Shape, *, least: int) -> tuple[int, int, int]:
    if len(shape) != 3 or min(shape[1:]) < least:
        raise ModelError(
            "this network takes images",
            found=f"samples of shape {shape}",
            expected=f"(channels, height, width), at least {least} pixels a side",
        )
    channels, height, width = shape
    return channels, height, width
