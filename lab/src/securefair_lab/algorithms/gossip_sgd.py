"""Gossip-SGD: everyone averages with its neighbours on a fixed graph (CYCle, App. C.1).

    x^{t+1} = W (x^t - eta g^t)                                                       (Eq. 50)

The baseline of CYCle on each graph. "x - eta g" are the local epochs of a round: one step of full
batches if `StackedPopulation.batch_size` is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from torch import Tensor

from securefair.errors import ConfigError
from securefair.model import TrainStates, derive_seed
from securefair.records import RoundRecord
from securefair.worth import TOPOLOGIES, WEIGHTINGS, Graph, LearningState, Matrix, graph_of_edges
from securefair_lab.algorithms.averaging import mixed
from securefair_lab.algorithms.schedule import StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation

BEFORE_ROUNDS = -1  # the clock of pretraining; rounds count from 0

Edges = tuple[tuple[str, str], ...]
GossipState = LearningState[TrainStates]


@dataclass(frozen=True, kw_only=True)
class GossipSgd:
    """Gossip-SGD on a graph by name, or by its edges.

    Args:
        topology: "complete", "ring", "exponential", the undirected edges between participants'
            names, or "random": in every round each receives from `degree` others drawn anew (the
            decentralised SGD that DPFL compares itself with).
        weighting: W_ij = 1 / (|N(i)| + 1) if "uniform" (Eq. 51), or "metropolis".
        degree: of the random graph only; at most all others are drawn.
        local_epochs: of each participant in a round.
        pretraining_epochs: everyone alone, before round 0.
        common_start: one initialisation for all; averages of models that started elsewhere are
            rarely of use.
        scored: whether participants are judged by the models that they end a round with
            ("averaged"), or by those that they had adapted before ("trained"), as in `Dpfl`.
        schedule: of the learning rate.

    Raises:
        ConfigError: an unknown topology or weighting, or a setting out of range.
    """

    topology: Literal["complete", "ring", "exponential", "random"] | Edges = "complete"
    weighting: Literal["uniform", "metropolis"] = "uniform"
    degree: int | None = None
    local_epochs: int = 1
    pretraining_epochs: int = 0
    common_start: bool = True
    scored: Literal["averaged", "trained"] = "averaged"
    schedule: StepDecay | None = None
    name: str = "gossip_sgd"

    def __post_init__(self) -> None:
        known = (*TOPOLOGIES, "random")
        if isinstance(self.topology, str) and self.topology not in known:
            raise ConfigError(
                "unknown graph",
                where="topology",
                found=self.topology,
                expected=", ".join((*known, "or edges")),
            )
        if self.weighting not in WEIGHTINGS:
            raise ConfigError(
                "unknown weights",
                where="weighting",
                found=self.weighting,
                expected=", ".join(WEIGHTINGS),
            )
        if (self.topology == "random") != (self.degree is not None):
            raise ConfigError(
                "a random graph has a degree, and no other has", where="degree", found=self.degree
            )
        check_settings(
            self,
            degree=(self.degree is None or self.degree >= 1, "1 or more"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            pretraining_epochs=(self.pretraining_epochs >= 0, "0 or more"),
            scored=(self.scored in ("averaged", "trained"), "averaged or trained"),
        )

    def init(self, population: StackedPopulation, seed: int) -> GossipState:
        """Everyone before round 0."""
        train_states = population.start(seed, common=self.common_start)
        optimizer = at_round(self.schedule, population.optimizer, 0)
        alone = population.train(
            train_states,
            epochs=self.pretraining_epochs,
            seed=seed,
            clock=BEFORE_ROUNDS,
            optimizer=optimizer,
        )
        return LearningState(seed, 0, alone)

    def round(
        self, state: GossipState, population: StackedPopulation
    ) -> tuple[GossipState, RoundRecord]:
        """Everyone trains, sends its model to its neighbours, and averages what it got."""
        weights = self.weights(population, state.seed, state.round)
        trained = adapted(population, state, epochs=self.local_epochs, schedule=self.schedule)
        after = combined(population, state, trained, weights)
        links = links_of(weights)
        record = population.record(
            self.name,
            state.round,
            (trained if self.scored == "trained" else after).vectors,
            links=links,
            numbers_sent=models_sent(population, links),
        )
        return LearningState(state.seed, state.round + 1, after), record

    def weights(self, population: StackedPopulation, seed: int, round: int) -> Matrix:
        """W of one round, (N, N)."""
        if self.topology == "random":
            return random_weights(population.names, cast(int, self.degree), seed, round)
        return WEIGHTINGS[self.weighting](graph_of(self.topology, population.names))


def graph_of(topology: str | Edges, names: tuple[str, ...]) -> Graph:
    """The graph of a name or of edges.

    Raises:
        ConfigError: an edge names somebody who does not take part.
    """
    if isinstance(topology, str):
        return TOPOLOGIES[topology](len(names))
    return graph_of_edges(names, topology)


def random_weights(names: tuple[str, ...], degree: int, seed: int, round: int) -> Matrix:
    """Each receives from `degree` others, a row of uniform weights; links have one direction."""
    weights = np.eye(len(names))
    for i, name in enumerate(names):
        rng = np.random.default_rng(derive_seed(seed, f"neighbours {round}", name))
        others = np.delete(np.arange(len(names)), i)
        weights[i, rng.permutation(others)[:degree]] = 1.0
    normalised: Matrix = weights / weights.sum(axis=1, keepdims=True)
    return normalised


def gossip(
    population: StackedPopulation,
    state: LearningState[TrainStates],
    weights: Matrix,
    *,
    epochs: int,
    schedule: StepDecay | None,
) -> TrainStates:
    """Adapt, then combine: x <- W (x - eta g); momentum stays with whom it belongs to."""
    trained = adapted(population, state, epochs=epochs, schedule=schedule)
    return combined(population, state, trained, weights)


def adapted(
    population: StackedPopulation,
    state: LearningState[TrainStates],
    *,
    epochs: int,
    schedule: StepDecay | None,
) -> TrainStates:
    """x - eta g: everyone after the local epochs of a round."""
    return population.train(
        state.train_states,
        epochs=epochs,
        seed=state.seed,
        clock=state.round,
        optimizer=at_round(schedule, population.optimizer, state.round),
    )


def combined(
    population: StackedPopulation,
    state: LearningState[TrainStates],
    trained: TrainStates,
    weights: Matrix,
) -> TrainStates:
    """W x, where free riders send what they had at the beginning of the round."""
    received = population.sent(
        trained.vectors, state.round, state.seed, unchanged=state.train_states.vectors
    )
    return trained.moved(mixed(torch.from_numpy(weights), received, trained.vectors))


def links_of(weights: Matrix) -> Tensor:
    """Whether i receives from j, (N, N) bool: where W has a weight, off the diagonal."""
    links = torch.from_numpy(weights != 0)
    return links & ~torch.eye(len(links), dtype=torch.bool)


def models_sent(population: StackedPopulation, links: Tensor) -> list[int]:
    """Numbers each participant sent: its whole model to each that received from it."""
    return [population.stacked.length * int(count) for count in links.sum(dim=0).tolist()]
