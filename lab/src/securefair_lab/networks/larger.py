"""A larger network in the clear, whose logits a small one is trained towards.

It never meets encryption, so it has ReLU and pools of maxima, six convolutions and a million
parameters. What it says of an image, and of its mirror image, tells a small network more than the
label alone: which other classes come close.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import unfold

from securefair.errors import ModelError
from securefair_lab.networks.training import EpochReport, TrainingRecipe, train_network

WIDTHS = (64, 128, 256)
"""Channels of the three stages, two convolutions each."""

RECIPE = TrainingRecipe(
    epochs=8, batch_size=256, peak_rate=0.3, weight_decay=5e-4, crop=2, flip=True, bfloat16=True
)
"""How it is trained where nobody says otherwise: ten minutes of one core on 50,000 images."""

_PATCH = 2
_PATCHES_OF = 2000
"""Images from whose patches the first convolution is made."""


class LargerNetwork(nn.Module):
    """Colour images (B, 3, H, W) of 16 pixels a side and more -> logits (B, M).

    The first convolution makes patches of 2 x 2 uncorrelated and is not trained; the shape is that
    of Jordan 2024, "94% on CIFAR-10 in 3.29 seconds on a single GPU", with narrower stages.

    Args:
        classes: M.
        images: (B, 3, H, W), of which the first convolution takes its statistics.

    Raises:
        ModelError: images of another shape.
    """

    def __init__(self, classes: int, images: NDArray[np.float32]) -> None:
        super().__init__()
        if images.ndim != 4 or images.shape[1] != 3 or min(images.shape[2:]) < 16:
            raise ModelError(
                "the larger network takes colour images",
                found=images.shape,
                expected="(B, 3, H, W), H and W at least 16",
            )
        filters = _uncorrelating(torch.from_numpy(images[:_PATCHES_OF]))
        first = nn.Conv2d(3, len(filters), _PATCH, bias=False)
        first.weight = nn.Parameter(filters, requires_grad=False)
        layers: list[nn.Module] = [first, nn.ReLU()]
        inputs = len(filters)
        for outputs in WIDTHS:
            layers += [
                nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                nn.MaxPool2d(2),
                nn.BatchNorm2d(outputs),
                nn.ReLU(),
                nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(),
            ]
            inputs = outputs
        self.layers = nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten())
        self.last = nn.Linear(inputs, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Images (B, 3, H, W) -> logits (B, M)."""
        return self.with_excess(images)[0]

    def with_excess(self, images: Tensor, *, bfloat16: bool = False) -> tuple[Tensor, Tensor]:
        """Logits (B, M), and 0: nothing here must stay in a range."""
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            features = self.layers(images)
        logits: Tensor = self.last(features.to(images.dtype))
        return logits, images.new_zeros(())


def larger_network(
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    classes: int,
    *,
    seed: int,
    recipe: TrainingRecipe = RECIPE,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> LargerNetwork:
    """A larger network, trained on these images; arguments as of `train_network`."""
    with torch.random.fork_rng(devices=()):
        torch.default_generator.manual_seed(seed)
        network = LargerNetwork(classes, images)
    train_network(network, images, labels, recipe, seed=seed, on_epoch=on_epoch)
    return network


def soft_labels(
    network: LargerNetwork, images: NDArray[np.float32], *, batch_size: int = 500
) -> NDArray[np.float32]:
    """Logits (2, B, M) of images (B, 3, H, W) as they are, and of their mirror images."""
    network.eval()
    parts = []
    with torch.no_grad():
        for start in range(0, len(images), batch_size):
            batch = torch.from_numpy(images[start : start + batch_size])
            batch = batch.contiguous(memory_format=torch.channels_last)
            views = (batch, batch.flip(3))
            parts.append(
                torch.stack([network.with_excess(view, bfloat16=True)[0] for view in views])
            )
    result: NDArray[np.float32] = torch.cat(parts, dim=1).numpy()
    return result


def _uncorrelating(images: Tensor) -> Tensor:
    """Filters (24, 3, 2, 2): directions of patches at unit variance, and their opposites."""
    patches = unfold(images, _PATCH)[:, :, ::5].permute(0, 2, 1).reshape(-1, 3 * _PATCH**2).double()
    values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
    filters = (vectors / (values + 5e-4).sqrt()).T.float().view(-1, 3, _PATCH, _PATCH)
    return torch.cat([filters, -filters])
