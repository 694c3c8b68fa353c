"""CYCle on Gossip-SGD (Tastan, Horvath, Nandakumar, TMLR 2025, App. C.2, Alg. 3).

Every R rounds participants compare gradients with their neighbours, and whoever is aligned gets
more weight. A link exists in a round as often as its sender's weight says, and the receiver's
weight says how much it counts. `worth.mixing` has the formulas and where the paper leaves gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from securefair.errors import ConfigError, ModelError
from securefair.model import TrainStates
from securefair.records import RoundRecord
from securefair.worth import (
    TOPOLOGIES,
    WEIGHTINGS,
    Graph,
    LearningState,
    Matrix,
    attractions,
    preferences,
    round_similarities,
    similarity,
    smooth,
)
from securefair_lab.algorithms.gossip_sgd import (
    BEFORE_ROUNDS,
    Edges,
    gossip,
    graph_of,
    links_of,
    models_sent,
)
from securefair_lab.algorithms.schedule import StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.sharing import is_forced, link_coins, links, mix
from securefair_lab.algorithms.stacked_population import StackedPopulation


@dataclass(frozen=True, eq=False)
class CycleGossipState(LearningState[TrainStates]):
    """Everything that a next round depends on."""

    weights: Matrix  # W (N, N), before rows are normalised where similarities have levels


@dataclass(frozen=True, kw_only=True)
class CycleGossip:
    """CYCle on Gossip-SGD.

    Args:
        beta: sharpness of the softmax that makes weights of similarities.
        alpha: weight of the previous reputation.
        forced_every: R, rounds between comparisons of gradients; the first is in round 0.
        levels: similarities count as the nearest of so many public values
            (`worth.mixing.rounded`), and old weights are smoothed with new ones before rows
            are normalised (`worth.mixing.attractions`), so that the weight of a pair follows
            from its own similarities; None as in the paper.
        relative: links as often as W_ij / max over j != i of W_ij says. Rows of W sum to 1, so as
            printed a link exists about 1/N of the time.
        topology, weighting: the graph, and W before the first comparison; see `GossipSgd`.
        min_senders: with fewer models of others than this a participant keeps its own, as private
            sums make it; 0 as in the paper.
        max_share: largest part that one of them may have of the weights of all of them, in
            (0, 1] (`worth.own_row.limit_shares`); None as in the paper.
        local_epochs, pretraining_epochs, common_start, schedule: as in `GossipSgd`.

    Raises:
        ConfigError: an unknown topology or weighting, or a setting out of range.
    """

    beta: float = 15.0
    alpha: float = 0.5
    forced_every: int = 5
    levels: int | None = None
    relative: bool = False
    topology: Literal["complete", "ring", "exponential"] | Edges = "complete"
    weighting: Literal["uniform", "metropolis"] = "uniform"
    min_senders: int = 0
    max_share: float | None = None
    local_epochs: int = 1
    pretraining_epochs: int = 0
    common_start: bool = True
    schedule: StepDecay | None = None
    name: str = "cycle_gossip"

    def __post_init__(self) -> None:
        if isinstance(self.topology, str) and self.topology not in TOPOLOGIES:
            raise ConfigError(
                "unknown graph",
                where="topology",
                found=self.topology,
                expected=", ".join((*TOPOLOGIES, "or edges")),
            )
        check_settings(
            self,
            beta=(0 <= self.beta < math.inf, "0 or more"),
            alpha=(0 <= self.alpha < 1, "in [0, 1)"),
            forced_every=(self.forced_every >= 1, "1 or more rounds"),
            levels=(self.levels is None or self.levels >= 2, "2 or more"),
            weighting=(self.weighting in WEIGHTINGS, ", ".join(WEIGHTINGS)),
            min_senders=(self.min_senders >= 0, "0 or more"),
            max_share=(self.max_share is None or 0 < self.max_share <= 1, "in (0, 1]"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            pretraining_epochs=(self.pretraining_epochs >= 0, "0 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> CycleGossipState:
        """Everyone before round 0, with the weights of plain Gossip-SGD."""
        train_states = population.train(
            population.start(seed, common=self.common_start),
            epochs=self.pretraining_epochs,
            seed=seed,
            clock=BEFORE_ROUNDS,
            optimizer=at_round(self.schedule, population.optimizer, 0),
        )
        weights = WEIGHTINGS[self.weighting](self._graph(population))
        return CycleGossipState(seed, 0, train_states, weights)

    def round(
        self, state: CycleGossipState, population: StackedPopulation
    ) -> tuple[CycleGossipState, RoundRecord]:
        """One round t of Alg. 3, all participants at once."""
        t, graph, kept = state.round, self._graph(population), state.weights
        forced = is_forced(t, self.forced_every)
        alignment = None
        if forced:  # lines 4 to 8
            g = population.gradients(state.train_states)  # line 3
            alignment = cosines(population.sent(g, t, state.seed), g)
            compared = _with_self(round_similarities(similarity(alignment), self.levels))
            prefer = preferences if self.levels is None else attractions
            kept = smooth(kept, prefer(compared, graph, beta=self.beta), alpha=self.alpha)
        weights = kept if self.levels is None else kept / kept.sum(axis=1, keepdims=True)
        # Line 12: S ~ Bernoulli(W). Line 13: W~ = W * S^T with rows normalised.
        shared = links(weights, link_coins(state.seed, t, population.names), relative=self.relative)
        effective = mix(weights, shared, min_senders=self.min_senders, max_share=self.max_share)
        # Lines 9 and 14: x <- W~ (x - eta g)
        train_states = gossip(
            population, state, effective, epochs=self.local_epochs, schedule=self.schedule
        )
        record = population.record(
            self.name,
            t,
            train_states.vectors,
            forced=forced,
            links=links_of(effective),
            reputation=torch.from_numpy(np.where(graph, weights, np.nan)),
            alignment=None if alignment is None else _on(graph, alignment),
            numbers_sent=self._sent(population, graph & shared.T, graph, forced),
        )
        return CycleGossipState(state.seed, t + 1, train_states, kept), record

    def _graph(self, population: StackedPopulation) -> Graph:
        return graph_of(self.topology, population.names)

    def _sent(
        self, population: StackedPopulation, arrived: Graph, graph: Graph, forced: bool
    ) -> list[int]:
        """Models, and every R rounds the gradients that cosines are computed with.

        The paper counts no traffic for these (App. E.2), but g_j does not reach i by itself.
        """
        models = models_sent(population, links_of(arrived.astype(np.float64)))
        if not forced:
            return models
        degree = graph.sum(axis=1) - 1
        return [
            numbers + population.stacked.trained * int(neighbours)
            for numbers, neighbours in zip(models, degree, strict=True)
        ]


def cosines(received: Tensor, own: Tensor) -> Matrix:
    """cos(g_i, g_j), (N, N) float64, between what i computed and what j sent.

    A gradient of zeros has no direction: its cosine is 0, as in `worth.alignment`.

    Raises:
        ModelError: a gradient is NaN or infinite.
    """
    for gradients in (received, own):
        if not gradients.isfinite().all():
            raise ModelError(
                "a gradient is NaN or infinite",
                hint="Training diverged: lower the learning rate",
            )
    aligned = (_units(own) @ _units(received).T).clamp(-1.0, 1.0)
    return np.asarray(aligned.cpu().numpy(), dtype=np.float64)


def _units(gradients: Tensor) -> Tensor:
    g = gradients.double()
    least = torch.finfo(g.dtype).tiny
    g = g / g.abs().amax(dim=1, keepdim=True).clamp(min=least)  # squares must not vanish
    length: Tensor = g.norm(dim=1, keepdim=True)
    return g / length.clamp(min=least)


def _with_self(similarities: Matrix) -> Matrix:
    result = similarities.copy()
    np.fill_diagonal(result, 1.0)  # s_ii = 1, whatever a participant sends to others
    return result


def _on(graph: Graph, values: Matrix) -> Tensor:
    return torch.from_numpy(np.where(graph, values, np.nan))
