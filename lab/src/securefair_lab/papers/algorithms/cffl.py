"""Collaborative Fairness in Federated Learning (Lyu, Xu, Wang 2020, Algorithm 1).

A server rates each participant by what its upload does to validation accuracy, and gives each as
much of the aggregated update as its reputation and its data have earned. Whose reputation falls
below a threshold is isolated, and goes on alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from securefair.model import TrainStates
from securefair.records import RoundRecord
from securefair_lab.algorithms.schedule import EXPONENTIAL, StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.coordinates import largest
from securefair_lab.papers.algorithms.updates import update_of, with_statistics

PRETRAINING_CLOCK = -1  # rounds count from 0


@dataclass(frozen=True, eq=False)
class CfflState:
    """Everything that a next round depends on."""

    seed: int
    round: int
    train_states: TrainStates
    server: Tensor  # (P,), w_g: the model the server rates sparse uploads with
    copies: Tensor  # (N, P), w_j as the server knows it, for rating full uploads
    reputation: Tensor  # (N,), sums to 1 over those present
    present: Tensor  # (N,) bool, R


@dataclass(frozen=True, kw_only=True)
class Cffl:
    """CFFL with its punishment factor, threshold and upload rate.

    The server's validation set is what participants hold out for validation, together.

    Args:
        imbalance: what participants differ in: "size" weighs uploads by n_j / sum(n), "classes" by
            class_j / max(class); rewards are scaled by n_j / max(n) or class_j / max(class).
        threshold: of reputation, in units of 1 / |R|; None: 1/3 by size, 1/6 by classes.
        own_part: the own upload comes back within the reward and is subtracted once, at its weight
            in the aggregation: "allocated" only where coordinates were allocated, which is the
            least that keeps anything from counting twice, "everywhere" at all coordinates.
            "printed" is the paper's formula, at n_j / max(n) instead: who has most then gives its
            own update up for the aggregate, as in federated averaging, others a part of it.

    Raises:
        ConfigError: a setting out of range.
    """

    imbalance: Literal["size", "classes"] = "size"
    alpha: float = 5.0
    upload_rate: float = 1.0  # theta_u
    clip: float = 0.01  # of every coordinate of an update
    local_epochs: int = 2
    schedule: StepDecay | None = EXPONENTIAL
    threshold: float | None = None
    pretraining_epochs: int = 0
    own_part: Literal["allocated", "everywhere", "printed"] = "allocated"
    name: str = "cffl"

    def __post_init__(self) -> None:
        check_settings(
            self,
            alpha=(self.alpha > 0, "above 0"),
            upload_rate=(0 < self.upload_rate <= 1, "in (0, 1]"),
            clip=(self.clip > 0, "above 0"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            threshold=(self.threshold is None or 0 <= self.threshold < 1, "in [0, 1)"),
            pretraining_epochs=(self.pretraining_epochs >= 0, "0 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> CfflState:
        """One initialisation for all; trained alone first, if asked for."""
        train_states = population.start(seed, common=True)
        server = population.stacked.parts(train_states.vectors)[0][0].clone()
        if self.pretraining_epochs:
            train_states = population.train(
                train_states, epochs=self.pretraining_epochs, seed=seed, clock=PRETRAINING_CLOCK
            )
        count = len(population.names)
        return CfflState(
            seed=seed,
            round=0,
            train_states=train_states,
            server=server,
            copies=population.stacked.parts(train_states.vectors)[0],
            reputation=torch.full((count,), 1 / count, dtype=torch.float64),
            present=torch.ones(count, dtype=torch.bool),
        )

    def round(
        self, state: CfflState, population: StackedPopulation
    ) -> tuple[CfflState, RoundRecord]:
        """One communication round; those who were isolated only train.

        With an upload come running statistics, whole: without them the server could not rate it.
        """
        stacked, start, present = population.stacked, state.train_states.vectors, state.present
        trained = population.train(
            state.train_states,
            epochs=self.local_epochs,
            seed=state.seed,
            clock=state.round,
            optimizer=at_round(self.schedule, population.optimizer, state.round),
        )
        update = update_of(stacked, start, trained.vectors).clamp(-self.clip, self.clip)
        honest = torch.stack([largest(row, self._uploaded(population)) for row in update])
        upload = population.sent(honest, round=state.round, seed=state.seed)  # dw_j^S
        share, scale = self._weights(population, present)
        aggregate = (share[:, None].to(upload) * upload).sum(dim=0)  # dw_g

        # The server rates each upload by what it makes of a model the server knows.
        base = state.copies if self.upload_rate == 1 else state.server.expand_as(upload)
        rated = with_statistics(stacked, base + upload, trained.vectors)
        accuracy = population.scores_on_all(rated).accuracy.cpu()
        reputation, still = self._rate(state.reputation, accuracy, present)

        # w_j + dw_j + dw_g^j - the own part
        parameters = stacked.parts(start)[0] + update
        saved_state = reputation / reputation.max()
        for j in still.nonzero()[:, 0].tolist():
            # Products such as 0.1 * 10 must not lose a coordinate to rounding.
            earned = float(saved_state[j]) * float(scale[j]) * len(aggregate)
            reward = largest(aggregate, round(earned))
            weight = scale[j] if self.own_part == "printed" else share[j]
            own = weight.to(upload) * upload[j]
            if self.own_part == "allocated":
                own = torch.where(reward != 0, own, 0)
            parameters[j] += reward - own
        after = with_statistics(stacked, parameters, trained.vectors)
        count, measured = len(population.names), stacked.length - stacked.trained
        links = still[:, None] & still[None, :] & ~torch.eye(count, dtype=torch.bool)
        record = population.record(
            self.name,
            state.round,
            after,
            links=links,
            reputation=reputation.expand(count, count),  # everyone's, as the server holds it
            numbers_sent=[
                self._uploaded(population) + measured if p else 0 for p in present.tolist()
            ],
            present=still.tolist(),
        )
        return CfflState(
            seed=state.seed,
            round=state.round + 1,
            train_states=trained.moved(after),
            server=state.server + aggregate,
            copies=state.copies + upload,
            reputation=reputation,
            present=still,
        ), record

    def _uploaded(self, population: StackedPopulation) -> int:
        return math.ceil(self.upload_rate * population.stacked.trained)

    def _weights(self, population: StackedPopulation, present: Tensor) -> tuple[Tensor, Tensor]:
        """Of each participant: its weight in the aggregate, and its part of a full reward."""
        if self.imbalance == "size":
            amount = torch.where(present, population.sizes.double(), 0)
            return amount / amount.sum(), amount / amount.max()
        held = [len(set(p.train.labels.tolist())) for p in population.participants]
        amount = torch.where(present, torch.tensor(held, dtype=torch.float64), 0)
        return amount / amount.max(), amount / amount.max()

    def _rate(self, reputation: Tensor, accuracy: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        """c_j = sinh(alpha vacc_j / sum vacc), smoothed; who falls below the threshold leaves."""
        vacc = torch.where(present, accuracy, 0)
        total = vacc.sum().clamp(min=torch.finfo(vacc.dtype).tiny)  # all accuracies may be 0
        c = 0.5 * reputation + 0.5 * torch.sinh(self.alpha * vacc / total)
        c = torch.where(present, c, 0)
        c = c / c.sum()
        default = 1 / 3 if self.imbalance == "size" else 1 / 6
        threshold = default if self.threshold is None else self.threshold
        still = present & (c >= threshold / int(present.sum()))
        c = torch.where(still, c, 0)
        return c / c.sum(), still
