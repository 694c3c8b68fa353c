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
from functools import partial
from itertools import pairwise
from typing import Literal, get_args

import torch
from torch import nn

from securefair.errors import ConfigError
from securefair.model.linear_maps import Shape
from securefair.model.networks.builder import EncryptableNetwork, he_network
from securefair.model.networks.training import TrainingRecipe
from securefair.model.quadratic import Quadratic

ReferenceName = Literal["mnist", "cifar", "cifar-wide", "derma"]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One reference network.

    Attributes:
        name: what it is called.
        input_shape: of one image, normalised as `securefair.data.images` does.
        classes: width of the output.
        recipe: how its shipped or documented weights were trained.
        distilled: towards soft labels of a larger network, too (`larger`).
        layers: makes its modules, with fresh parameters.
    """

    name: ReferenceName
    input_shape: Shape
    classes: int
    recipe: TrainingRecipe
    layers: Callable[[], nn.Sequential]
    distilled: bool = False


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


def _photographs(*channels: int) -> nn.Sequential:
    """Three convolutions of so many channels, each squared and pooled: 32 to 4 pixels a side."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise((3, *channels)):
        layers += [*_convolution(inputs, outputs, 3), nn.AvgPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels[-1] * 4 * 4, 10))


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
        layers=partial(_photographs, 24, 48, 96),
    ),
    "cifar-wide": Reference(
        name="cifar-wide",
        input_shape=(3, 32, 32),
        classes=10,
        recipe=TrainingRecipe(
            epochs=56,
            weight_decay=5e-4,
            range_penalty=0.02,
            crop=2,
            flip=True,
            decay=0.4,
            bfloat16=True,
            soft_weight=0.4,
        ),
        layers=partial(_photographs, 32, 128, 256),
        distilled=True,
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
