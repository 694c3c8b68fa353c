"""One participant's row of the mixing matrix in one round: links, limits, effective weights.

Everybody does this with its own row alone, in a run over a network as in the reference algorithm
(`mixing`), which takes all rows together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError, ModelError

Row = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDING = 2.0**-40
"""Relative errors of float64 below which a share is not exceeded."""


def link_probabilities(weights: Row, own: int, *, relative: bool = False) -> Row:
    """How likely participant `own` shares with each other, by its own row of weights (N,).

    The entry of `own` is 1: S_ii = 1 always.

    Args:
        weights: the row of `own`.
        own: its position.
        relative: min(1, W_ij / max over j != i of W_ij). Rows of W sum to 1, so as printed a link
            fires about 1/N of the time; relative to the best peer, that peer always is one.
    """
    probabilities = weights.copy()
    probabilities[own] = 0.0
    best = float(probabilities.max(initial=0.0))
    if relative and best > 0.0:
        probabilities = np.minimum(1.0, probabilities / best)
    probabilities[own] = 1.0
    return probabilities


def kept_row(
    weights: Row,
    received: Flags,
    own: int,
    *,
    min_senders: int = 0,
    max_share: float | None = None,
) -> Row:
    """Weights (N,) on what was received and on itself, as they are: 0 elsewhere.

    Args:
        weights: the row of `own`, normalised or not.
        received: (N,) whose model arrives; the entry of `own` is taken as true.
        own: its position.
        min_senders: with fewer models of others than this the participant keeps its own. Private
            averaging asks for two: a sum of one summand is that summand.
        max_share: largest part that one sender may have of the weights of all senders, see
            `limit_shares`; senders too few to keep to it leave the own model.

    Raises:
        ModelError: nothing that was received has any weight.
    """
    arrived = received.copy()
    arrived[own] = True
    kept = np.where(arrived, weights, 0.0)
    kept[own] = 0.0
    least = min_senders
    if max_share is not None:
        kept, least = limit_shares(kept, max_share), max(min_senders, 1)
    if np.count_nonzero(kept) < least:
        kept = np.zeros_like(weights)
        kept[own] = 1.0
    else:
        kept[own] = weights[own]
    total = float(kept.sum())
    if total <= 0.0:
        raise ModelError("a row of the mixing matrix is empty", where=f"row {own}", found=total)
    return kept


def limit_shares(weights: Row, max_share: float) -> Row:
    """Weights (N,) cut at the one level at which none exceeds `max_share` of their sum.

    The level c solves c = max_share sum_i min(w_i, c): the m largest weights become
    c = max_share rest / (1 - max_share m), for the smallest m that leaves none above c. Weights
    below are untouched, and so is everything where nothing exceeds its share. With fewer than
    1 / max_share positive weights there is no such level but 0, and all become 0.

    Args:
        weights: 0 or more.
        max_share: in (0, 1].

    Raises:
        ConfigError: `max_share` is not in (0, 1].
    """
    if not 0.0 < max_share <= 1.0:
        raise ConfigError("out of range", where="max_share", found=max_share, expected="(0, 1]")
    descending = np.sort(weights[weights > 0.0])[::-1]
    if len(descending) * max_share < 1.0 - ROUNDING:
        return np.zeros_like(weights)
    for cut, largest in enumerate(descending):
        rest, left = float(descending[cut:].sum()), 1.0 - max_share * cut
        if largest * left <= max_share * rest * (1.0 + ROUNDING):
            level = max_share * rest / left if cut else np.inf
            break
    else:  # 1 / max_share of them, but for rounding
        level = descending[-1]
    limited: Row = np.minimum(weights, level)
    return limited
