"""APFL (Deng, Kamani, Mahdavi 2020, arXiv:2003.13461): a mixture of a common and an own model.

Algorithm 1. Participant i has its version w_i of the common model and a model v_i of its own, and
predicts with their mixture. Local steps take both at once, from gradients at the point before:

    vbar_i   =  alpha_i v_i + (1 - alpha_i) w_i
    w_i     <-  w_i - eta grad f_i(w_i)
    v_i     <-  v_i - eta alpha_i grad f_i(vbar_i)                          (the gradient by v_i)
    alpha_i <-  alpha_i - eta <v_i - w_i, grad f_i(vbar_i)>              (the gradient by alpha_i)

and after them a server averages the w_i. alpha_i is clipped to [0, 1]. It moves at every step
here, as the paper derives it; published code moves it once a round.

Assumes networks of one architecture that start alike, so that mixtures of two are of use.
Disclosure: as FedAvg, a model trained on its data to the server in every round; v_i and alpha_i
never leave a participant.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from securefair.model import TrainStates
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import average, shares_of, through_server
from securefair_lab.algorithms.schedule import StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.local_steps import LocalStep, local_steps


@dataclass(frozen=True, eq=False)
class ApflState(LearningState[TrainStates]):
    """Everything that a next round depends on; `learners` are the common model."""

    personal: TrainStates  # v
    alpha: Tensor  # (N,) float64


@dataclass(frozen=True, kw_only=True)
class Apfl:
    """APFL with full participation, averaged after every round. Records score the mixtures.

    Own models keep their momentum from round to round, versions of the common one do not, so that
    alpha = 0 is FedAvg and alpha = 1 is training alone. Both see samples in the same order.

    Args:
        alpha: share of the own model in the mixture, at the start.
        adaptive: whether alpha is learned; otherwise it stays.
        local_epochs: of each participant in a round.
        schedule: of the learning rate.

    Raises:
        ConfigError: a setting out of range.
    """

    alpha: float = 0.5
    adaptive: bool = True
    local_epochs: int = 1
    schedule: StepDecay | None = None
    name: str = "apfl"

    def __post_init__(self) -> None:
        check_settings(
            self,
            alpha=(0 <= self.alpha <= 1, "in [0, 1]"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> ApflState:
        """One initialisation for all, of both models."""
        train_states = population.start(seed, common=True)
        alpha = torch.full((len(train_states),), self.alpha, dtype=torch.float64)
        return ApflState(seed, 0, train_states, train_states, alpha)

    def round(
        self, state: ApflState, population: StackedPopulation
    ) -> tuple[ApflState, RoundRecord]:
        """Everyone trains both models; the server averages the versions of the common one."""
        t, seed, common = state.round, state.seed, state.train_states.vectors
        versions, personal, alpha = self._trained(state, population)
        received = population.sent(versions, t, seed, unchanged=common)
        mean = average(received, shares_of(population.sizes))
        train_states = state.train_states.momentum_reset().moved(mean.repeat(len(received), 1))
        count = len(population.names)
        record = population.record(
            self.name,
            t,
            mixture(alpha, personal.vectors, train_states.vectors),
            links=through_server(count),
            numbers_sent=[population.stacked.length] * count,
        )
        return ApflState(seed, t + 1, train_states, personal, alpha), record

    def _trained(
        self, state: ApflState, population: StackedPopulation
    ) -> tuple[Tensor, TrainStates, Tensor]:
        """Versions of the common model (N, V), own models and alpha (N,) after the local epochs."""
        trained = population.stacked.trained
        optimizer = at_round(self.schedule, population.optimizer, state.round)
        alpha = state.alpha.clone()  # moves along with the models

        def gradients(step: LocalStep, models: list[Tensor]) -> tuple[Tensor, Tensor]:
            w, v = models
            share = alpha[step.who]
            mixed = mixture(share, v, w)
            at_mixture, at_version = step.gradients(mixed), step.gradients(w)
            if self.adaptive:
                slope = ((v - w)[:, :trained] * at_mixture).sum(dim=1).to(alpha)
                alpha[step.who] = (share - optimizer.learning_rate * slope).clamp(0, 1)
            v[:, trained:] = mixed[:, trained:]  # running statistics: those it was seen with
            return at_version, share.to(v)[:, None] * at_mixture

        versions, personal = local_steps(
            population,
            [state.train_states.momentum_reset(), state.personal],
            gradients,
            epochs=self.local_epochs,
            seed=state.seed,
            clock=state.round,
            optimizer=optimizer,
        )
        return versions.vectors, personal, alpha


def mixture(alpha: Tensor, own: Tensor, common: Tensor) -> Tensor:
    """vbar = alpha v + (1 - alpha) w, rows (K, V) under shares (K,)."""
    share = alpha.to(own)[:, None]
    return share * own + (1 - share) * common
