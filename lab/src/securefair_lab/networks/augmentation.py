"""Images of a batch, shifted, mirrored and turned at random."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad


class Augmentation(Protocol):
    """What `augmented` reads of a recipe."""

    @property
    def crop(self) -> int:
        """Pixels by which an image is shifted at most."""

    @property
    def flip(self) -> bool:
        """Whether images are mirrored."""

    @property
    def rotate(self) -> bool:
        """Whether they are turned, too."""


def augmented(
    images: Tensor, recipe: Augmentation, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Images (B, C, H, W), each shifted, mirrored and turned at random as the recipe says.

    Returns:
        (B, C, H, W), and (B,) which of them were mirrored left and right.
    """
    if recipe.crop:
        images = _shifted(images, recipe.crop, generator)
    mirrored = torch.zeros(len(images), dtype=torch.bool)
    if recipe.flip or recipe.rotate:
        mirrored = _coins(images, generator)
        images = _where(mirrored, images.flip(3), images)
    if recipe.rotate:
        images = _where(_coins(images, generator), images.flip(2), images)
        if images.shape[2] == images.shape[3]:
            images = _where(_coins(images, generator), images.transpose(2, 3), images)
    return images, mirrored


def _shifted(images: Tensor, crop: int, generator: torch.Generator) -> Tensor:
    samples, _, height, width = images.shape
    padded = pad(images, (crop,) * 4)
    down, right = torch.randint(0, 2 * crop + 1, (2, samples, 1), generator=generator)
    rows = (down + torch.arange(height))[:, :, None]
    columns = (right + torch.arange(width))[:, None, :]
    samples_first = padded.permute(0, 2, 3, 1)[torch.arange(samples)[:, None, None], rows, columns]
    return samples_first.permute(0, 3, 1, 2)


def _coins(images: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(len(images), generator=generator) < 0.5


def _where(coins: Tensor, images: Tensor, others: Tensor) -> Tensor:
    return torch.where(coins[:, None, None, None], images, others)
