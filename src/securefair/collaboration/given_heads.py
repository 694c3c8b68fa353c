"""Controls that start from heads which a caller gives, as torch trains them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

from securefair.model.heads import Head
from securefair.model.training import TrainState, about, train_epochs
from securefair.worth import HeadLearners


@dataclass(frozen=True, kw_only=True)
class GivenHeads(HeadLearners):
    """Participants whose heads are given, not drawn from a seed.

    Attributes:
        heads: by participant, before any training; they stay as they are.
    """

    heads: Mapping[str, Head]

    def trained_alone(self, seed: int) -> dict[str, TrainState]:
        """Everyone's state before round 0.

        Raises:
            ModelError: a training diverged; names the participant.
        """
        del seed  # full batches: nothing is drawn
        train_states = {}
        for own in self.participants:
            train_state = TrainState.start(copy.deepcopy(self.heads[own.name]), self.optimizer)
            with about(own.name):
                train_epochs(train_state, own.train, self.local_epochs)
            train_states[own.name] = train_state
        return train_states
