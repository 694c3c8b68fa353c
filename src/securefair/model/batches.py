"""What each step of a training sees: the samples of all participants, and batches drawn of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError
from securefair.model.stacked import Stacked


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
                where=", ".join(participants_named(single, names)),
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


def participants_named(participants: Sequence[int], names: Sequence[str] | None) -> list[str]:
    """What errors call them; without names participant 1, 2, ..."""
    return [f"participant {n + 1}" if names is None else names[n] for n in participants]
