"""Local training step by step, for methods whose gradient is not that of one model's loss.

`Cohort.train` takes whole epochs at once. Here the caller takes each optimiser step itself, from
gradients at whatever parameters its paper names: a mixture of two models, a model after a trial
step, a model with a penalty. Orders of samples are those of `Cohort.train`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from securefair.algorithms.cohort import Cohort, Precision
from securefair.errors import ModelError
from securefair.model.seeds import derived_seed
from securefair.model.stacked_training import Batches, StackedSamples, draw_batches


@dataclass(frozen=True, eq=False)
class LocalStep:
    """One mini-batch, of each independent order, for every participant that still has one."""

    who: list[int]  # the participants; rows of all arrays follow it
    population: Cohort
    samples: StackedSamples
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
        stacked = self.population.stacked
        rows, weights = self.streams[order]
        half = (precision or self.population.precision) == "bfloat16"
        one_by_one = stacked.form == "rows"
        groups = [slice(n, n + 1) for n in range(len(rows))] if one_by_one else [slice(None)]
        return torch.cat(
            stacked.each(
                lambda own: self._gradients(vectors, rows, weights, own, half=half), groups
            )
        )

    def _gradients(
        self, vectors: Tensor, indices: Tensor, weights: Tensor, own: slice, *, half: bool
    ) -> Tensor:
        stacked, samples = self.population.stacked, self.samples
        trained, statistics = stacked.parts(vectors[own])
        now = indices[own]
        leaves, statistics = stacked.leaves(trained), statistics.clone()
        features = samples.features[now]
        with torch.autocast(stacked.device.type, torch.bfloat16, enabled=half):
            logits = stacked.train_logits(leaves, statistics, features)
        each = cross_entropy(
            logits.to(stacked.dtype).flatten(0, 1), samples.labels[now].flatten(), reduction="none"
        )
        loss = (each.view(now.shape) * weights[own]).sum()
        pieces = torch.autograd.grad(loss, leaves)
        vectors[own, stacked.trained :] = statistics
        return torch.cat([piece.reshape(len(now), -1) for piece in pieces], dim=1)


def local_steps(
    population: Cohort, *, epochs: int, seed: int, clock: int, orders: int = 1
) -> Iterator[LocalStep]:
    """The steps of so many local epochs of all participants.

    Args:
        clock: as of `Cohort.train`, which draws the same order as the first one here.
        orders: how many independent orders of samples each step has a mini-batch of.
    """
    samples = population.samples("train")
    drawn = [
        draw_batches(
            samples,
            [
                derived_seed(seed, f"batches {clock}" if o == 0 else f"batches {clock}, {o}", name)
                for name in population.names
            ],
            epochs=epochs,
            size=population.batch_size,
        )
        for o in range(orders)
    ]
    counts = [len(indices) for indices in drawn[0].indices]
    for step in range(max(counts)):
        who = [n for n, count in enumerate(counts) if step < count]
        streams = tuple(_at(batches, who, step, population) for batches in drawn)
        yield LocalStep(who, population, samples, streams)


def check_trained(population: Cohort, *vectors: Tensor) -> None:
    """Refuse models (N, V) that are not finite.

    Raises:
        ModelError: the training of a participant diverged.
    """
    finite = torch.stack([own.isfinite().all(dim=1) for own in vectors]).all(dim=0)
    if not finite.all():
        culprits = (~finite).nonzero()[:, 0].tolist()
        raise ModelError(
            "the training diverged",
            where=", ".join(population.names[n] for n in culprits),
            hint="Lower the learning rate, or set clip_norm",
        )


def _at(batches: Batches, who: list[int], step: int, population: Cohort) -> tuple[Tensor, Tensor]:
    stacked = population.stacked
    return (
        torch.stack([torch.from_numpy(batches.indices[n][step]) for n in who]).to(stacked.device),
        torch.stack([torch.from_numpy(batches.weights[n][step]) for n in who]).to(
            stacked.device, stacked.dtype
        ),
    )
