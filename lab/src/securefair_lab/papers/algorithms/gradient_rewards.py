"""What RFFL and CGSV have in common: rewards are parts of the aggregated update.

A participant is rated by the direction of its update against the aggregate's, and gets as many of
each layer's largest coordinates as its reputation has earned.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from securefair.model import TrainStates
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.coordinates import largest_of_each_layer


@dataclass(frozen=True, eq=False)
class RewardState:
    """Everything that a next round depends on."""

    seed: int
    round: int
    train_states: TrainStates
    reputation: Tensor  # (N,), sums to 1 over those present
    present: Tensor  # (N,) bool


def begin(population: StackedPopulation, seed: int) -> RewardState:
    """One initialisation for all, everyone present and equal."""
    count = len(population.names)
    return RewardState(
        seed=seed,
        round=0,
        train_states=population.start(seed, common=True),
        reputation=torch.full((count,), 1 / count, dtype=torch.float64),
        present=torch.ones(count, dtype=torch.bool),
    )


def alignment(updates: Tensor, aggregate: Tensor) -> Tensor:
    """phi_i = cos(u_i, u_N), (N,) float64 as reputations are; 0 for an update of zeros."""
    return cosine_similarity(updates.double(), aggregate.double()[None], dim=1).cpu()


def smoothed(reputation: Tensor, phi: Tensor, present: Tensor, *, least: float) -> Tensor:
    """r <- 0.95 r + 0.05 phi, at least `least`, 0 for the absent, normalised to sum 1."""
    r = (0.95 * reputation + 0.05 * phi).clamp(min=least)
    r = torch.where(present, r, 0)
    return r / r.sum().clamp(min=torch.finfo(r.dtype).tiny)


def rewarded(
    population: StackedPopulation, base: Tensor, aggregate: Tensor, quotas: Tensor
) -> Tensor:
    """Parameters (N, P) plus each one's part of the aggregate (P,): none where the quota is 0."""
    result = base.clone()
    for n, quota in enumerate(quotas.tolist()):
        if quota > 0:
            result[n] += largest_of_each_layer(aggregate, quota, population.stacked.layers)
    return result


def links_between(present: Tensor) -> Tensor:
    """Who received something from whom through the server: all who are present, (N, N) bool."""
    return present[:, None] & present[None, :] & ~torch.eye(len(present), dtype=torch.bool)
