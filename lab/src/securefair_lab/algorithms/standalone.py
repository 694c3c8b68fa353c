"""Training alone for as long: the same steps on one's own data, without anyone else.

The control of the papers: from the same initialisation and after the same local epochs it takes as
many optimiser steps a round as the collaborative algorithms do, so that a gain is owed to the peers
and not to longer training.
"""

from __future__ import annotations

from dataclasses import dataclass

from securefair.records import RoundRecord
from securefair.worth import LearningState, SelfTaught, TrainStates


@dataclass(frozen=True, kw_only=True)
class Standalone:
    """Cross-entropy alone. Records show nobody asked and nothing answered."""

    name: str = "standalone_epochs"

    def init(self, population: SelfTaught[TrainStates], seed: int) -> LearningState[TrainStates]:
        """Everyone trains alone, exactly as before the collaborative algorithms."""
        return LearningState(seed, 0, population.trained_alone(seed))

    def round(
        self, state: LearningState[TrainStates], population: SelfTaught[TrainStates]
    ) -> tuple[LearningState[TrainStates], RoundRecord]:
        """The local steps of one more round for everyone."""
        train_states = population.trained_locally(state, population.names)
        record = population.round_record(self.name, state.round, train_states)
        return LearningState(state.seed, state.round + 1, train_states), record
