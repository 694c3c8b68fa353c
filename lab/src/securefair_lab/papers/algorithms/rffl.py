"""Robust and Fair Federated Learning (Xu, Lyu 2020, "A Reputation Mechanism Is All You Need").

Not among the papers whose tables are reproduced on their own: CYCle compares itself with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

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


@dataclass(frozen=True, kw_only=True)
class Rffl:
    """RFFL: from round `warm_up` on, who is rated below 1 / (3 |R|) is removed.

    Args:
        gamma: largest norm of an update.
        weights: of updates in the aggregate: by training samples, or by reputation.
        keep_local: a participant adds its reward to the model it trained; by default the model of
            before the training is restored first, so that the reward is all that it gets.

    Raises:
        ConfigError: a setting out of range.
    """

    gamma: float = 0.5
    local_epochs: int = 1
    schedule: StepDecay | None = EXPONENTIAL
    warm_up: int = 10
    weights: Literal["size", "reputation"] = "size"
    keep_local: bool = False
    name: str = "rffl"

    def __post_init__(self) -> None:
        check_settings(
            self,
            gamma=(self.gamma > 0, "above 0"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            warm_up=(self.warm_up >= 0, "0 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> RewardState:
        """One initialisation for all, everyone present and equal."""
        return begin(population, seed)

    def round(
        self, state: RewardState, population: StackedPopulation
    ) -> tuple[RewardState, RoundRecord]:
        """Train, upload, be rated, and be rewarded; the removed train alone."""
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
        update = update * (self.gamma / update.norm(dim=1, keepdim=True)).clamp(max=1.0)
        update = torch.nan_to_num(update)  # of length 0: 0 * inf
        weights = self._weights(state, population)
        aggregate = (weights[:, None].to(update) * update).sum(dim=0)
        phi = alignment(update, aggregate)
        reputation = smoothed(state.reputation, phi, state.present, least=0.0)
        present = state.present
        if state.round >= self.warm_up:
            present = present & (reputation >= 1 / (3 * int(present.sum())))
            reputation = torch.where(present, reputation, 0)
            reputation = reputation / reputation.sum()
        before, own = stacked.parts(start)[0], stacked.parts(trained.vectors)[0]
        restored = own if self.keep_local else before
        base = torch.where(present[:, None].to(own.device), restored, own)
        parameters = rewarded(population, base, aggregate, reputation / reputation.max())
        after = with_statistics(stacked, parameters, trained.vectors)
        count = len(population.names)
        record = population.record(
            self.name,
            state.round,
            after,
            links=links_between(present),
            reputation=reputation.expand(count, count),
            alignment=phi.expand(count, count),
            numbers_sent=[stacked.trained if p else 0 for p in state.present.tolist()],
            present=present.tolist(),
        )
        return RewardState(
            state.seed, state.round + 1, trained.moved(after), reputation, present
        ), record

    def _weights(self, state: RewardState, population: StackedPopulation) -> Tensor:
        amount = population.sizes.double() if self.weights == "size" else state.reputation
        amount = torch.where(state.present, amount, 0)
        return amount / amount.sum()
