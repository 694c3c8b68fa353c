"""Steps down the gradient: momentum for all parameters, or steps of another kind for kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor, nn

from securefair.errors import ConfigError

_KERNEL_DECAY = 0.1
"""Weight decay of kernels beside their rate. What follows is normalised, so that it sets no more
than how fast they turn."""


class DescentRecipe(Protocol):
    """What is read of a recipe (`training.TrainingRecipe`)."""

    @property
    def epochs(self) -> int:
        """Passes over the samples."""

    @property
    def decay(self) -> float | None:
        """Share of the steps in which rates fall, after a plateau; None for one cycle."""

    @property
    def peak_rate(self) -> float:
        """Of SGD."""

    @property
    def kernel_rate(self) -> float | None:
        """Of Muon, for kernels."""

    @property
    def momentum(self) -> float:
        """Of both."""

    @property
    def weight_decay(self) -> float:
        """Of SGD, for matrices."""

    @property
    def clip_norm(self) -> float:
        """Of the whole gradient."""


class Descent:
    """SGD with Nesterov momentum, and Muon for kernels where a recipe has a rate for them.

    Muon (Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks") makes the
    step of a matrix orthogonal: every direction in it moves alike. Kernels (O, I, H, W) are taken
    as matrices (O, H W I).

    Args:
        parameters: those of a network; kernels become channels last.
        recipe: how.
        steps: of an epoch.

    Raises:
        ConfigError: the recipe has a rate for kernels, and this torch has no Muon.
    """

    def __init__(
        self, parameters: Iterator[nn.Parameter], recipe: DescentRecipe, *, steps: int
    ) -> None:
        self._clip_norm = recipe.clip_norm
        everything = list(parameters)
        for kernel in (each for each in everything if each.dim() == 4):
            kernel.data = kernel.data.contiguous(memory_format=torch.channels_last)
        self._trained = [each for each in everything if each.requires_grad]
        self._kernels = [
            each for each in self._trained if each.dim() == 4 and recipe.kernel_rate is not None
        ]
        # The same numbers, seen as matrices.
        self._matrices = [nn.Parameter(_matrix(kernel.data)) for kernel in self._kernels]
        taken = {id(kernel) for kernel in self._kernels}
        others = [each for each in self._trained if id(each) not in taken]
        self._optimizers: list[torch.optim.Optimizer] = [_sgd(others, recipe)]
        if self._matrices:
            self._optimizers.append(_muon(self._matrices, recipe))
        self._schedules = [_schedule(each, recipe, steps) for each in self._optimizers]

    def gradient(self, objective: Tensor) -> float:
        """Compute and clip the gradient of a scalar; returns the norm that it had."""
        for each in self._trained:
            each.grad = None
        objective.backward()  # type: ignore[no-untyped-call]
        return torch.nn.utils.clip_grad_norm_(self._trained, self._clip_norm).item()

    def step(self) -> None:
        """Go one step down the last gradient."""
        for kernel, matrix in zip(self._kernels, self._matrices, strict=True):
            matrix.grad = None if kernel.grad is None else _matrix(kernel.grad)
        for optimizer, schedule in zip(self._optimizers, self._schedules, strict=True):
            optimizer.step()
            schedule.step()


def _matrix(kernel: Tensor) -> Tensor:
    return kernel.permute(0, 2, 3, 1).flatten(1)


def _sgd(parameters: list[nn.Parameter], recipe: DescentRecipe) -> torch.optim.SGD:
    matrices = [each for each in parameters if each.dim() > 1]
    vectors = [each for each in parameters if each.dim() <= 1]
    return torch.optim.SGD(
        [
            {"params": matrices, "weight_decay": recipe.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=recipe.peak_rate,
        momentum=recipe.momentum,
        nesterov=recipe.momentum > 0,
    )


def _muon(matrices: list[nn.Parameter], recipe: DescentRecipe) -> torch.optim.Optimizer:
    if not hasattr(torch.optim, "Muon"):
        raise ConfigError(
            "this torch has no Muon",
            where="kernel_rate",
            found=torch.__version__,
            expected="torch 2.9 or later",
        )
    assert recipe.kernel_rate is not None  # or there would be no matrices
    return torch.optim.Muon(
        matrices,
        lr=recipe.kernel_rate,
        momentum=recipe.momentum,
        weight_decay=_KERNEL_DECAY,
        nesterov=recipe.momentum > 0,
    )


def _schedule(
    optimizer: torch.optim.Optimizer, recipe: DescentRecipe, steps: int
) -> torch.optim.lr_scheduler.LRScheduler:
    """Of the rates, by steps; `steps` make an epoch."""
    total, decay = steps * recipe.epochs, recipe.decay
    if decay is None:
        return torch.optim.lr_scheduler.OneCycleLR(
            optimizer,
            max_lr=[group["lr"] for group in optimizer.param_groups],
            total_steps=total,
            cycle_momentum=False,
        )
    fall = max(1.0, decay * total)
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / steps, (total - step) / fall)
    )
