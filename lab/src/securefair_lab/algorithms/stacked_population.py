"""Who takes part where whole networks are trained in the clear, and everything they can compute.

The algorithms of the papers differ in who sends what to whom and how it is combined; training,
scoring (`scored`) and predicting are the same for all of them, for all participants at once.
Models are rows of numbers (`model.stacked`), so what an algorithm does with them is a formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from securefair.errors import ConfigError
from securefair.model import (
    Batches,
    Distillation,
    OptimizerConfig,
    Proximal,
    TrainStates,
    all_logits,
    derive_seed,
    draw_batches,
    train,
)
from securefair.model.stacked_training import gradients
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.algorithms.scored import ScoredParticipants

Precision = Literal["full", "bfloat16"]


@dataclass(frozen=True, kw_only=True, eq=False)
class StackedPopulation(ScoredParticipants):
    """Participants with networks of one architecture, how these train, and what they send.

    Raises:
        ConfigError: fewer than two participants, two of one name, one whose samples or classes
            differ from the others', an unknown network, or a setting out of range.
        DataError: a participant has no samples.
    """

    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    batch_size: int | None = 128  # None: full batches
    precision: Precision = "full"
    free_riders: Mapping[str, FreeRide] = field(default_factory=dict)  # by participant's name

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise ConfigError(
                "out of range",
                where="batch_size",
                found=self.batch_size,
                expected="1 or more, or None",
            )
        super().__post_init__()
        strangers = sorted(self.free_riders.keys() - set(self.names))
        if strangers:
            raise ConfigError(
                "no such participant",
                where="free_riders",
                found=", ".join(strangers),
                expected=", ".join(self.names),
            )

    def start(self, seed: int, *, common: bool) -> TrainStates:
        """Fresh networks: one initialisation for all, or one for each."""
        seeds = [derive_seed(seed, "network", "" if common else name) for name in self.names]
        return TrainStates.start(self.stacked, seeds)

    def train(
        self,
        train_states: TrainStates,
        *,
        epochs: int,
        seed: int,
        clock: int,
        distillation: Distillation | None = None,
        proximal: Proximal | None = None,
        frozen: Tensor | None = None,
        optimizer: OptimizerConfig | None = None,
        only: Sequence[int] | None = None,
        within: Sequence[NDArray[np.int64]] | None = None,
    ) -> TrainStates:
        """Local epochs of every participant on its own training samples.

        Args:
            train_states: one for each participant, or for each of `only`.
            epochs: how many; 0 changes nothing.
            seed: of the run.
            clock: a number that no other call of the run has, such as the round: it decides the
                order of samples together with the seed and the participant's name.
            optimizer: another than the population's, for a schedule.
            only: the participants that train, whom the rows of `train_states` belong to; None: all.
            within: which of its samples each participant trains on; None: all.

        Raises:
            ModelError: a participant's training diverged.
        """
        if epochs == 0:
            return train_states
        samples = self.samples("train")
        batches = draw_batches(
            samples,
            [derive_seed(seed, f"batches {clock}", name) for name in self.names],
            epochs=epochs,
            size=self.batch_size,
            within=within,
        )
        if only is not None:
            batches = Batches(
                tuple(batches.indices[n] for n in only), tuple(batches.weights[n] for n in only)
            )
        return train(
            self.stacked,
            train_states,
            samples,
            batches,
            optimizer or self.optimizer,
            distillation=distillation,
            proximal=proximal,
            frozen=frozen,
            precision=self.precision,
            names=self.names if only is None else [self.names[n] for n in only],
        )

    def sent(
        self,
        values: Tensor,
        round: int,
        seed: int,
        *,
        unchanged: Tensor | None = None,
        only: Sequence[int] | None = None,
        part: Tensor | None = None,
    ) -> Tensor:
        """What reaches others when participants send these values: free riders send their own.

        The only place where a free rider differs: every algorithm passes what leaves participants
        (models, updates, gradients, logits) through here before anybody uses it. Models, and parts
        of them, go with the running statistics that the participant received: a negative variance
        would be noticed at once.

        Args:
            values: (N, ...), a row for each participant; left as it is.
            round: of the run; noise depends on it, on the seed and the participant's name.
            seed: of the run.
            unchanged: (N, ...), what participants would send that did not train, such as the models
                they received; None: zeros, which is what an update then is.
            only: the participants that rows belong to; None: all.
            part: (V,) bool, which of a model's numbers the values are, where it is not sent whole.
        """
        if not self.free_riders:
            return values
        result, measured = values.clone(), self._statistics_in(values, part)
        for row, n in enumerate(range(len(self.names)) if only is None else only):
            name = self.names[n]
            if name in self.free_riders:
                idle = torch.zeros_like(values[row]) if unchanged is None else unchanged[row]
                draw = derive_seed(seed, f"free ride {round}", name)
                result[row] = self.free_riders[name].instead(idle, draw)
                if measured is not None:
                    result[row] = torch.where(measured, idle, result[row])
        return result

    def _statistics_in(self, values: Tensor, part: Tensor | None) -> Tensor | None:
        """Which numbers of rows that are models, or this part of them, no optimiser touches."""
        if part is None and values.shape[1:] != (self.stacked.length,):
            return None
        measured = torch.arange(self.stacked.length, device=values.device) >= self.stacked.trained
        return measured if part is None else measured[part]

    def gradients(self, train_states: TrainStates, *, temperature: float = 1.0) -> Tensor:
        """Everyone's gradient (N, P) of cross-entropy over its training samples.

        In evaluation mode, of logits divided by the temperature.
        """
        return gradients(
            self.stacked, train_states.vectors, self.samples("train"), temperature=temperature
        )

    def teacher_logits(self, vectors: Tensor) -> Tensor:
        """Logits (K, B_1 + ... + B_N, M) of K networks on everyone's training samples."""
        return all_logits(self.stacked, vectors, self.samples("train").features)
