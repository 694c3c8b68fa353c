"""Standalone training that stops in time: the second control of every gain.

Whoever trains alone for as long as a collaboration lasts may overfit, and a gain over that is
partly protection from overfitting, which stopping early gives for nothing. So here each
participant chooses, from its own training samples alone, after how many rounds to stop.

A stratified part of them is set aside; a first model trains on the rest, and the number of rounds
with the lowest cross-entropy on that part (the earliest of equals) is the choice. Cross-entropy
and not accuracy, because a few dozen samples give accuracy few values. A second model then trains
on *all* training samples for so many rounds, from the initialisation of the other algorithms, so
that nobody pays with samples for the choice. The test samples have no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from securefair.algorithms.distillation import LearningState, SelfTaught, TrainStates
from securefair.algorithms.standalone import Standalone
from securefair.data.dataset import ParticipantData
from securefair.data.split import stratified_split
from securefair.errors import ConfigError
from securefair.model.seeds import derived_seed
from securefair.records import RoundRecord


@dataclass(frozen=True, eq=False)
class EarlyStoppingState(LearningState[TrainStates]):
    """Everyone's learner after so many rounds, and after how many each stops."""

    stops: Mapping[str, int]  # 0: no round at all, only the local epochs


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """Cross-entropy alone, until validation says stop. Records show nobody asked.

    Args:
        rounds: the largest number of rounds to choose; after it, nothing changes any more.
        validation_fraction: share of the training samples that the choice is made on, in (0, 1).

    Raises:
        ConfigError: a number is out of range.
    """

    rounds: int
    validation_fraction: float = 0.2
    name: str = "early_stopping"

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ConfigError(
                "out of range", where="rounds", found=self.rounds, expected="1 or more"
            )
        if not 0 < self.validation_fraction < 1:
            raise ConfigError(
                "out of range",
                where="validation_fraction",
                found=self.validation_fraction,
                expected="(0, 1)",
            )

    def init(
        self, population: SelfTaught[TrainStates], seed: int
    ) -> EarlyStoppingState[TrainStates]:
        """Everyone has chosen when to stop, and starts anew with all of its training samples."""
        train_states = population.trained_alone(seed)
        return EarlyStoppingState(seed, 0, train_states, self._stops(population, seed))

    def round(
        self, state: EarlyStoppingState[TrainStates], population: SelfTaught[TrainStates]
    ) -> tuple[EarlyStoppingState[TrainStates], RoundRecord]:
        """The local steps of one more round for everyone who has not stopped."""
        going = [name for name in population.names if state.round < state.stops[name]]
        train_states = population.trained_locally(state, going)
        record = population.round_record(self.name, state.round, train_states)
        return replace(state, round=state.round + 1, train_states=train_states), record

    def _stops(self, population: SelfTaught[TrainStates], seed: int) -> dict[str, int]:
        """Rounds after which each participant's trial model did best on what was set aside."""
        trial = population.joined_by(
            [self._set_aside(own, seed) for own in population.participants]
        )
        alone = Standalone()
        state = alone.init(trial, seed)
        losses = []
        for t in range(self.rounds + 1):
            losses.append(trial.test_losses(state.train_states))
            if t < self.rounds:
                state, _ = alone.round(state, trial)
        return dict(zip(trial.names, np.argmin(losses, axis=0).tolist(), strict=True))

    def _set_aside(self, own: ParticipantData, seed: int) -> ParticipantData:
        """Training samples only: some to train on, some in the place of the test samples.

        Whoever has no two samples of one class can set none aside. It judges by the samples that
        it trains on, which mostly means that it never stops.
        """
        if np.bincount(own.train.labels).max() < 2:
            return replace(own, test=own.train)
        rng = np.random.default_rng(derived_seed(seed, "validation", own.name))
        kept, validation = stratified_split(own.train, self.validation_fraction, rng)
        return ParticipantData(own.name, kept, validation)
