"""Local training: cross-entropy alone, and cross-entropy with what the teachers answered.

Every function here changes its state in place, as torch does; `TrainState.copy` is for callers
who must keep the state from before. The number of threads is the caller's business.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from securefair.data.dataset import Samples
from securefair.errors import DataError, ModelError
from securefair.model.heads import Head
from securefair.model.losses import approximate_kl
from securefair.model.optimizer import OptimizerConfig


@dataclass(frozen=True, eq=False)
class TrainState:
    """A head in training.

    Attributes:
        model: changes with every step.
        optimizer: how it steps.
        momentum: of every parameter, in the model's order; None before its first step.
    """

    model: Head
    optimizer: OptimizerConfig
    momentum: list[Tensor | None]

    @classmethod
    def start(cls, model: Head, optimizer: OptimizerConfig) -> TrainState:
        """A state without momentum yet."""
        return cls(model, optimizer, [None for _ in model.parameters()])

    def copy(self) -> TrainState:
        """An independent copy in the same state."""
        model = copy.deepcopy(self.model, _empty_containers(self.model))
        kept = [None if each is None else each.clone() for each in self.momentum]
        return TrainState(model, self.optimizer, kept)

    @torch.no_grad()
    def step(self) -> float:
        """One step along the gradients, clipped -> their norm before. Without a finite one nothing
        changes.

        What `torch.optim.SGD` and `clip_grad_norm_` compute, bit for bit, in half of their time:
        the optimiser of torch loads its compiler when the first is made, which takes seconds.
        """
        of, parameters = self.optimizer, list(self.model.parameters())
        gradients = [each.grad for each in parameters if each.grad is not None]
        norms = [torch.linalg.vector_norm(gradient) for gradient in gradients]
        total = torch.linalg.vector_norm(torch.stack(norms))
        norm = float(total.item())
        if not math.isfinite(norm):
            return norm
        if of.clip_norm is not None:
            share = (of.clip_norm / (total + 1e-6)).clamp(max=1.0)
            for gradient in gradients:
                gradient.mul_(share)
        for at, parameter in enumerate(parameters):
            if parameter.grad is None:
                continue
            along = parameter.grad
            if of.weight_decay:
                along = along.add(parameter, alpha=of.weight_decay)
            if of.momentum:
                kept = self.momentum[at]
                along = along.clone() if kept is None else kept.mul_(of.momentum).add_(along)
                self.momentum[at] = along
            parameter.add_(along, alpha=-of.learning_rate)
        return norm


def _empty_containers(model: Head) -> dict[int, Any]:
    """What a deep copy need not look into, by identity: every module has a dozen containers that
    are mostly empty, and that took half of its time."""
    return {
        id(value): type(value)()
        for module in model.modules()
        for value in vars(module).values()
        if isinstance(value, dict | set) and not value
    }


@dataclass(frozen=True, eq=False)
class TeacherAnswer:
    """One teacher's logits on all of the student's samples, (B, M), and the weight of its loss."""

    logits: NDArray[np.float64]
    weight: float


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How well a head predicts given samples."""

    accuracy: float  # in [0, 1]
    cross_entropy: float  # nats a sample


def evaluate(model: Head, samples: Samples) -> Evaluation:
    """Accuracy and mean cross-entropy; needs at least one sample.

    Raises:
        DataError: there are no samples.
        ModelError: the features do not fit the head.
    """
    if len(samples) == 0:
        raise DataError("there is nothing to evaluate on", found="0 samples")
    logits = model.logits(samples.features)
    loss = cross_entropy(torch.from_numpy(logits), torch.tensor(samples.labels))
    hits = logits.argmax(axis=1) == samples.labels
    return Evaluation(accuracy=float(hits.mean()), cross_entropy=float(loss))


def descend(train_state: TrainState, loss: Callable[[], Tensor], steps: int) -> None:
    """Take `steps` optimiser steps on a scalar loss, evaluated anew before each.

    Raises:
        ModelError: the loss or its gradient became infinite or NaN.
    """
    for step in range(steps):
        train_state.model.zero_grad()
        value = loss()
        value.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        if not (math.isfinite(value.item()) and math.isfinite(train_state.step())):
            raise ModelError(
                "the training diverged",
                where=f"step {step + 1} of {steps}",
                found=f"loss {value.item():g}",
                hint="Lower the learning rate or the distillation weight, or set clip_norm",
            )


def training_loss(
    model: Head, features: Tensor, of_logits: Callable[[Tensor], Tensor]
) -> Callable[[], Tensor]:
    """What `descend` lowers: a loss of the model's logits, with the penalty that the model asks.

    Values inside a network must stay where encryption has room for them, so every step pays for
    those that leave.

    Args:
        model: in training.
        features: (B, d).
        of_logits: (B, M) -> a scalar.
    """

    def loss() -> Tensor:
        logits, penalty = model.with_penalty(features)
        return of_logits(logits) + penalty

    return loss


@contextmanager
def about(name: str) -> Iterator[None]:
    """Name the participant whose training diverged."""
    try:
        yield
    except ModelError as error:
        raise error.about(name) from error


def train_epochs(
    train_state: TrainState,
    samples: Samples,
    epochs: int,
    *,
    batch_size: int | None = None,
    seed: int = 0,
) -> None:
    """Train on cross-entropy: full batches (None), or mini-batches in a fresh seeded order.

    The last mini-batch of an epoch may be smaller.

    Raises:
        ModelError: the training diverged.
    """
    if batch_size is None:
        descend(train_state, _cross_entropy_on(train_state.model, samples), epochs)
        return
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(len(samples))
        for start in range(0, len(samples), batch_size):
            batch = samples.take(order[start : start + batch_size])
            descend(train_state, _cross_entropy_on(train_state.model, batch), 1)


def distil_steps(
    train_state: TrainState,
    samples: Samples,
    answers: Sequence[TeacherAnswer],
    steps: int,
    *,
    temperature: float,
) -> None:
    """Full-batch steps on mean CE + sum_k weight_k * (mean distillation loss against teacher k).

    The teachers' logits stay fixed. The distillation loss is affine in them (`losses`), so the sum
    over teachers is computed as one loss against their weighted mean logits: a step costs the
    same for two teachers as for twenty. Without answers this is plain cross-entropy.

    Raises:
        ModelError: the training diverged.
    """
    total = sum(answer.weight for answer in answers)
    if total == 0:
        descend(train_state, _cross_entropy_on(train_state.model, samples), steps)
        return
    x = torch.tensor(samples.features)
    mean_logits = torch.from_numpy(
        sum((answer.weight / total) * answer.logits for answer in answers)
    )

    def loss(logits: Tensor) -> Tensor:
        distillation = approximate_kl(logits, mean_logits, temperature).mean()
        return weighed_cross_entropy(logits, samples) + total * distillation

    descend(train_state, training_loss(train_state.model, x, loss), steps)


def _cross_entropy_on(model: Head, samples: Samples) -> Callable[[], Tensor]:
    x = torch.tensor(samples.features)
    return training_loss(model, x, lambda logits: weighed_cross_entropy(logits, samples))


def weighed_cross_entropy(logits: Tensor, samples: Samples) -> Tensor:
    """Mean cross-entropy of logits (B, M) on samples, which count by their weights."""
    labels = torch.tensor(samples.labels)
    if samples.weights is None:
        return cross_entropy(logits, labels)
    each = cross_entropy(logits, labels, reduction="none")
    weights = torch.tensor(samples.weights).to(each)
    return (each * weights).sum() / weights.sum()
