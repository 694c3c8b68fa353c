"""What participants that distil heads reach without the others."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.algorithms.population import Population
from securefair.collaboration.training import optimizer_of
from securefair.config import RunConfig
from securefair.data import ParticipantData
from securefair.model.heads import Head
from securefair.model.training import TrainState, about, train_epochs


@dataclass(frozen=True, kw_only=True)
class GivenHeads(Population):
    """A population whose heads are given, not drawn from a seed.

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


def population_of(
    config: RunConfig, data: Sequence[ParticipantData], models: Mapping[str, Head] | None
) -> Population:
    """Everyone, with the models of the configuration or with given ones."""
    training, model = config.training, config.model
    population = Population(
        participants=tuple(data),
        head=model.kind,
        hidden=model.hidden,
        network=model.network,
        range_penalty=model.range_penalty,
        optimizer=optimizer_of(config),
        local_epochs=training.local_epochs,
        local_steps=training.local_steps,
    )
    if models is None:
        return population
    return GivenHeads(**vars(population), heads=models)
