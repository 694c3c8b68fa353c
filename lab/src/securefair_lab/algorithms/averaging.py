"""Averages of models: rows of numbers under weights that sum to 1."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from securefair.worth import Matrix


def shares_of(sizes: Tensor) -> Tensor:
    """p_k = n_k / sum n, float64, of training samples (N,)."""
    return sizes.double() / sizes.sum()


def average(vectors: Tensor, weights: Tensor) -> Tensor:
    """sum_k w_k x_k, (V,), of models (N, V) under weights (N,)."""
    return weights.to(vectors) @ vectors


def mixed(weights: Tensor, received: Tensor, own: Tensor) -> Tensor:
    """x_i = w_ii own_i + sum over j != i of w_ij received_j, (N, V).

    A participant need not believe what it sent itself: own and received differ for free riders.

    Args:
        weights: (N, N), row i belongs to participant i.
        received: (N, V), what each participant sent to all others.
        own: (N, V), what each really has.
    """
    weights = weights.to(own)
    kept = torch.diagonal(weights)[:, None]
    return weights @ received + kept * (own - received)


def weights_of(links: NDArray[np.bool_], sizes: Tensor) -> Matrix:
    """Weights (N, N) by training samples (N,), of oneself and of those whom one averages with.

    Args:
        links: (N, N), whether [k, j] participant k takes the model of j; always its own.
    """
    held = (links | np.eye(len(links), dtype=np.bool_)) * sizes.double().numpy()
    normalised: Matrix = held / held.sum(axis=1, keepdims=True)
    return normalised


def through_server(count: int) -> Tensor:
    """The links of a round in which a server averages all models: everyone's but one's own.

    (N, N) bool, as `StackedPopulation.record` takes them.
    """
    return ~torch.eye(count, dtype=torch.bool)
