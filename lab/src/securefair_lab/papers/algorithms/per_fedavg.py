"""Per-FedAvg (Fallah, Mokhtari, Ozdaglar, NeurIPS 2020): a common model that adapts in one step.

Algorithm 1 lowers F(w) = sum_i p_i f_i(w - alpha grad f_i(w)): not the common model's loss, but
what it is after everyone has taken a step on its own data. A local step of participant i is

    w~  =  w - alpha grad f_i(w; D)
    w  <-  w - beta (I - alpha hess f_i(w; D'')) grad f_i(w~; D')

on independent mini-batches D, D', D'', and a server averages the results. Both of the paper's ways
around the Hessian are here (its section 4):

- "first_order", FO: without it, w <- w - beta grad f_i(w~; D');
- "hessian_free", HF: its product with g = grad f_i(w~; D') by a difference of gradients,
  (grad f_i(w + delta g; D'') - grad f_i(w - delta g; D'')) / (2 delta).

beta is the learning rate of the population's optimiser. The paper weighs participants equally; they
are weighted by samples here, so that alpha = 0 is FedAvg.

Assumes networks of one architecture, and own samples enough for a useful step. Disclosure: as
FedAvg, a participant shows the server a model trained on its data in every round; adapted models
never leave it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from securefair.model import TrainStates
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import average, shares_of, through_server
from securefair_lab.algorithms.schedule import StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.fedavg import FederatedState
from securefair_lab.papers.algorithms.local_steps import LocalStep, local_steps


@dataclass(frozen=True, kw_only=True)
class PerFedAvg:
    """Per-FedAvg with full participation. Records score everyone's adapted model.

    An epoch takes as many steps as one of FedAvg, each on two or three independent mini-batches;
    with full batches they are the same samples, and gradients are exact.

    Args:
        alpha: rate of the adapting step (DPFL's comparison: 0.01).
        variant: "first_order" or "hessian_free".
        delta: of the difference, "hessian_free" only.
        local_epochs: of each participant in a round.
        adaptation_epochs: how the common model becomes everyone's own: 0 is the objective's single
            step on all training samples; otherwise so many epochs of mini-batches at rate alpha,
            without momentum. The single step is taken in evaluation mode, so with batch norm from
            another gradient than training's steps, which see their batch's statistics, as the
            mini-batches here do; 1 with full batches is the single step of that kind.
        schedule: of the learning rate beta.

    Raises:
        ConfigError: a setting out of range.
    """

    alpha: float = 0.01
    variant: Literal["first_order", "hessian_free"] = "first_order"
    delta: float = 1e-3
    local_epochs: int = 1
    adaptation_epochs: int = 0
    schedule: StepDecay | None = None
    name: str = "per_fedavg"

    def __post_init__(self) -> None:
        known = ("first_order", "hessian_free")
        check_settings(
            self,
            alpha=(0 <= self.alpha < math.inf, "0 or more"),
            variant=(self.variant in known, "first_order or hessian_free"),
            delta=(0 < self.delta < math.inf, "above 0"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            adaptation_epochs=(self.adaptation_epochs >= 0, "0 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> FederatedState:
        """One initialisation for all."""
        return LearningState(seed, 0, population.start(seed, common=True))

    def round(
        self, state: FederatedState, population: StackedPopulation
    ) -> tuple[FederatedState, RoundRecord]:
        """Everyone trains the common model for what follows it; the server averages; all adapt."""
        t, seed, common = state.round, state.seed, state.train_states.vectors
        received = population.sent(self._trained(state, population), t, seed, unchanged=common)
        mean = average(received, shares_of(population.sizes))
        train_states = state.train_states.momentum_reset().moved(mean.repeat(len(received), 1))
        count = len(population.names)
        record = population.record(
            self.name,
            t,
            self.adapted(train_states, population, seed, t),
            links=through_server(count),
            numbers_sent=[population.stacked.length] * count,
        )
        return LearningState(seed, t + 1, train_states), record

    def adapted(
        self, train_states: TrainStates, population: StackedPopulation, seed: int, round: int
    ) -> Tensor:
        """w - alpha grad f_i(w) of everyone, or what some epochs at that rate make of w: (N, V)."""
        if self.adaptation_epochs and self.alpha:
            optimizer = replace(population.optimizer, learning_rate=self.alpha, momentum=0.0)
            return population.train(
                train_states.momentum_reset(),
                epochs=self.adaptation_epochs,
                seed=seed,
                clock=-2 - round,  # apart from the rounds' own, which count from 0
                optimizer=optimizer,
            ).vectors
        return self._stepped(train_states.vectors, population.gradients(train_states), population)

    def _trained(self, state: FederatedState, population: StackedPopulation) -> Tensor:
        (trained,) = local_steps(
            population,
            [state.train_states.momentum_reset()],
            lambda step, models: [self._meta_gradient(step, models[0], population)],
            epochs=self.local_epochs,
            seed=state.seed,
            clock=state.round,
            optimizer=at_round(self.schedule, population.optimizer, state.round),
            orders=2 if self.variant == "first_order" else 3,
        )
        return trained.vectors

    def _meta_gradient(self, step: LocalStep, w: Tensor, population: StackedPopulation) -> Tensor:
        """Of f_i(w - alpha grad f_i(w)), (A, P); running statistics in w (A, V) are updated."""
        # Without an adapting step one mini-batch is enough: the first order's, as in FedAvg.
        if self.alpha == 0:
            return step.gradients(w)
        ahead = self._stepped(w, step.gradients(w), population)
        gradient = step.gradients(ahead, order=1)
        if self.variant == "first_order":
            return gradient
        beyond = w.clone()
        beyond[:, : gradient.shape[1]] += self.delta * gradient
        behind = w.clone()
        behind[:, : gradient.shape[1]] -= self.delta * gradient
        # In bfloat16, whose numbers lie about 1% apart, their difference would be noise.
        further, nearer = (
            step.gradients(point, order=2, precision="full") for point in (beyond, behind)
        )
        difference = further - nearer
        return gradient - self.alpha * difference / (2 * self.delta)

    def _stepped(self, vectors: Tensor, gradients: Tensor, population: StackedPopulation) -> Tensor:
        result = vectors.clone()
        result[:, : population.stacked.trained] -= self.alpha * gradients
        return result
