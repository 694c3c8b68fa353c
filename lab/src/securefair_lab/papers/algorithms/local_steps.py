"""Local training for methods whose gradient is not that of one model's loss.

`StackedPopulation.train` descends the loss of everyone's network. Here a method says at which
parameters it needs gradients and what it makes of them: at a mixture of two models, after a trial
step, with a penalty. Orders of samples are those of `StackedPopulation.train`, and participants
compute together as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from securefair.errors import ModelError
from securefair.model import (
    Batches,
    OptimizerConfig,
    TrainStates,
    derive_seed,
    draw_batches,
    mean_losses,
    sgd_step,
)
from securefair_lab.algorithms.stacked_population import Precision, StackedPopulation


@dataclass(frozen=True, eq=False)
class LocalStep:
    """A mini-batch, of each independent order, for each of some participants."""

    who: list[int]  # the participants; rows of all arrays follow it
    population: StackedPopulation
    streams: tuple[tuple[Tensor, Tensor], ...]  # indices and weights (A, b) of each order

    def gradients(
        self, vectors: Tensor, *, order: int = 0, precision: Precision | None = None
    ) -> Tensor:
        """Gradients (A, P) of mean cross-entropy on the mini-batches of one order.

        Args:
            vectors: (A, V), in training mode: batch norm's running statistics, the last V - P
                numbers, are updated in place.
            order: which of the independent orders of samples.
            precision: None is the population's.
        """
        stacked, samples = self.population.stacked, self.population.samples("train")
        rows, weights = self.streams[order]
        trained, statistics = stacked.parts(vectors)
        leaves, statistics = stacked.leaves(trained), statistics.clone()
        half = (precision or self.population.precision) == "bfloat16"
        with torch.autocast(stacked.device.type, torch.bfloat16, enabled=half):
            logits = stacked.train_logits(leaves, statistics, samples.features[rows])
        losses = mean_losses(logits.to(stacked.dtype), samples.labels[rows], weights)
        pieces = torch.autograd.grad(losses.sum(), leaves)
        vectors[:, stacked.trained :] = statistics  # not before: autograd needs what it was given
        return torch.cat([piece.reshape(len(rows), -1) for piece in pieces], dim=1)


Gradients = Callable[[LocalStep, list[Tensor]], Sequence[Tensor]]
"""What a step descends: of the models (A, V) of those who take it, as many gradients (A, P).

It may update the models' running statistics in place, and nothing else of them; the gradients are
changed by clipping and weight decay.
"""


def local_steps(
    population: StackedPopulation,
    models: Sequence[TrainStates],
    gradients: Gradients,
    *,
    epochs: int,
    seed: int,
    clock: int,
    optimizer: OptimizerConfig,
    orders: int = 1,
) -> list[TrainStates]:
    """Models that every participant trains side by side, after so many local epochs.

    Args:
        models: one or more, each of all participants; all of a step move at once.
        clock: as of `StackedPopulation.train`, which draws the same order as the first one here.
        orders: how many independent orders of samples each step has a mini-batch of.

    Raises:
        ConfigError: batches of one sample, for a network with batch norm.
        ModelError: the training of a participant diverged.
    """
    stacked = population.stacked
    drawn = [_drawn(population, order, epochs, seed, clock) for order in range(orders)]
    counts = [len(indices) for indices in drawn[0].indices]

    def trained(who: list[int]) -> list[TrainStates]:
        own = [one.of(who) for one in models]
        streams = [batches.together(who, stacked) for batches in drawn]
        for step in range(counts[who[0]]):
            active = sum(counts[n] > step for n in who)
            at = LocalStep(
                who[:active],
                population,
                tuple((rows[:active, step], weights[:active, step]) for rows, weights in streams),
            )
            along = gradients(at, [one.vectors[:active] for one in own])
            for one, gradient in zip(own, along, strict=True):
                parameters = stacked.parts(one.vectors[:active])[0]
                sgd_step(parameters, one.momentum[:active], gradient, optimizer, None)
        return own

    groups = drawn[0].groups(stacked, population.names)  # other orders have batches as large
    results = stacked.each(trained, groups)
    back = torch.tensor(np.argsort([n for group in groups for n in group]), device=stacked.device)
    after = [
        TrainStates(
            torch.cat([one.vectors for one in parts])[back],
            torch.cat([one.momentum for one in parts])[back],
        )
        for parts in zip(*results, strict=True)
    ]
    _check_finite(population, after)
    return after


def _drawn(
    population: StackedPopulation, order: int, epochs: int, seed: int, clock: int
) -> Batches:
    purpose = f"batches {clock}" if order == 0 else f"batches {clock}, {order}"
    return draw_batches(
        population.samples("train"),
        [derive_seed(seed, purpose, name) for name in population.names],
        epochs=epochs,
        size=population.batch_size,
    )


def _check_finite(population: StackedPopulation, models: list[TrainStates]) -> None:
    finite = torch.stack([one.vectors.isfinite().all(dim=1) for one in models]).all(dim=0)
    if not finite.all():
        culprits = (~finite).nonzero()[:, 0].tolist()
        raise ModelError(
            "the training diverged",
            where=", ".join(population.names[n] for n in culprits),
            hint="Lower the learning rate, or set clip_norm",
        )
