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
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.losses import approximate_kl
from securefair.model.stacked import Stacked
from securefair.model.training import OptimizerConfig

GRADIENT_CHUNK = 512  # samples at once where activations must be kept for the gradient


@dataclass(frozen=True, eq=False)
class StackedSamples:
    """The samples of all participants one after the other, resident on the device.

    Args:
        features: (B_1 + ... + B_N, ...).
        labels: as many.
        starts: (N + 1,), where each participant's samples begin; the last is the total.
    """

    features: Tensor
    labels: Tensor
    starts: tuple[int, ...]
    classes: int

    @classmethod
    def of(cls, parts: Sequence[Samples], stacked: Stacked) -> StackedSamples:
        """Bring samples to the device and dtype of the networks.

        Raises:
            DataError: a participant has no samples.
        """
        for n, part in enumerate(parts):
            if len(part) == 0:
                raise DataError("a participant has no samples", where=f"participant {n + 1}")
        starts = np.cumsum([0, *(len(part) for part in parts)])
        return cls(
            torch.cat([torch.from_numpy(part.features).to(stacked.dtype) for part in parts]).to(
                stacked.device
            ),
            torch.cat([torch.from_numpy(part.labels) for part in parts]).to(stacked.device),
            tuple(int(start) for start in starts),
            parts[0].classes,
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Samples of each participant, (N,)."""
        return np.diff(self.starts).astype(np.int64)

    def rows(self, participant: int) -> slice:
        """Where one participant's samples lie."""
        return slice(self.starts[participant], self.starts[participant + 1])


@dataclass(frozen=True, eq=False)
class Learners:
    """Networks in training: `vectors` (N, V) as `Stacked` defines them, `momentum` (N, P)."""

    vectors: Tensor
    momentum: Tensor

    @classmethod
    def start(cls, stacked: Stacked, seeds: Sequence[int]) -> Learners:
        """Fresh networks without momentum; equal seeds give equal networks."""
        vectors = stacked.initial(seeds)
        return cls(vectors, torch.zeros_like(vectors[:, : stacked.trained]))

    def moved(self, vectors: Tensor) -> Learners:
        """Other parameters (an average, a reward) with the momentum of before."""
        return Learners(vectors, self.momentum)

    def rested(self) -> Learners:
        """The same networks without momentum."""
        return Learners(self.vectors, torch.zeros_like(self.momentum))

    def of(self, rows: Sequence[int]) -> Learners:
        """Some of the networks."""
        return Learners(self.vectors[list(rows)], self.momentum[list(rows)])

    def replaced(self, rows: Sequence[int], others: Learners) -> Learners:
        """Others in the place of some of the networks."""
        vectors, momentum = self.vectors.clone(), self.momentum.clone()
        vectors[list(rows)], momentum[list(rows)] = others.vectors, others.momentum
        return Learners(vectors, momentum)

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


@dataclass(frozen=True, eq=False)
class Batches:
    """Which samples each step sees: one (steps, b) pair of arrays for each participant.

    Participants may differ in both numbers.
    """

    indices: tuple[NDArray[np.int64], ...]  # into StackedSamples
    weights: tuple[NDArray[np.float64], ...]  # of each sample in the mean; 0 fills a batch up

    def groups(self, stacked: Stacked, names: Sequence[str] | None = None) -> list[list[int]]:
        """Which participants train as one computation; in each, who takes most steps comes first.

        Where networks measure batches, as batch norm does, only batches of one size go together: it
        would see what others are filled up with (`together`).

        Args:
            names: of the participants, for errors; None: participant 1, 2, ...

        Raises:
            ConfigError: batch norm is given batches of one sample, which have no variance.
        """
        order = sorted(range(len(self.indices)), key=self._shape, reverse=True)
        if not stacked.measures_batches:
            return stacked.groups(order)
        single = [n for n, own in enumerate(self.indices) if len(own) and own.shape[1] == 1]
        if stacked.batch_norm and single:
            raise ConfigError(
                "batch normalisation takes variances, which single samples do not have",
                where=", ".join(_named(single, names)),
                found="batches of 1 sample",
                expected="2 or more",
                hint="Set a larger batch size; a participant with 1 sample cannot take part",
            )
        of_width: dict[int, list[int]] = {}
        for n in order:
            of_width.setdefault(self._shape(n)[1], []).append(n)
        return [group for same in of_width.values() for group in stacked.groups(same)]

    def together(self, who: Sequence[int], stacked: Stacked) -> tuple[Tensor, Tensor]:
        """Indices and weights of some participants, each (A, steps, b), on the device.

        A smaller batch goes on with its own samples, of weight 0; steps that a participant does not
        take are not to be looked at.
        """
        steps, width = np.max([self._shape(n) for n in who], axis=0)
        indices = np.zeros((len(who), steps, width), dtype=np.int64)
        weights = np.zeros((len(who), steps, width))
        for row, n in enumerate(who):
            count, own = self._shape(n)
            indices[row, :count] = self.indices[n][:, np.arange(width) % own]
            weights[row, :count, :own] = self.weights[n]
        return (
            torch.from_numpy(indices).to(stacked.device),
            torch.from_numpy(weights).to(stacked.device, stacked.dtype),
        )

    def _shape(self, participant: int) -> tuple[int, int]:
        steps, width = self.indices[participant].shape
        return steps, width


def draw_batches(
    samples: StackedSamples,
    seeds: Sequence[int],
    *,
    epochs: int,
    size: int | None,
    within: Sequence[NDArray[np.int64]] | None = None,
) -> Batches:
    """So many epochs in fresh seeded orders; full batches if `size` is None.

    A participant's batches depend on its seed and samples only, and are all of one size: the last
    of an epoch is filled up from the epoch's first, with samples of weight 0 (which batch norm's
    statistics do see). Who has fewer samples than `size` has full batches.

    Args:
        within: which of its samples each participant uses, counted from its first; None: all.
    """
    if within is None:
        within = [np.arange(count, dtype=np.int64) for count in samples.sizes]
    indices, weights = [], []
    for n, (seed, own) in enumerate(zip(seeds, within, strict=True)):
        count = len(own)  # of 0 come no steps
        width = max(count if size is None else min(size, count), 1)
        rng = np.random.default_rng(seed)
        orders = [own if size is None else rng.permutation(own) for _ in range(epochs)]
        steps = -(-count // width)
        rows = np.array(
            [np.resize(order, steps * width) for order in orders], dtype=np.int64
        ).reshape(epochs, -1)
        valid = np.arange(steps * width).reshape(steps, width) < count
        mean = valid / valid.sum(axis=1, keepdims=True)
        indices.append(samples.starts[n] + rows.reshape(epochs * steps, width))
        weights.append(np.tile(mean, (epochs, 1)))
    return Batches(tuple(indices), tuple(weights))


def train(
    stacked: Stacked,
    learners: Learners,
    samples: StackedSamples,
    batches: Batches,
    optimizer: OptimizerConfig,
    *,
    distillation: Distillation | None = None,
    proximal: Proximal | None = None,
    frozen: Tensor | None = None,
    precision: Literal["full", "bfloat16"] = "full",
    names: Sequence[str] | None = None,
) -> Learners:
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

    def trained(who: Sequence[int]) -> tuple[Learners, Tensor]:
        return _train_together(
            stacked,
            learners,
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
            where=", ".join(_named(culprits, names)),
            hint="Lower the learning rate or the distillation weight, or set clip_norm",
        )
    back = torch.tensor(np.argsort(done), device=stacked.device)
    return Learners(
        torch.cat([one.vectors for one, _ in results])[back],
        torch.cat([one.momentum for one, _ in results])[back],
    )


def _train_together(
    stacked: Stacked,
    learners: Learners,
    samples: StackedSamples,
    batches: Batches,
    optimizer: OptimizerConfig,
    who: Sequence[int],
    *,
    distillation: Distillation | None,
    proximal: Proximal | None,
    frozen: Tensor | None,
    precision: Literal["full", "bfloat16"],
) -> tuple[Learners, Tensor]:
    """Those participants after their steps, and whose gradients were finite throughout.

    Args:
        who: in falling order of their steps: those still at work are then always a prefix.
    """
    steps = [len(batches.indices[n]) for n in who]
    parameters, statistics = (part.clone() for part in stacked.parts(learners.vectors[who]))
    momentum = learners.momentum[who].clone()
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
        losses = _losses(logits, labels[:active, step], weight)
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
    return Learners(torch.cat([parameters, statistics], dim=1), momentum), norms.isfinite()


def _named(participants: Sequence[int], names: Sequence[str] | None) -> list[str]:
    return [f"participant {n + 1}" if names is None else names[n] for n in participants]


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


def _losses(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Each participant's weighted cross-entropy (A,), from logits (A, b, M)."""
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
