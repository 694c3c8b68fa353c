"""Training of stacked networks: every optimiser step of all participants at once.

Samples of all participants lie in one array on the device. Participants may have different numbers
of samples: those with more batches go on in a smaller stack when the others are done, so nothing is
computed for nobody. Nothing that a participant computes depends on who else trains, but for the
last digits. State in, state out: `train` leaves its arguments as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from securefair.errors import ModelError
from securefair.model.batches import Batches, StackedSamples, participants_named
from securefair.model.losses import approximate_kl
from securefair.model.optimizer import OptimizerConfig
from securefair.model.stacked import Stacked

GRADIENT_CHUNK = 512  # samples at once where activations must be kept for the gradient


@dataclass(frozen=True, eq=False)
class TrainStates:
    """Networks in training: `vectors` (N, V) as `Stacked` defines them, `momentum` (N, P)."""

    vectors: Tensor
    momentum: Tensor

    @classmethod
    def start(cls, stacked: Stacked, seeds: Sequence[int]) -> TrainStates:
        """Fresh networks without momentum; equal seeds give equal networks."""
        vectors = stacked.initial(seeds)
        return cls(vectors, torch.zeros_like(vectors[:, : stacked.trained]))

    def moved(self, vectors: Tensor) -> TrainStates:
        """Other parameters (an average, a reward) with the momentum of before."""
        return TrainStates(vectors, self.momentum)

    def momentum_reset(self) -> TrainStates:
        """The same networks without momentum."""
        return TrainStates(self.vectors, torch.zeros_like(self.momentum))

    def of(self, rows: Sequence[int]) -> TrainStates:
        """Some of the networks."""
        return TrainStates(self.vectors[list(rows)], self.momentum[list(rows)])

    def replaced(self, rows: Sequence[int], others: TrainStates) -> TrainStates:
        """Others in the place of some of the networks."""
        vectors, momentum = self.vectors.clone(), self.momentum.clone()
        vectors[list(rows)], momentum[list(rows)] = others.vectors, others.momentum
        return TrainStates(vectors, momentum)

    def __len__(self) -> int:
        return len(self.vectors)


@dataclass(frozen=True, eq=False)
class Distillation:
    """What teachers say about the participants' training samples.

    The distillation loss is affine in the teachers' logits (`losses`), so a sum over teachers is
    one loss against their weighted mean.
    """

    logits: Tensor  # (B_1 + ... + B_N, M): the weighted mean of the teachers that answered
    weights: Tensor  # (N,): lambda_0 sum_k lambda_nk
    temperature: float


@dataclass(frozen=True, eq=False)
class Proximal:
    """FedProx's pull (mu / 2) ||w - anchor||^2 towards where the round began."""

    anchor: Tensor  # (N, P)
    mu: float


def train(
    stacked: Stacked,
    train_states: TrainStates,
    samples: StackedSamples,
    batches: Batches,
    optimizer: OptimizerConfig,
    *,
    distillation: Distillation | None = None,
    proximal: Proximal | None = None,
    frozen: Tensor | None = None,
    precision: Literal["full", "bfloat16"] = "full",
    names: Sequence[str] | None = None,
) -> TrainStates:
    """Optimiser steps on mean cross-entropy, and on what else is given.

    Args:
        frozen: (P,) bool, parameters that stay as they are.
        precision: "bfloat16" computes matrix products and convolutions in it (autocast), and
            keeps parameters, momentum and losses in the full type.
        names: of the rows, for errors; None: participant 1, 2, ...

    Raises:
        ConfigError: batches of one sample, for a network with batch norm.
        ModelError: the training of a participant diverged.
    """

    def trained(who: Sequence[int]) -> tuple[TrainStates, Tensor]:
        return _train_together(
            stacked,
            train_states,
            samples,
            batches,
            optimizer,
            who,
            distillation=distillation,
            proximal=proximal,
            frozen=frozen,
            precision=precision,
        )

    groups = batches.groups(stacked, names)
    results = stacked.each(trained, groups)
    done = [n for group in groups for n in group]
    finite = torch.cat([one for _, one in results])
    if not finite.all():
        culprits = sorted(done[row] for row in (~finite).nonzero()[:, 0].tolist())
        raise ModelError(
            "the training diverged",
            where=", ".join(participants_named(culprits, names)),
            hint="Lower the learning rate or the distillation weight, or set clip_norm",
        )
    back = torch.tensor(np.argsort(done), device=stacked.device)
    return TrainStates(
        torch.cat([one.vectors for one, _ in results])[back],
        torch.cat([one.momentum for one, _ in results])[back],
    )


