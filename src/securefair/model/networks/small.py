"""Networks that participants train in exchanges: small, and without normalisation over batches.

Images are grey and square, one value a pixel in [0, 1] or [-1, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import torch
from torch import nn

from securefair.errors import ConfigError
from securefair.model.linear_maps import Shape
from securefair.model.networks.builder import EncryptableNetwork, he_network
from securefair.model.quadratic import Quadratic

SmallName = Literal["digits-8", "digits-28"]


@dataclass(frozen=True, kw_only=True)
class Small:
    """One small network.

    Attributes:
        input_shape: of one image.
        layers: makes its modules for so many classes, with fresh parameters.
    """

    input_shape: Shape
    layers: Callable[[int], nn.Sequential]


def small_network(name: str, classes: int, *, seed: int) -> EncryptableNetwork:
    """A small network with fresh parameters; equal arguments give equal ones.

    Raises:
        ConfigError: there is none of this name.
    """
    if name not in SMALL:
        raise ConfigError(
            "no such network",
            where="model.network",
            found=name,
            expected=", ".join(get_args(SmallName)),
        )
    chosen = SMALL[name]
    with torch.random.fork_rng(devices=()):
        torch.default_generator.manual_seed(seed)
        return he_network(chosen.layers(classes), chosen.input_shape)


def _digits_8(classes: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),  # 6 x 8 x 8
        Quadratic(6),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(6 * 4 * 4, classes),
    )


def _digits_28(classes: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, stride=2, padding=2),  # 6 x 14 x 14
        Quadratic(6),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(6 * 7 * 7, 32),
        Quadratic(32),
        nn.Linear(32, classes),
    )


SMALL: Mapping[str, Small] = MappingProxyType(
    {
        "digits-8": Small(input_shape=(1, 8, 8), layers=_digits_8),
        "digits-28": Small(input_shape=(1, 28, 28), layers=_digits_28),
    }
)
"""By name, as `model.network` of a configuration says it."""
