"""Standalone training: the same steps on one's own data, without anyone else.

The control of every gain: from the same initialisation and after the same local epochs it takes as
many optimiser steps a round as the collaborative algorithms do, so that a gain is owed to the peers
and not to longer training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from securefair.algorithms.distillation import record_round, trained_alone
from securefair.algorithms.population import Population
from securefair.model.training import Learner, train_epochs
from securefair.records import RoundRecord


@dataclass(frozen=True, eq=False)
class StandaloneState:
    """Everyone's learner after so many rounds."""

    round: int
    learners: Mapping[str, Learner]


@dataclass(frozen=True, kw_only=True)
class Standalone:
    """Cross-entropy alone. Records show nobody asked and nothing answered."""

    name: str = "standalone"

    def init(self, population: Population, seed: int) -> StandaloneState:
        """Everyone trains alone, exactly as before the collaborative algorithms."""
        return StandaloneState(0, trained_alone(population, seed))

    def round(
        self, state: StandaloneState, population: Population
    ) -> tuple[StandaloneState, RoundRecord]:
        """`local_steps` more full-batch steps for everyone."""
        learners = {name: learner.copy() for name, learner in state.learners.items()}
        for participant in population.participants:
            train_epochs(learners[participant.name], participant.train, population.local_steps)
        record = record_round(self.name, state.round, population, learners)
        return StandaloneState(state.round + 1, learners), record
