"""Vanilla private decentralised learning: CaPriDe's distillation among all (CYCle, section 2).

The baseline that CYCle is measured against: everyone asks everyone and answers everyone in every
round, and all teachers weigh alike, lambda_nk = 1 / (N - 1). It is CYCle with r = 1 throughout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from securefair.records import RoundRecord
from securefair.worth import TrainStates, distillation_weights
from securefair_lab.algorithms.distillation import Answers, DistillationState, Distilling


@dataclass(frozen=True, kw_only=True)
class Vpdl:
    """Distillation without reputations. Records show reputation 1 and no forced round."""

    name: str = "vpdl"

    def init(
        self, population: Distilling[TrainStates, Answers], seed: int
    ) -> DistillationState[TrainStates]:
        """Everyone trains alone, exactly as before CYCle."""
        everyone = {n: {k: 1.0 for k in population.names if k != n} for n in population.names}
        return DistillationState(seed, 0, population.trained_alone(seed), everyone)

    def round(
        self, state: DistillationState[TrainStates], population: Distilling[TrainStates, Answers]
    ) -> tuple[DistillationState[TrainStates], RoundRecord]:
        """One round, all participants at once."""
        count = len(population.names)
        peers = {n: list(state.reputation[n]) for n in population.names}
        weights = {n: distillation_weights(state.reputation[n], count) for n in population.names}
        received = population.answers(state, peers)
        train_states = population.updated(state, received, weights)
        record = population.round_record(
            self.name,
            state.round,
            train_states,
            asked=peers,
            answered=peers,
            reputation=state.reputation,
            distillation_loss=population.distillation_losses(state, received),
        )
        return replace(state, round=state.round + 1, train_states=train_states), record
