"""Averages of models: rows of numbers under weights that sum to 1."""

from __future__ import annotations

import torch
from torch import Tensor


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


def through_server(count: int) -> Tensor:
    """Whose model is in what whom gets where a server averages all: (N, N) bool, all others'."""
    return ~torch.eye(count, dtype=torch.bool)
