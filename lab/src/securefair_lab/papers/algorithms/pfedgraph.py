"""pFedGraph (Ye, Ni, Wu, Chen, Wang, ICML 2023): averages by how alike models are.

Everyone lowers (its Eqs. 2 to 4, with p_j participant j's share of all samples)

    f_i(theta_i) - lambda sum_j w_ij cos(theta_i, theta_j)
    where w_i lowers   sum_j w_ij d_ij + alpha ||w_i - p||^2   over w_ij >= 0, sum_j w_ij = 1,
    d_ij = -cos(theta_i - theta^0, theta_j - theta^0)

by turns: participants train, the server finds the rows w_i and sends each sum_j w_ij theta_j, where
training goes on. The quadratic program of a row needs no solver: completing the square, it is the
Euclidean projection of p - d_i / (2 alpha) onto the simplex. A large alpha gives p, and FedAvg; a
small one gives all weight to the most similar model, which is one's own.

Decided here: the penalty pulls models together, as the objective says (the published code adds the
cosine to the loss); cosines count as they are, where the code takes those above 0.9 for 1.

Assumes networks of one architecture that start alike, and that similar updates mean similar data.
Disclosure: a participant shows the server a model trained on its data in every round, and gets an
average of its own and of few others, from which it can tell the other's where there is one. With
lambda > 0 the server also sends sum_j w_ij theta_j / ||theta_j||: a second sum of the same models
under other weights, from which it can tell *two* others apart, knowing their weights and norms
(four numbers; a test does it). With lambda = 0 it sends the average alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from securefair.model import TrainStates
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import shares_of
from securefair_lab.algorithms.schedule import StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.local_steps import LocalStep, local_steps


@dataclass(frozen=True, eq=False)
class PFedGraphState(LearningState[TrainStates]):
    """Everything that a next round depends on."""

    start: Tensor  # theta^0, (V,)
    # (N, P), sum_j w_ij theta_j / ||theta_j||; zeros before the first graph and without lambda
    pull: Tensor


@dataclass(frozen=True, kw_only=True)
class PFedGraph:
    """pFedGraph with full participation.

    Records show whose models have a weight above 0 as `answered`, and cosines as `alignment`. Like
    all records they count what participants send; what the server sends back is twice as many
    numbers with lambda > 0.

    Args:
        alpha: how close weights are kept to shares of samples (the published experiments: 0.8).
        lam: lambda, how strongly local training is pulled towards similar models (the published
            code: 0.01); 0 where no participant may tell two others' models apart.
        local_epochs: of each participant in a round.
        scored: whether records score the models that a round ends with ("averaged"), or those
            trained before ("trained"); the published code scores both and keeps the better.
        schedule: of the learning rate.

    Raises:
        ConfigError: a setting out of range.
    """

    alpha: float = 0.8
    lam: float = 0.01
    local_epochs: int = 1
    scored: Literal["averaged", "trained"] = "averaged"
    schedule: StepDecay | None = None
    name: str = "pfedgraph"

    def __post_init__(self) -> None:
        check_settings(
            self,
            alpha=(0 < self.alpha < math.inf, "above 0"),
            lam=(0 <= self.lam < math.inf, "0 or more"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            scored=(self.scored in ("averaged", "trained"), "averaged or trained"),
        )

    def init(self, population: StackedPopulation, seed: int) -> PFedGraphState:
        """One initialisation for all."""
        train_states = population.start(seed, common=True)
        return PFedGraphState(
            seed,
            0,
            train_states,
            train_states.vectors[0].clone(),
            torch.zeros_like(train_states.momentum),
        )

    def round(
        self, state: PFedGraphState, population: StackedPopulation
    ) -> tuple[PFedGraphState, RoundRecord]:
        """Everyone trains; the server infers the graph and averages along it."""
        t, seed, stacked = state.round, state.seed, population.stacked
        trained = self._trained(state, population)
        received = population.sent(trained, t, seed, unchanged=state.train_states.vectors)
        parameters = stacked.parts(received)[0]
        cosines = cosines_of(parameters - stacked.parts(state.start[None])[0])
        weights = collaboration(cosines, shares_of(population.sizes).to(cosines), self.alpha)
        mixing = weights.to(received)
        after = state.train_states.momentum_reset().moved(mixing @ received)
        others = ~torch.eye(len(weights), dtype=torch.bool)
        record = population.record(
            self.name,
            t,
            after.vectors if self.scored == "averaged" else trained,
            links=(weights.cpu() > 0) & others,
            alignment=cosines,
            numbers_sent=[stacked.length] * len(weights),
        )
        # Without lambda nobody uses these sums, so nobody gets them.
        pull = mixing @ _directions(parameters) if self.lam else torch.zeros_like(state.pull)
        return PFedGraphState(seed, t + 1, after, state.start, pull), record

    def _trained(self, state: PFedGraphState, population: StackedPopulation) -> Tensor:
        def gradients(step: LocalStep, models: list[Tensor]) -> list[Tensor]:
            found = step.gradients(models[0])
            if self.lam:
                theta = population.stacked.parts(models[0])[0]
                found -= self.lam * cosine_slope(theta, state.pull[step.who])
            return [found]

        (trained,) = local_steps(
            population,
            [state.train_states.momentum_reset()],
            gradients,
            epochs=self.local_epochs,
            seed=state.seed,
            clock=state.round,
            optimizer=at_round(self.schedule, population.optimizer, state.round),
        )
        return trained.vectors


def cosines_of(updates: Tensor) -> Tensor:
    """cos(u_i, u_j) of rows (N, P), (N, N) float64; 0 for an update of zeros, also with itself."""
    directions = _directions(updates.double())
    return (directions @ directions.T).clamp(-1, 1)


def collaboration(cosines: Tensor, shares: Tensor, alpha: float) -> Tensor:
    """The graph W (N, N): rows on the simplex that lower -w_i.cos_i + alpha ||w_i - p||^2.

    Args:
        cosines: (N, N).
        shares: p, (N,), sums to 1.
        alpha: above 0.
    """
    # Moving a row changes no projection; less its largest, no weight overflows under a tiny alpha.
    behind = cosines - cosines.amax(dim=1, keepdim=True)
    return onto_simplex(shares + behind / (2 * alpha))


def onto_simplex(rows: Tensor) -> Tensor:
    """The nearest points with non-negative entries of sum 1 to rows (K, N).

    Those entries above a threshold lose it and the others are 0 (Duchi, Shalev-Shwartz, Singer,
    Chandra, ICML 2008, Figure 1).
    """
    rows = rows - rows.amax(dim=1, keepdim=True)  # beside large numbers the sum of 1 would vanish
    descending = rows.sort(dim=1, descending=True).values
    excess = descending.cumsum(dim=1) - 1
    counts = torch.arange(1, rows.shape[1] + 1, device=rows.device)
    kept = (descending * counts > excess).sum(dim=1, keepdim=True)
    threshold = excess.gather(1, kept - 1) / kept
    return (rows - threshold).clamp(min=0)


def cosine_slope(theta: Tensor, pull: Tensor) -> Tensor:
    """The gradient by theta (K, P) of <pull, theta> / ||theta||; zeros at theta = 0."""
    norm = theta.norm(dim=1, keepdim=True)
    direction = _directions(theta)
    along = (pull * direction).sum(dim=1, keepdim=True)
    return torch.where(norm > 0, (pull - along * direction) / norm, 0)


def _directions(rows: Tensor) -> Tensor:
    """Rows divided by their norms; zeros stay zeros."""
    norms = rows.norm(dim=1, keepdim=True)
    return torch.where(norms > 0, rows / norms, 0)
