"""Reference networks for images, small enough to be evaluated under encryption in bulk.

In batch packing every value is a ciphertext: a product of a weight and a value costs its limbs,
and every value that is read after a square costs a key switch. Hence few channels where the
resolution, and with it the number of limbs, is still high; a pool after every square, so that
four squares are summed before one key switch; and no more squares than accuracy asks for, since
each needs a longer modulus for everything before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from securefair.errors import ConfigError
from securefair.model import Quadratic, Shape
from securefair.model.networks import EncryptableNetwork, he_network
from securefair_lab.networks.cosines import CHANNELS, CLIP, cosine_responses
from securefair_lab.networks.larger import RECIPE as LARGER_RECIPE
from securefair_lab.networks.training import TrainingRecipe

ReferenceName = Literal["mnist", "cifar", "cifar-wide", "cifar-cosines", "derma"]

_BATCH = 500
"""Images whose public layer is computed together."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One reference network.

    Attributes:
        name: what it is called.
        input_shape: of what is encrypted of one image: the image itself, normalised as
            `securefair.data.images` does, or what `public` makes of it.
        classes: width of the output.
        recipe: how its shipped or documented weights were trained.
        layers: makes its modules, with fresh parameters.
        larger: how a larger network was trained, whose logits were targets beside the labels
            (`larger.soft_labels`); None for labels alone.
        public: what students compute of images in the clear before they encrypt them; the same
            for everybody.
        bound: of what `public` gives.
    """

    name: ReferenceName
    input_shape: Shape
    classes: int
    recipe: TrainingRecipe
    layers: Callable[[], nn.Sequential]
    larger: TrainingRecipe | None = None
    public: Callable[[Tensor], Tensor] | None = None
    bound: float | None = None

    def encrypted(self, images: NDArray[np.floating]) -> NDArray[np.float32]:
        """Normalised images (B, C, H, W) -> what is encrypted of them, (B, *input_shape)."""
        given = images.astype(np.float32, copy=False)
        if self.public is None:
            return given
        parts = map(self.public, torch.split(torch.from_numpy(given), _BATCH))
        result: NDArray[np.float32] = torch.cat(list(parts)).numpy()
        return result


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


def _photographs(*channels: int, inputs: int = 3, side: int = 32) -> nn.Sequential:
    """Convolutions of so many channels, each squared and pooled, on images of this side."""
    layers: list[nn.Module] = []
    for before, after in pairwise((inputs, *channels)):
        layers += [*_convolution(before, after, 3), nn.AvgPool2d(2)]
        side //= 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels[-1] * side * side, 10))


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
        larger=LARGER_RECIPE,
    ),
    "cifar-cosines": Reference(
        name="cifar-cosines",
        input_shape=(CHANNELS, 16, 16),
        classes=10,
        recipe=TrainingRecipe(
            epochs=32,
            peak_rate=0.05,
            kernel_rate=0.02,
            range_penalty=0.1,
            crop=3,
            flip=True,
            decay=0.9,
            bfloat16=True,
        ),
        layers=partial(_photographs, 96, 192, 256, inputs=CHANNELS, side=16),
        larger=replace(LARGER_RECIPE, epochs=12, peak_rate=0.1, kernel_rate=0.04, crop=4),
        public=cosine_responses,
        bound=CLIP,
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
