"""CaPriDe's distillation in the order of its published code: one participant after the other.

There every mini-batch is put to all teachers anew. While a student goes through its samples nobody
else learns, so what it hears is what the teachers' models are as its turn comes: those before it
have learned in this round already. Without layers that look at the batch, and without augmentation,
this is all that answers for each mini-batch change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from securefair.model.stacked_training import Distillation, TrainStates
from securefair.records import RoundRecord
from securefair_lab.algorithms import NetworkPopulation, Vpdl
from securefair_lab.algorithms.distillation import DistillationState
from securefair_lab.algorithms.schedule import at_round


@dataclass(frozen=True, kw_only=True)
class CaprideInTurn:
    """VPDL whose students learn in turn, from teachers as they are then."""

    name: str = "capride_in_turn"

    def init(self, population: NetworkPopulation, seed: int) -> DistillationState[TrainStates]:
        """Everyone trains alone, exactly as before VPDL."""
        return Vpdl().init(population, seed)

    def round(
        self, state: DistillationState[TrainStates], population: NetworkPopulation
    ) -> tuple[DistillationState[TrainStates], RoundRecord]:
        """One turn of everyone, in the order of participants."""
        peers = {n: list(state.reputation[n]) for n in population.names}
        now = state
        for n in range(len(population.names)):
            trained = self._taught(now, population, n)
            now = replace(now, train_states=now.train_states.replaced([n], trained))
        record = population.round_record(
            self.name,
            state.round,
            now.train_states,
            asked=peers,
            answered=peers,
            reputation=state.reputation,
        )
        return replace(now, round=state.round + 1), record

    def _taught(
        self, state: DistillationState[TrainStates], population: NetworkPopulation, n: int
    ) -> TrainStates:
        """Participant n after its local epochs; all teachers weigh alike."""
        name = population.names[n]
        asking = {k: list(state.reputation[k]) if k == name else [] for k in population.names}
        received = population.answers(state, asking).logits[n]
        samples = population.samples("train")
        logits = received.new_zeros((len(samples.features), received.shape[2]))
        logits[samples.rows(n)] = received.mean(dim=0)
        return population.train(
            state.train_states.of([n]),
            epochs=population.local_epochs,
            seed=state.seed,
            clock=state.round,
            optimizer=at_round(population.schedule, population.optimizer, state.round),
            distillation=Distillation(
                logits,
                torch.tensor([population.lambda_0], dtype=torch.float64, device=logits.device),
                population.temperature,
            ),
            only=[n],
        )
