"""Ditto (Li, Hu, Beirami, Smith, ICML 2021): a personal model pulled towards the common one.

Algorithm 1: beside the common model w of any federated algorithm, participant k trains

    v_k  <-  v_k - eta (grad F_k(v_k) + lambda (v_k - w^t))

from its own last v_k, where w^t is the common model as it was when the round began.

Assumes networks of one architecture, a server that averages honestly, and personal training that
costs as much as the federated one. Disclosure: a participant shows the server a model trained on
its data in every round, as in FedAvg; the personal model never leaves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from securefair.model import Proximal, TrainStates
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import through_server
from securefair_lab.algorithms.schedule import at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.fedavg import FedAvg


@dataclass(frozen=True, eq=False)
class DittoState(LearningState[TrainStates]):
    """Everything that a next round depends on; `learners` are the personal models."""

    common: TrainStates


@dataclass(frozen=True, kw_only=True)
class Ditto:
    """Ditto with full participation. Records score the personal models.

    The personal models keep their momentum from round to round, so that lambda = 0 is training
    alone. Both models see a participant's samples in the same order.

    Args:
        of: the federated algorithm that trains the common model.
        epochs: of personal training in a round.
        pull: lambda; 0 is training alone (DPFL's comparison: 0.75). Steps diverge where the
            learning rate times lambda exceeds 2 (1 + momentum), and before it by what the loss
            curves.

    Raises:
        ConfigError: a setting out of range.
    """

    of: FedAvg = field(default_factory=FedAvg)
    epochs: int = 1
    pull: float = 0.75
    name: str = "ditto"

    def __post_init__(self) -> None:
        check_settings(
            self,
            epochs=(self.epochs >= 1, "1 or more"),
            pull=(0 <= self.pull < math.inf, "0 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> DittoState:
        """One initialisation for all, of both models."""
        begun = self.of.init(population, seed).train_states
        return DittoState(seed, 0, begun, begun)

    def round(
        self, state: DittoState, population: StackedPopulation
    ) -> tuple[DittoState, RoundRecord]:
        """A federated round, and personal training towards the common model of before."""
        t, seed = state.round, state.seed
        common = self.of.updated(LearningState(seed, t, state.common), population)
        anchor = population.stacked.parts(state.common.vectors)[0]
        personal = population.train(
            state.train_states,
            epochs=self.epochs,
            seed=seed,
            clock=t,
            optimizer=at_round(self.of.schedule, population.optimizer, t),
            proximal=Proximal(anchor, self.pull) if self.pull else None,
        )
        count = len(population.names)
        record = population.record(
            self.name,
            t,
            personal.vectors,
            links=through_server(count),
            numbers_sent=[population.stacked.length] * count,
        )
        return DittoState(seed, t + 1, personal, common), record
