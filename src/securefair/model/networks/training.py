"""A recipe that trains a network of quadratic activations: one-cycle SGD with range control."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from securefair.config import defaults
from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.networks.builder import EncryptableNetwork


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """How a network is trained.

    Attributes:
        epochs: passes over the samples.
        batch_size: of a step; the last, incomplete batch of an epoch is left out.
        peak_rate: largest learning rate of the cycle (Smith and Topin 2019, "Super-convergence").
        momentum, weight_decay: of SGD with Nesterov momentum; decay spares vectors (biases,
            normalisation, activations).
        clip_norm: of the whole gradient.
        range_penalty: weight of the activations' excess in the loss.
        label_smoothing: share of the target spread over all classes.
        crop: pixels by which an image is shifted at random, zeros following.
        flip: also mirror left and right; `rotate`: also up and down and diagonally, for images
            without an upright.
        balance_classes: weigh each sample by the inverse frequency of its class.

    Raises:
        ConfigError: a value outside its range.
    """

    epochs: int
    batch_size: int = 128
    peak_rate: float = 0.1
    momentum: float = defaults.MOMENTUM
    weight_decay: float = 5e-4
    clip_norm: float = defaults.CLIP_NORM
    range_penalty: float = defaults.RANGE_PENALTY
    label_smoothing: float = 0.0
    crop: int = 0
    flip: bool = False
    rotate: bool = False
    balance_classes: bool = False

    def __post_init__(self) -> None:
        for name, accepted, expected in (
            ("epochs", self.epochs >= 1, "at least 1"),
            ("batch_size", self.batch_size >= 2, "at least 2"),
            ("peak_rate", 0 < self.peak_rate < math.inf, "above 0"),
            ("momentum", 0 <= self.momentum < 1, "in [0, 1)"),
            ("weight_decay", 0 <= self.weight_decay < math.inf, "at least 0"),
            ("clip_norm", self.clip_norm > 0, "above 0"),
            ("range_penalty", 0 <= self.range_penalty < math.inf, "at least 0"),
            ("label_smoothing", 0 <= self.label_smoothing < 1, "in [0, 1)"),
            ("crop", self.crop >= 0, "at least 0"),
        ):
            if not accepted:
                raise ConfigError(
                    "this recipe cannot work",
                    where=name,
                    found=getattr(self, name),
                    expected=expected,
                )


@dataclass(frozen=True, kw_only=True)
class EpochReport:
    """One pass over the samples."""

    epoch: int  # from 1
    loss: float  # mean cross-entropy, penalty not counted
    excess: float  # mean of the activations' summed excess
    accuracy: float  # on the training samples, as augmented and while they were learned


def train_network(
    network: EncryptableNetwork,
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    recipe: TrainingRecipe,
    *,
    seed: int,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> None:
    """Train in place, and leave the network in evaluation mode.

    Args:
        network: fresh or trained; its parameters change.
        images: (B, *input_shape).
        labels: (B,).
        recipe: how.
        seed: of the order and of the augmentation; equal seeds give equal networks on one machine.
        on_epoch: called after each pass.

    Raises:
        DataError: fewer samples than a batch.
        ModelError: the training diverged.
    """
    if len(images) < recipe.batch_size:
        raise DataError("there are fewer samples than a batch", found=len(images))
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    weights = _class_weights(y) if recipe.balance_classes else None
    optimizer = _optimizer(network, recipe)
    steps = len(images) // recipe.batch_size
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        max_lr=recipe.peak_rate,
        total_steps=steps * recipe.epochs,
        cycle_momentum=False,
    )
    network.train()
    for epoch in range(1, recipe.epochs + 1):
        order = torch.randperm(len(images), generator=generator)
        totals = torch.zeros(3)
        for step in range(steps):
            rows = order[step * recipe.batch_size : (step + 1) * recipe.batch_size]
            batch, target = augmented(x[rows], recipe, generator), y[rows]
            logits, excess = network.with_excess(batch)
            loss = cross_entropy(
                logits, target, weight=weights, label_smoothing=recipe.label_smoothing
            )
            optimizer.zero_grad()
            (loss + recipe.range_penalty * excess).backward()  # type: ignore[no-untyped-call]
            norm = torch.nn.utils.clip_grad_norm_(network.parameters(), recipe.clip_norm)
            if not math.isfinite(norm.item()):
                raise ModelError(
                    "the training diverged",
                    where=f"epoch {epoch}, step {step + 1}",
                    found=f"loss {loss.item():g}",
                    hint="Lower peak_rate, or raise range_penalty",
                )
            optimizer.step()
            schedule.step()
            hits = (logits.argmax(dim=1) == target).float().mean()
            totals += torch.stack([loss.detach(), excess.detach(), hits])
        if on_epoch is not None:
            loss_mean, excess_mean, accuracy = (totals / steps).tolist()
            on_epoch(
                EpochReport(epoch=epoch, loss=loss_mean, excess=excess_mean, accuracy=accuracy)
            )
    network.eval()


def augmented(images: Tensor, recipe: TrainingRecipe, generator: torch.Generator) -> Tensor:
    """Images (B, C, H, W), each shifted, mirrored and turned at random as the recipe says."""
    if recipe.crop:
        images = _shifted(images, recipe.crop, generator)
    if recipe.flip or recipe.rotate:
        images = _where(_coins(images, generator), images.flip(3), images)
    if recipe.rotate:
        images = _where(_coins(images, generator), images.flip(2), images)
        if images.shape[2] == images.shape[3]:
            images = _where(_coins(images, generator), images.transpose(2, 3), images)
    return images


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


def _class_weights(labels: Tensor) -> Tensor:
    """Inverse frequencies with mean 1 over the samples; classes without samples get 0."""
    counts = torch.bincount(labels).float()
    present = (counts > 0).sum()
    return torch.where(counts > 0, counts.sum() / (present * counts.clamp_min(1)), 0.0)


def _optimizer(network: EncryptableNetwork, recipe: TrainingRecipe) -> torch.optim.SGD:
    matrices = [p for p in network.parameters() if p.dim() > 1]
    vectors = [p for p in network.parameters() if p.dim() <= 1]
    return torch.optim.SGD(
        [
            {"params": matrices, "weight_decay": recipe.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=recipe.peak_rate,
        momentum=recipe.momentum,
        nesterov=recipe.momentum > 0,
    )
