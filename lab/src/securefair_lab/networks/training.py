"""A recipe that trains a network of quadratic activations: one-cycle SGD with range control."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, softmax

from securefair.config import defaults
from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.networks import EncryptableNetwork
from securefair_lab.networks.augmentation import augmented
from securefair_lab.networks.descent import Descent
from securefair_lab.networks.pooled import with_excess


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """How a network is trained.

    Attributes:
        epochs: passes over the samples.
        batch_size: of a step; the last, incomplete batch of an epoch is left out.
        peak_rate: largest learning rate of the cycle (Smith and Topin 2019, "Super-convergence").
        kernel_rate: the same of kernels, whose steps are then made orthogonal (`descent`); None
            treats them as other matrices.
        momentum, weight_decay: of SGD with Nesterov momentum; decay spares vectors (biases,
            normalisation, activations).
        clip_norm: of the whole gradient.
        range_penalty: weight of the activations' excess in the loss.
        label_smoothing: share of the target spread over all classes.
        crop: pixels by which an image is shifted at random, zeros following.
        flip: also mirror left and right; `rotate`: also up and down and diagonally, for images
            without an upright.
        balance_classes: weigh each sample by the inverse frequency of its class.
        decay: share of the steps at the end in which the rate falls to 0 in a line, after one
            epoch of rise and a plateau; None for one cycle. The same plateau may be left at any
            time, so that more epochs can be decided on while a training runs.
        bfloat16: convolve in that precision: faster where the processor multiplies it.
        soft_weight: share of the distance to soft labels in the loss, where these are given.
        temperature: of both logits there; the distance is multiplied with its square (Hinton,
            Vinyals and Dean 2015, "Distilling the knowledge in a neural network").

    Raises:
        ConfigError: a value outside its range.
    """

    epochs: int
    batch_size: int = 128
    peak_rate: float = 0.1
    kernel_rate: float | None = None
    momentum: float = defaults.MOMENTUM
    weight_decay: float = 5e-4
    clip_norm: float = defaults.CLIP_NORM
    range_penalty: float = defaults.RANGE_PENALTY
    label_smoothing: float = 0.0
    crop: int = 0
    flip: bool = False
    rotate: bool = False
    balance_classes: bool = False
    decay: float | None = None
    bfloat16: bool = False
    soft_weight: float = 0.5
    temperature: float = 3.0

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
            ("soft_weight", 0 <= self.soft_weight <= 1, "in [0, 1]"),
            ("temperature", 0 < self.temperature < math.inf, "above 0"),
            ("decay", self.decay is None or 0 < self.decay <= 1, "above 0, at most 1"),
            (
                "kernel_rate",
                self.kernel_rate is None or 0 < self.kernel_rate < math.inf,
                "above 0",
            ),
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


class Trainable(Protocol):
    """What is trained: a module whose activations may have a range to stay in."""

    def with_excess(self, images: Tensor, *, bfloat16: bool = False) -> tuple[Tensor, Tensor]:
        """Logits (B, M), and a scalar to be kept small."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """As of every module."""

    def train(self, mode: bool = True) -> Any:
        """As of every module."""

    def eval(self) -> Any:
        """As of every module."""


def train_network(
    network: EncryptableNetwork | Trainable,
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    recipe: TrainingRecipe,
    *,
    seed: int,
    soft: NDArray[np.float32] | None = None,
    public: Callable[[Tensor], Tensor] | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> None:
    """Train in place, and leave the network in evaluation mode.

    Args:
        network: fresh or trained; its parameters change.
        images: (B, *input_shape).
        labels: (B,).
        recipe: how.
        seed: of the order and of the augmentation; equal seeds give equal networks on one machine.
        soft: logits (2, B, M) of a larger network, of images as they are and mirrored: targets
            beside the labels (`larger.soft_labels`).
        public: what is computed of augmented images before the network takes them (`cosines`).
        on_epoch: called after each pass.

    Raises:
        DataError: fewer samples than a batch, images of another shape or type than the network's,
            labels that it has no logit for, or other soft labels than for these images.
        ConfigError: soft labels for images that are also turned.
        ModelError: the training diverged.
    """
    if len(images) < recipe.batch_size:
        raise DataError("there are fewer samples than a batch", found=len(images))
    public = public or _unchanged
    classes = _classes(network, images, public)
    _check_labels(labels, len(images), classes)
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    weights = _class_weights(y, classes).to(x.dtype) if recipe.balance_classes else None
    targets = None if soft is None else _targets(soft, (2, len(images), classes), recipe)
    steps = len(images) // recipe.batch_size
    descent = Descent(network.parameters(), recipe, steps=steps)
    network.train()
    for epoch in range(1, recipe.epochs + 1):
        order = torch.randperm(len(images), generator=generator)
        totals = torch.zeros(3)
        for step in range(steps):
            rows = order[step * recipe.batch_size : (step + 1) * recipe.batch_size]
            batch, mirrored = augmented(x[rows], recipe, generator)
            target = y[rows]
            logits, excess = _run(network, public(batch), bfloat16=recipe.bfloat16)
            loss = cross_entropy(
                logits, target, weight=weights, label_smoothing=recipe.label_smoothing
            )
            objective = loss
            if targets is not None:
                wanted = targets[mirrored.long(), rows]
                objective = torch.lerp(loss, _distance(logits, wanted, recipe), recipe.soft_weight)
            norm = descent.gradient(objective + recipe.range_penalty * excess)
            if not math.isfinite(norm):
                raise ModelError(
                    "the training diverged",
                    where=f"epoch {epoch}, step {step + 1}",
                    found=f"loss {loss.item():g}",
                    hint="Lower peak_rate and kernel_rate, or raise range_penalty",
                )
            descent.step()
            hits = (logits.argmax(dim=1) == target).to(loss.dtype).mean()
            totals += torch.stack([loss.detach(), excess.detach(), hits])
        if on_epoch is not None:
            loss_mean, excess_mean, accuracy = (totals / steps).tolist()
            on_epoch(
                EpochReport(epoch=epoch, loss=loss_mean, excess=excess_mean, accuracy=accuracy)
            )
    network.eval()


def _run(
    network: EncryptableNetwork | Trainable, images: Tensor, *, bfloat16: bool = False
) -> tuple[Tensor, Tensor]:
    if isinstance(network, EncryptableNetwork):
        return with_excess(network, images, bfloat16=bfloat16)
    return network.with_excess(images, bfloat16=bfloat16)


def _unchanged(images: Tensor) -> Tensor:
    return images


def _classes(
    network: EncryptableNetwork | Trainable,
    images: NDArray[np.float32],
    public: Callable[[Tensor], Tensor],
) -> int:
    """How many logits the network gives for each of these images, tried on the first."""
    kind = str(next(network.parameters()).dtype).removeprefix("torch.")
    if str(images.dtype) != kind:
        raise DataError(
            "images and network have different types", found=images.dtype, expected=kind
        )
    one = torch.from_numpy(images[:1])
    network.eval()
    try:
        with torch.no_grad():
            logits, _ = _run(network, public(one))
    except (RuntimeError, ValueError, IndexError) as error:
        raise DataError(
            "the network does not take images of this shape", found=images.shape[1:]
        ) from error
    if logits.ndim != 2 or len(logits) != 1:
        raise DataError("the network does not take these as one image", found=images.shape[1:])
    return logits.shape[1]


def _check_labels(labels: NDArray[np.int64], samples: int, classes: int) -> None:
    if labels.shape != (samples,) or labels.dtype != np.int64:
        raise DataError(
            "not the labels of these images",
            found=f"{labels.dtype} of shape {labels.shape}",
            expected=f"int64 of shape ({samples},)",
        )
    if labels.min() < 0 or labels.max() >= classes:
        raise DataError(
            "the network has no logit for a label",
            found=f"labels {labels.min()} to {labels.max()}",
            expected=f"0 to {classes - 1}",
        )


def _class_weights(labels: Tensor, classes: int) -> Tensor:
    """Inverse frequencies with mean 1 over the samples; classes without samples get 0."""
    counts = torch.bincount(labels, minlength=classes).float()
    present = (counts > 0).sum()
    return torch.where(counts > 0, counts.sum() / (present * counts.clamp_min(1)), 0.0)


def _targets(
    soft: NDArray[np.float32], shape: tuple[int, int, int], recipe: TrainingRecipe
) -> Tensor:
    """Probabilities (2, B, M) at the recipe's temperature."""
    if recipe.rotate:
        raise ConfigError(
            "soft labels know of mirror images only", where="rotate", found=True, expected="False"
        )
    if soft.shape != shape:
        raise DataError("not the soft labels of these images", found=soft.shape, expected=shape)
    logits = torch.from_numpy(soft.astype(np.float32, copy=False))
    return softmax(logits / recipe.temperature, dim=2)


def _distance(logits: Tensor, wanted: Tensor, recipe: TrainingRecipe) -> Tensor:
    """Cross-entropy of tempered logits, a scalar, times the temperature squared."""
    tempered = log_softmax(logits / recipe.temperature, dim=1)
    return -(wanted * tempered).sum(dim=1).mean() * recipe.temperature**2
