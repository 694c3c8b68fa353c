"""Vanilla private decentralised learning: CaPriDe's distillation among all (CYCle, section 2).

The baseline that CYCle is measured against: everyone asks everyone and answers everyone in every
round, and all teachers weigh alike, lambda_nk = 1 / (N - 1). It is CYCle with r = 1 throughout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from securefair.algorithms.distillation import (
    DistillationState,
    answers,
    distillation_losses,
    record_round,
    start,
    updated_learners,
)
from securefair.algorithms.population import Population
from securefair.records import RoundRecord


@dataclass(frozen=True, kw_only=True)
class Vpdl:
    """Distillation without opinions. Records show reputation 1, no alignment, no forced round."""

    name: str = "vpdl"

    def init(self, population: Population, seed: int) -> DistillationState:
        """Everyone trains alone, exactly as before CYCle."""
        everyone = {n: {k: 1.0 for k in population.names if k != n} for n in population.names}
        return replace(start(population, seed), reputation=everyone)

    def round(
        self, state: DistillationState, population: Population
    ) -> tuple[DistillationState, RoundRecord]:
        """One round, all participants at once."""
        peers = {n: list(state.reputation[n]) for n in population.names}
        received = answers(state, population, peers)
        learners = updated_learners(state, population, received, state.reputation)
        record = record_round(
            self.name,
            state.round,
            population,
            learners,
            asked=peers,
            answered=peers,
            reputation=state.reputation,
            distillation_loss=distillation_losses(state, population, received),
        )
        return replace(state, round=state.round + 1, learners=learners), record
