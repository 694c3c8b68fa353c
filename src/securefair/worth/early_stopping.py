"""Standalone training that stops in time: a control of every gain.

Whoever trains alone for as long as a collaboration lasts may overfit, and a gain over that is
partly protection from overfitting, which stopping early gives for nothing. So here each
participant chooses, from its own training samples alone, after how many rounds to stop.

A stratified part of them is set aside; a first model trains on the rest, and the number of rounds
with the lowest cross-entropy on that part (the earliest of equals) is the choice. Or every sample
is set aside once, by cross-validation, and the sum over all of them decides. Cross-entropy and not
accuracy, because a few dozen samples give accuracy few values. A second model then trains on *all*
training samples for so many rounds, from the initialisation of the other algorithms, so that
nobody pays with samples for the choice. The test samples have no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from securefair.data import ParticipantData
from securefair.data.split import one_row_each, stratified_split
from securefair.errors import ConfigError
from securefair.model.seeds import derive_seed
from securefair.model.transfer.folds import stratified_folds
from securefair.records import RoundRecord
from securefair.worth.learners import LearningState, SelfTaught, TrainStates

Array = NDArray[np.float64]

VALIDATION_FRACTION = 0.2
"""Share of the training samples that the choice is made on, without folds."""


@dataclass(frozen=True, eq=False)
class EarlyStoppingState(LearningState[TrainStates]):
    """Everyone's learner as it stopped, and after how many rounds of training each did."""

    stops: Mapping[str, int]  # 0: no round at all


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """Cross-entropy alone, until validation says stop. Records show nobody asked.

    Args:
        rounds: the largest number of rounds of training to choose.
        folds: of a cross-validation instead, 2 or more; None: one part is set aside.

    Raises:
        ConfigError: a number is out of range.
    """

    rounds: int
    folds: int | None = None
    name: str = "early_stopping"

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ConfigError(
                "out of range", where="rounds", found=self.rounds, expected="1 or more"
            )
        if self.folds is not None and self.folds < 2:
            raise ConfigError(
                "out of range", where="folds", found=self.folds, expected="2 or more, or None"
            )

    def init(
        self, population: SelfTaught[TrainStates], seed: int
    ) -> EarlyStoppingState[TrainStates]:
        """Everyone has chosen when to stop, and has trained until then on all of its samples."""
        stops = self._stops(population, seed)
        state = LearningState(seed, 0, population.trained_alone(seed))
        for t in range(max(stops.values())):
            going = [name for name in population.names if t < stops[name]]
            state = LearningState(seed, t + 1, population.trained_locally(state, going))
        return EarlyStoppingState(seed, 0, state.train_states, stops)

    def round(
        self, state: EarlyStoppingState[TrainStates], population: SelfTaught[TrainStates]
    ) -> tuple[EarlyStoppingState[TrainStates], RoundRecord]:
        """The same models again: they have stopped."""
        record = population.round_record(self.name, state.round, state.train_states)
        return replace(state, round=state.round + 1), record

    def _stops(self, population: SelfTaught[TrainStates], seed: int) -> dict[str, int]:
        """Rounds after which each participant's trial models did best on what was set aside."""
        parts = [self._losses(population, seed, part) for part in range(self.folds or 1)]
        total = np.sum(parts, axis=0)
        return dict(zip(population.names, np.argmin(total, axis=0).tolist(), strict=True))

    def _losses(self, population: SelfTaught[TrainStates], seed: int, part: int) -> Array:
        """Cross-entropy on one part set aside, summed over it, by round and participant."""
        divided = [self._set_aside(own, seed, part) for own in population.participants]
        trial = population.joined_by([own for own, _ in divided])
        states = trial.trained_alone(seed)
        losses = [trial.test_losses(states)]
        for t in range(self.rounds):
            states = trial.trained_locally(LearningState(seed, t, states), trial.names)
            losses.append(trial.test_losses(states))
        summed: Array = np.array(losses) * [count for _, count in divided]
        return summed

    def _set_aside(self, own: ParticipantData, seed: int, part: int) -> tuple[ParticipantData, int]:
        """Training samples only: some to train on, some in the place of the test samples.

        The second value says how many of the latter count. Whoever has no two samples of one class
        can set no fraction aside. It judges by the samples that it trains on, which mostly means
        that it never stops.
        """
        rng = np.random.default_rng(derive_seed(seed, "validation", own.name))
        if self.folds is not None:
            held = stratified_folds(own.train, rng, self.folds) == part
            if held.all() or not held.any():
                return replace(own, test=own.train), int(held.all())
            kept, validation = (own.train.take(np.flatnonzero(rows)) for rows in (~held, held))
        elif np.bincount(own.train.labels[one_row_each(own.train)]).max() < 2:
            return replace(own, test=own.train), len(own.train)
        else:
            kept, validation = stratified_split(own.train, VALIDATION_FRACTION, rng)
        return ParticipantData(own.name, kept, validation), len(validation)
