"""Small networks in a stack, and their training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from securefair.data.dataset import Samples
from securefair.model.batches import StackedSamples, draw_batches
from securefair.model.folded import FoldedNetwork
from securefair.model.heads import Head, QuadraticHead
from securefair.model.optimizer import OptimizerConfig
from securefair.model.stacked import Stacked
from securefair.model.stacked_training import (
    TrainStates,
    train,
)

FEATURES, CLASSES = 5, 3
OPTIMIZER = OptimizerConfig(learning_rate=0.1, clip_norm=0.5)


def samples(count: int, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    return Samples(rng.normal(size=(count, FEATURES)), rng.integers(0, CLASSES, count), CLASSES)


def head(generator: torch.Generator) -> nn.Module:
    return QuadraticHead(FEATURES, 4, CLASSES, generator)


class Normed(Head):
    """A head that normalises over batches, as those of experiments may."""

    def __init__(self) -> None:
        super().__init__(FEATURES, CLASSES)
        self.layers = nn.Sequential(
            nn.Linear(FEATURES, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, CLASSES)
        )

    def forward(self, features: Tensor) -> Tensor:
        logits: Tensor = self.layers(features)
        return logits

    def folded(self) -> FoldedNetwork:
        raise NotImplementedError("it answers nobody")


def normed(generator: torch.Generator) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator.initial_seed())
        return Normed()


def stack(build: object = head) -> Stacked:
    return Stacked(build, dtype=torch.float64)  # type: ignore[arg-type]


def trained(
    stacked: Stacked, parts: Sequence[Samples], size: int | None, epochs: int = 2, **more: object
) -> tuple[TrainStates, TrainStates]:
    data = StackedSamples.of(parts, stacked)
    start = TrainStates.start(stacked, range(len(parts)))
    batches = draw_batches(data, range(len(parts)), epochs=epochs, size=size)
    return start, train(stacked, start, data, batches, OPTIMIZER, **more)  # type: ignore[arg-type]
