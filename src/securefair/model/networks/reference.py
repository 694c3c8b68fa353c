"""Reference networks for images, small enough to be evaluated under encryption in bulk.

In batch packing every value is a ciphertext: a product of a weight and a value costs its limbs,
and every value that is read after a square costs a key switch. Hence few channels where the
resolution, and with it the number of limbs, is still high; a pool after every square, so that
four squares are summed before one key switch; and no more squares than accuracy asks for, since
each needs a longer modulus for everything before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import nn

from securefair.errors import ConfigError
from securefair.model.linear_maps import Shape
from securefair.model.networks.builder import EncryptableNetwork, he_network
from securefair.model.networks.training import TrainingRecipe
from securefair.model.quadratic import Quadratic

ReferenceName = Literal["mnist", "cifar", "derma"]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One reference network.

    Attributes:
        name: what it is called.
        input_shape: of one image, normalised as `securefair.data.images` does.
        classes: width of the output.
        recipe: how its shipped or documented weights were trained.
        layers: makes its modules, with fresh parameters.
    """

    name: ReferenceName
    input_shape: Shape
    classes: int
    recipe: TrainingRecipe
    layers: Callable[[], nn.Sequential]


def reference(name: ReferenceName) -> Reference:
    """The reference network of this name.

    Raises:
        ConfigError: there is none.
    """
    if name not in REFERENCES:
        raise ConfigError(
            "no such reference network",
            where="network",
            found=name,
            expected=", ".join(get_args(ReferenceName)),
        )
    return REFERENCES[name]


def reference_network(name: ReferenceName, *, seed: int) -> EncryptableNetwork:
    """A reference network with fresh parameters; equal seeds give equal ones.

    Raises:
        ConfigError: there is no such network.
    """
    chosen = reference(name)
    with torch.random.fork_rng(devices=()):
        torch.default_generator.manual_seed(seed)
        return he_network(chosen.layers(), chosen.input_shape)


def _mnist() -> nn.Sequential:
    return nn.Sequential(
        *_convolution(1, 6, 5, stride=2),  # 6 x 14 x 14
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(6 * 7 * 7, 32, bias=False),
        nn.BatchNorm1d(32),
        Quadratic(32),
        nn.Linear(32, 10),
    )


def _cifar() -> nn.Sequential:
    return nn.Sequential(
        *_convolution(3, 24, 3),  # 24 x 32 x 32
        nn.AvgPool2d(2),
        *_convolution(24, 48, 3),  # 48 x 16 x 16
        nn.AvgPool2d(2),
        *_convolution(48, 96, 3),  # 96 x 8 x 8
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(96 * 4 * 4, 10),
    )


def _derma() -> nn.Sequential:
    return nn.Sequential(
        *_convolution(3, 16, 5, stride=2),  # 16 x 32 x 32
        nn.AvgPool2d(2),
        *_convolution(16, 32, 3),  # 32 x 16 x 16
        nn.AvgPool2d(2),
        *_convolution(32, 64, 3),  # 64 x 8 x 8
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 7),
    )


def _convolution(
    inputs: int, outputs: int, kernel: int, *, stride: int = 1
) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
    return convolution, nn.BatchNorm2d(outputs), Quadratic(outputs)


REFERENCES: dict[str, Reference] = {
    "mnist": Reference(
        name="mnist",
        input_shape=(1, 28, 28),
        classes=10,
        recipe=TrainingRecipe(epochs=10, weight_decay=1e-4, crop=1),
        layers=_mnist,
    ),
    "cifar": Reference(
        name="cifar",
        input_shape=(3, 32, 32),
        classes=10,
        recipe=TrainingRecipe(epochs=20, weight_decay=2e-4, crop=2, flip=True),
        layers=_cifar,
    ),
    "derma": Reference(
        name="derma",
        input_shape=(3, 64, 64),
        classes=7,
        recipe=TrainingRecipe(
            epochs=30, weight_decay=1e-3, crop=4, rotate=True, balance_classes=True
        ),
        layers=_derma,
    ),
}
