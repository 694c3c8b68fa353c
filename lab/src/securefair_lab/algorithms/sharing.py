"""Who asks, who answers and who shares with whom in a round, for all participants at once.

Sites decide the same for themselves alone (`protocol`, `collaboration.gossip.weighing`), so these
are what they are compared with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from securefair.errors import ConfigError
from securefair.worth import Graph, Matrix, coin, kept_row, link_probabilities


def is_forced(round: int, every: int) -> bool:
    """Whether every peer is asked and answers in this round: round 0 and each `every`-th (R).

    Raises:
        ConfigError: `every` is below 1, or the round is negative.
    """
    if every < 1:
        raise ConfigError(
            "not a period", where="forced_every", found=every, expected="1 or more rounds"
        )
    if round < 0:
        raise ConfigError("not a round", where="round", found=round, expected="0 or more")
    return round % every == 0


def shares(reputation: float | None, coin: float, forced: bool) -> bool:
    """Whether a teacher answers a student of whom it holds this `reputation` (r_kn).

    A forced round always shares. Otherwise no reputation counts as reputation 0, and reputation 0
    never shares: `coin <= r` alone would let one coin in 2^53 through.
    """
    if forced:
        return True
    return reputation is not None and reputation > 0.0 and coin <= reputation


def peers_to_ask(reputations: Mapping[str, float | None], forced: bool) -> list[str]:
    """The peers a student queries, in the mapping's order.

    Everyone in a forced round; otherwise those with r_nk > 0, since the answer of any other
    peer would have no weight.
    """
    return [peer for peer, r in reputations.items() if forced or (r is not None and r > 0.0)]


def link_coins(seed: int, round: int, names: Sequence[str]) -> Matrix:
    """The coins (N, N) of one round: row the sender, column the receiver (`worth.coin`)."""
    return np.array([[coin(seed, round, i, j) for j in names] for i in names])


def links(weights: Matrix, coins: Matrix, *, relative: bool = False) -> Graph:
    """S ~ Bernoulli(W): S_ij says that i shares with j; S_ii is true (CYCle, Alg. 3, line 12).

    Args:
        weights: W (N, N).
        coins: uniform numbers (N, N) in [0, 1), `link_coins`.
        relative: as in `own_row.link_probabilities`.
    """
    rows = [link_probabilities(row, own, relative=relative) for own, row in enumerate(weights)]
    shared = [
        [shares(p, toss, forced=i == j) for j, (p, toss) in enumerate(zip(*pair, strict=True))]
        for i, pair in enumerate(zip(np.array(rows).tolist(), coins.tolist(), strict=True))
    ]
    return np.array(shared, dtype=np.bool_)


def mix(
    weights: Matrix, shared: Graph, *, min_senders: int = 0, max_share: float | None = None
) -> Matrix:
    """W~ = W * S^T with rows normalised (CYCle, Alg. 3, line 13): i receives from j iff S_ji.

    Args:
        weights: W (N, N).
        shared: S (N, N).
        min_senders, max_share: as in `own_row.kept_row`.

    Raises:
        ModelError: a row is empty.
    """
    kept = [
        kept_row(row, shared[:, own], own, min_senders=min_senders, max_share=max_share)
        for own, row in enumerate(weights)
    ]
    return np.stack([row / row.sum() for row in kept])
