"""Federated averaging (McMahan et al. 2017): one model for all, averaged by training samples.

The baseline of every paper here. All participants take part in every round; a server averages.
"""

from __future__ import annotations

from dataclasses import dataclass

from securefair.model import Proximal, TrainStates
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import average, shares_of, through_server
from securefair_lab.algorithms.schedule import Schedule, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation

FederatedState = LearningState[TrainStates]


@dataclass(frozen=True, kw_only=True)
class FedAvg:
    """FedAvg with full participation.

    Args:
        local_epochs: of each participant in a round.
        schedule: of the learning rate.
        keep_momentum: participants go on with the momentum of the round before, which belongs to
            the model that they had trained then; by default they begin without any.

    Raises:
        ConfigError: a setting out of range.
    """

    local_epochs: int = 1
    schedule: Schedule | None = None
    keep_momentum: bool = False
    name: str = "fedavg"

    def __post_init__(self) -> None:
        check_settings(self, local_epochs=(self.local_epochs >= 1, "1 or more"))

    @property
    def pull(self) -> float:
        """How strongly local training is held near the common model: not at all."""
        return 0.0

    def init(self, population: StackedPopulation, seed: int) -> FederatedState:
        """One initialisation for all."""
        return LearningState(seed, 0, population.start(seed, common=True))

    def round(
        self, state: FederatedState, population: StackedPopulation
    ) -> tuple[FederatedState, RoundRecord]:
        """Everyone trains the common model; the server averages what it gets."""
        after = self.updated(state, population)
        count = len(population.names)
        record = population.record(
            self.name,
            state.round,
            after.vectors,
            links=through_server(count),
            numbers_sent=[population.stacked.length] * count,
        )
        return LearningState(state.seed, state.round + 1, after), record

    def updated(self, state: FederatedState, population: StackedPopulation) -> TrainStates:
        """The common model after a round, a row for each, for methods that add to FedAvg."""
        train_states = (
            state.train_states if self.keep_momentum else state.train_states.momentum_reset()
        )
        common = train_states.vectors
        anchor = population.stacked.parts(common)[0]
        trained = population.train(
            train_states,
            epochs=self.local_epochs,
            seed=state.seed,
            clock=state.round,
            optimizer=at_round(self.schedule, population.optimizer, state.round),
            proximal=Proximal(anchor, self.pull) if self.pull else None,
        )
        received = population.sent(trained.vectors, state.round, state.seed, unchanged=common)
        # w <- sum_k (n_k / n) w_k
        mean = average(received, shares_of(population.sizes))
        return trained.moved(mean.repeat(len(received), 1))