def _train_together(
    stacked: Stacked,
    train_states: TrainStates,
    samples: StackedSamples,
    batches: Batches,
    optimizer: OptimizerConfig,
    who: Sequence[int],
    *,
    distillation: Distillation | None,
    proximal: Proximal | None,
    frozen: Tensor | None,
    precision: Literal["full", "bfloat16"],
) -> tuple[TrainStates, Tensor]:
    """Those participants after their steps, and whose gradients were finite throughout.

    Args:
        who: in falling order of their steps: those still at work are then always a prefix.
    """
    steps = [len(batches.indices[n]) for n in who]
    parameters, statistics = (part.clone() for part in stacked.parts(train_states.vectors[who]))
    momentum = train_states.momentum[who].clone()
    # What every step needs is looked up once: on small networks such small things cost most.
    rows, weights = batches.together(who, stacked)
    labels = samples.labels[rows]
    pull = None if distillation is None else distillation.weights[who].to(stacked.dtype)
    norms = parameters.new_zeros(len(who))  # of all gradients, summed: finite if all of them are
    active = len(who)
    leaves = stacked.leaves(parameters)
    for step in range(steps[0] if steps else 0):
        if steps[active - 1] <= step:
            active = sum(count > step for count in steps)
            leaves = stacked.leaves(parameters[:active])
        now, weight = rows[:active, step], weights[:active, step]
        # Sample by sample, then participant by participant: as images lie side by side.
        features = samples.features.index_select(0, now.t().flatten())
        features = features.view(-1, active, *features.shape[1:]).transpose(0, 1)
        with torch.autocast(stacked.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            logits = stacked.train_logits(leaves, statistics[:active], features)
        logits = logits.to(stacked.dtype)
        losses = mean_losses(logits, labels[:active, step], weight)
        if distillation is not None and pull is not None:
            apart = approximate_kl(logits, distillation.logits[now], distillation.temperature)
            losses = losses + pull[:active] * (apart * weight).sum(dim=1)
        pieces = torch.autograd.grad(losses.sum(), leaves)
        with torch.no_grad():
            gradient = torch.cat([piece.reshape(active, -1) for piece in pieces], dim=1)
            if proximal is not None:
                gradient += proximal.mu * (parameters[:active] - proximal.anchor[who[:active]])
            norms[:active] += sgd_step(
                parameters[:active], momentum[:active], gradient, optimizer, frozen
            )
    return TrainStates(torch.cat([parameters, statistics], dim=1), momentum), norms.isfinite()


def loss_gradients(
    stacked: Stacked,
    vector: Tensor,
    features: Tensor,
    losses: Callable[[Tensor, slice], Sequence[Tensor]],
) -> Tensor:
    """Gradients (K, P) of K losses of one network, which is run forward once for all of them.

    Args:
        vector: (V,), in evaluation mode.
        features: (B, ...).
        losses: from the logits (b, M) of some rows of the features and those rows, K sums over
            the rows; the result is the gradient of their mean over all B.
    """
    trained, statistics = stacked.parts(vector[None])
    result = trained.new_zeros(())
    for start in range(0, len(features), GRADIENT_CHUNK):
        rows = slice(start, min(start + GRADIENT_CHUNK, len(features)))
        point = trained.detach().requires_grad_()
        logits = stacked.eval_logits(point, statistics, features[rows][None])[0]
        values = losses(logits, rows)
        gradients = [
            torch.autograd.grad(value, point, retain_graph=k + 1 < len(values))[0][0]
            for k, value in enumerate(values)
        ]
        result = result + torch.stack(gradients) / len(features)
    return result


def gradients(
    stacked: Stacked,
    vectors: Tensor,
    samples: StackedSamples,
    *,
    temperature: float = 1.0,
) -> Tensor:
    """Each participant's gradient (N, P) of its mean cross-entropy, in evaluation mode.

    Over all of its samples, with logits divided by the temperature.
    """
    found = []
    for n in range(len(vectors)):
        own = samples.rows(n)
        labels = samples.labels[own]

        def losses(logits: Tensor, rows: slice, labels: Tensor = labels) -> list[Tensor]:
            return [cross_entropy(logits / temperature, labels[rows], reduction="sum")]

        found.append(loss_gradients(stacked, vectors[n], samples.features[own], losses)[0])
    return torch.stack(found)


def all_logits(stacked: Stacked, vectors: Tensor, features: Tensor) -> Tensor:
    """Logits (K, B, M) of K networks on the same B samples: K teachers, or K candidates."""
    return torch.cat(
        [
            stacked.logits(vectors, features[start : start + stacked.chunk], shared=True)
            for start in range(0, len(features), stacked.chunk)
        ],
        dim=1,
    )


def mean_losses(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Each participant's weighted cross-entropy (A,), from logits (A, b, M) and weights (A, b)."""
    each = cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return (each.view(weights.shape) * weights).sum(dim=1)


def sgd_step(
    parameters: Tensor,
    momentum: Tensor,
    gradient: Tensor,
    optimizer: OptimizerConfig,
    frozen: Tensor | None,
) -> Tensor:
    """torch's SGD with clipping, on all rows in place; the norms (A,) of their gradients.

    Args:
        parameters, momentum: (A, P), changed in place.
        gradient: (A, P), changed too.
        frozen: (P,) bool, parameters that stay as they are.
    """
    norms: Tensor = gradient.norm(dim=1)
    if optimizer.clip_norm is not None:  # as clip_grad_norm_ does
        gradient *= (optimizer.clip_norm / (norms + 1e-6)).clamp(max=1.0)[:, None]
    if optimizer.weight_decay:
        gradient.add_(parameters, alpha=optimizer.weight_decay)
    if frozen is not None:
        gradient.masked_fill_(frozen, 0.0)
    momentum.mul_(optimizer.momentum).add_(gradient)
    if frozen is None:
        parameters.add_(momentum, alpha=-optimizer.learning_rate)
    else:
        parameters.add_(momentum.masked_fill(frozen, 0.0), alpha=-optimizer.learning_rate)
    return norms
