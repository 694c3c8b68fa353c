"""Distributed selective SGD (Shokri, Shmatikov 2015), round-robin, as CFFL compares itself with it.

Participants take turns: each downloads the server's newest parameters, trains, and uploads the
largest coordinates of what changed. Everyone gets everything, whatever it contributed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from securefair.model import TrainStates, derive_seed
from securefair.records import RoundRecord
from securefair_lab.algorithms.schedule import EXPONENTIAL, StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.coordinates import largest
from securefair_lab.papers.algorithms.updates import update_of, with_statistics

PRETRAINING_CLOCK = -1  # rounds count from 0


@dataclass(frozen=True, eq=False)
class DssgdState:
    """Everything that a next round depends on."""

    seed: int
    round: int
    train_states: TrainStates
    server: Tensor  # (P,)


@dataclass(frozen=True, kw_only=True)
class Dssgd:
    """Round-robin DSSGD; the order of turns is drawn anew each round.

    Raises:
        ConfigError: a setting out of range.
    """

    upload_rate: float = 0.1  # theta_u
    clip: float = 0.01  # of every coordinate of an update
    local_epochs: int = 2
    schedule: StepDecay | None = EXPONENTIAL
    pretraining_epochs: int = 0
    name: str = "dssgd"

    def __post_init__(self) -> None:
        check_settings(
            self,
            upload_rate=(0 < self.upload_rate <= 1, "in (0, 1]"),
            clip=(self.clip > 0, "above 0"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            pretraining_epochs=(self.pretraining_epochs >= 0, "0 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> DssgdState:
        """One initialisation for all; after pretraining, the server begins with the mean model."""
        train_states = population.start(seed, common=True)
        if self.pretraining_epochs:
            train_states = population.train(
                train_states, epochs=self.pretraining_epochs, seed=seed, clock=PRETRAINING_CLOCK
            )
        trained = population.stacked.parts(train_states.vectors)[0]
        return DssgdState(seed, 0, train_states, trained.mean(dim=0))

    def round(
        self, state: DssgdState, population: StackedPopulation
    ) -> tuple[DssgdState, RoundRecord]:
        """Everyone's turn once; models are those that participants hold after their turns."""
        count, stacked = len(population.names), population.stacked
        uploaded = math.ceil(self.upload_rate * stacked.trained)
        optimizer = at_round(self.schedule, population.optimizer, state.round)
        server, vectors = state.server.clone(), state.train_states.vectors.clone()
        momentum = state.train_states.momentum.clone()
        turns = np.random.default_rng(derive_seed(state.seed, f"turns {state.round}", ""))
        for n in turns.permutation(count).tolist():
            start = with_statistics(stacked, server[None], vectors[n : n + 1])
            own = population.train(
                TrainStates(start, momentum[n : n + 1]),
                epochs=self.local_epochs,
                seed=state.seed,
                clock=state.round,
                optimizer=optimizer,
                only=[n],
            )
            update = update_of(stacked, start, own.vectors).clamp(-self.clip, self.clip)
            updates = torch.zeros_like(stacked.parts(vectors)[0])
            updates[n] = largest(update[0], uploaded)
            vectors[n] = with_statistics(stacked, server + update, own.vectors)[0]
            momentum[n] = own.momentum[0]
            server += population.sent(updates, round=state.round, seed=state.seed)[n]
        record = population.record(
            self.name,
            state.round,
            vectors,
            links=~torch.eye(count, dtype=torch.bool),
            numbers_sent=[uploaded] * count,
        )
        return DssgdState(
            state.seed, state.round + 1, TrainStates(vectors, momentum), server
        ), record
