"""A common model that everyone then adapts to its own samples: FedAvg + FT, FedProx + FT.

The strongest simple baseline of DPFL's comparison (App. H.6): of the rounds of federated training
each participant keeps the common model that did best on its validation samples, and trains that
alone for some epochs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from msgspec import structs
from torch import Tensor

from securefair.model import TrainStates
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.fedavg import FedAvg, FederatedState


@dataclass(frozen=True, eq=False)
class FineTuningState(LearningState[TrainStates]):
    """The federated state until tuning begins, and the best models until then."""

    best: Tensor  # (N, V)
    best_accuracy: Tensor  # (N,), on validation samples; -1 before the first round


@dataclass(frozen=True, kw_only=True)
class FineTuned:
    """Rounds of federated training, one round of tuning, and nothing more afterwards.

    Args:
        of: the federated algorithm.
        rounds: of it; the tuning is the round after them.
        epochs: of tuning (DPFL: twice its local epochs).

    Raises:
        ConfigError: a setting out of range.
    """

    of: FedAvg = field(default_factory=FedAvg)
    rounds: int
    epochs: int = 10

    def __post_init__(self) -> None:
        check_settings(
            self,
            rounds=(self.rounds >= 1, "1 or more"),
            epochs=(self.epochs >= 1, "1 or more"),
        )

    @property
    def name(self) -> str:
        """That of the federated algorithm, and what is added."""
        return f"{self.of.name}_fine_tuned"

    def init(self, population: StackedPopulation, seed: int) -> FineTuningState:
        """One initialisation for all."""
        begun = self.of.init(population, seed)
        none = torch.full((len(population.names),), -1.0, dtype=torch.float64)
        return FineTuningState(seed, 0, begun.train_states, begun.train_states.vectors, none)

    def round(
        self, state: FineTuningState, population: StackedPopulation
    ) -> tuple[FineTuningState, RoundRecord]:
        """A federated round; the tuning; or a record of what was reached.

        Raises:
            DataError: a participant has no validation samples.
        """
        if state.round < self.rounds:
            return self._federated(state, population)
        train_states = state.train_states
        if state.round == self.rounds:
            train_states = population.train(
                TrainStates(state.best, torch.zeros_like(train_states.momentum)),
                epochs=self.epochs,
                seed=state.seed,
                clock=state.round,
            )
        record = population.record(self.name, state.round, train_states.vectors)
        return replace(state, round=state.round + 1, train_states=train_states), record

    def _federated(
        self, state: FineTuningState, population: StackedPopulation
    ) -> tuple[FineTuningState, RoundRecord]:
        before: FederatedState = LearningState(state.seed, state.round, state.train_states)
        after, record = self.of.round(before, population)
        vectors = after.train_states.vectors
        accuracy = population.scores(vectors, "validation").accuracy.to(state.best_accuracy)
        better = accuracy > state.best_accuracy
        return FineTuningState(
            state.seed,
            after.round,
            after.train_states,
            torch.where(better[:, None].to(vectors.device), vectors, state.best),
            torch.where(better, accuracy, state.best_accuracy),
        ), structs.replace(record, algorithm=self.name)
