"""Gradient-driven rewards (Xu et al. 2021), by the cosine gradient Shapley value (CGSV).

Not among the papers whose tables are reproduced on their own: CYCle compares itself with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from securefair.records import RoundRecord
from securefair_lab.algorithms.schedule import EXPONENTIAL, StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.gradient_rewards import (
    RewardState,
    alignment,
    begin,
    links_between,
    rewarded,
    smoothed,
)
from securefair_lab.papers.algorithms.updates import update_of, with_statistics

LEAST = 1e-3  # of a reputation: nobody is ever removed


@dataclass(frozen=True, kw_only=True)
class Cgsv:
    """CGSV: beta is how equal rewards are; the larger, the closer to everything for everyone.

    Args:
        gamma: norm of every update; 0.5 for MNIST, 0.15 for CIFAR-10.

    Raises:
        ConfigError: a setting out of range.
    """

    gamma: float = 0.15
    beta: float = 1.0
    local_epochs: int = 1
    schedule: StepDecay | None = EXPONENTIAL
    name: str = "cgsv"

    def __post_init__(self) -> None:
        check_settings(
            self,
            gamma=(self.gamma > 0, "above 0"),
            beta=(self.beta > 0, "above 0"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> RewardState:
        """One initialisation for all, everyone equal."""
        return begin(population, seed)

    def round(
        self, state: RewardState, population: StackedPopulation
    ) -> tuple[RewardState, RoundRecord]:
        """Train, upload, be rated; the model of before the training gets the reward."""
        stacked, start = population.stacked, state.train_states.vectors
        trained = population.train(
            state.train_states,
            epochs=self.local_epochs,
            seed=state.seed,
            clock=state.round,
            optimizer=at_round(self.schedule, population.optimizer, state.round),
        )
        update = population.sent(
            update_of(stacked, start, trained.vectors), round=state.round, seed=state.seed
        )
        update = torch.nan_to_num(self.gamma * update / update.norm(dim=1, keepdim=True))
        aggregate = (state.reputation[:, None].to(update) * update).sum(dim=0)
        phi = alignment(update, aggregate)
        reputation = smoothed(state.reputation, phi, state.present, least=LEAST)
        earned = torch.tanh(self.beta * reputation)
        before = stacked.parts(start)[0]
        parameters = rewarded(population, before, aggregate, earned / earned.max())
        after = with_statistics(stacked, parameters, trained.vectors)
        count = len(population.names)
        record = population.record(
            self.name,
            state.round,
            after,
            links=links_between(state.present),
            reputation=reputation.expand(count, count),
            alignment=phi.expand(count, count),
            numbers_sent=[stacked.trained] * count,
        )
        return RewardState(
            state.seed, state.round + 1, trained.moved(after), reputation, state.present
        ), record
