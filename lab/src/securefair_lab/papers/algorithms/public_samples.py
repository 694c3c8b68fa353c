"""Distillation on samples that everyone has and nobody's labels are used of.

FedMD and one-shot distillation need such public samples. Here they are the shared validation part
of the participants: whoever compares methods by it must hold out another.
"""

from __future__ import annotations

import torch
from torch import Tensor

from securefair.errors import DataError
from securefair.model import (
    Distillation,
    OptimizerConfig,
    StackedSamples,
    TrainStates,
    all_logits,
    derive_seed,
    draw_batches,
    train,
)
from securefair_lab.algorithms.stacked_population import StackedPopulation

IGNORED = -100
"""A label that cross-entropy skips (`torch.nn.functional.cross_entropy`)."""


def public_features(population: StackedPopulation) -> Tensor:
    """The samples that everyone has, (B, ...).

    Raises:
        DataError: there are none, or each participant has others.
    """
    samples = population.samples("validation")
    held = [own.validation for own in population.participants]
    if any(own is not held[0] for own in held):
        raise DataError(
            "this algorithm needs public samples, the same for everyone",
            where="validation",
            hint='Divide the data with validation="shared"',
        )
    return samples.features[samples.rows(0)]


def public_logits(population: StackedPopulation, vectors: Tensor, round: int, seed: int) -> Tensor:
    """What everyone sends, (N, B, M): its logits on the public samples."""
    computed = all_logits(population.stacked, vectors, public_features(population))
    return population.sent(computed, round, seed)


def distilled(
    population: StackedPopulation,
    train_states: TrainStates,
    logits: Tensor,
    *,
    epochs: int,
    seed: int,
    clock: str,
    temperature: float,
    optimizer: OptimizerConfig,
) -> TrainStates:
    """Networks after epochs on the public samples, towards these logits (B, M) alone.

    Args:
        train_states: any number of networks; all learn the same.
        clock: a word that no other call of the run has.
    """
    public, count = public_features(population), len(train_states)
    starts = tuple(len(public) * n for n in range(count + 1))
    features = public.repeat(count, *[1] * (public.ndim - 1))
    labels = torch.full((len(features),), IGNORED, device=features.device)
    samples = StackedSamples(features, labels, starts, population.classes)
    return train(
        population.stacked,
        train_states,
        samples,
        draw_batches(
            samples,
            [derive_seed(seed, f"public {clock}", str(n)) for n in range(count)],
            epochs=epochs,
            size=population.batch_size,
        ),
        optimizer,
        distillation=Distillation(
            logits.repeat(count, 1),
            torch.ones(count, dtype=torch.float64, device=features.device),
            temperature,
        ),
        precision=population.precision,
    )
