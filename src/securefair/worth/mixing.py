"""The mixing matrix of CYCle on Gossip-SGD: who averages with whom, and how much (Alg. 3).

    cosines -> similarities -> levels -> preferences -> weights W -> links S -> effective weights W~

Matrices are float64 (N, N), row i belongs to participant i and sums to 1 (row-stochastic; nothing
makes the columns do so). Graphs are boolean (N, N), symmetric, with a true diagonal: a link needs
the good reputation of its sender and of its receiver, so a one-way edge would never carry anything.
Every participant can compute its own row alone: `preferences` and `smooth` take a single row as
well as the matrix, and `own_row` has what is done with one row at a time.

The paper (C.2, Alg. 3) leaves gaps, closed here so: S_ii = 1 always, so that no row is empty; the
softmax runs over a participant's neighbours and itself, so that W stays on the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.errors import ConfigError, ModelError

Matrix = NDArray[np.float64]
Graph = NDArray[np.bool_]

SMALLEST_EXPONENT = -700.0
"""Of a float64: no weight of a neighbour is 0, whatever beta is."""


def complete_graph(participants: int) -> Graph:
    """Everybody beside everybody."""
    _check_count(participants)
    return np.ones((participants, participants), dtype=np.bool_)


def ring_graph(participants: int) -> Graph:
    """Each beside the previous and the next: uniform weights are 1/3 from three on."""
    _check_count(participants)
    return _circulant(participants, (1,))


def exponential_graph(participants: int) -> Graph:
    """Each beside those at distance 1, 2, 4, ... around the ring, in both directions.

    The static exponential graph of Ying et al. (2021) with its edges made symmetric: the original
    is directed, and a link needs both reputations.
    """
    _check_count(participants)
    hops = tuple(1 << k for k in range((participants - 1).bit_length()))
    return _circulant(participants, hops)


def graph_of_edges(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> Graph:
    """Any graph, by its undirected edges between names.

    Raises:
        ConfigError: names are doubled, or an edge names somebody else or joins one to itself.
    """
    _check_count(len(names))
    index = {name: position for position, name in enumerate(names)}
    if len(index) != len(names):
        raise ConfigError("participants need different names", where="names", found=list(names))
    graph = np.eye(len(names), dtype=np.bool_)
    for edge in edges:
        if len(set(edge)) != 2 or not index.keys() >= set(edge):
            raise ConfigError(
                "an edge does not join two participants",
                where="edges",
                found=list(edge),
                expected=f"two of {sorted(index)}",
            )
        one, other = (index[name] for name in edge)
        graph[one, other] = graph[other, one] = True
    return graph


TOPOLOGIES: Mapping[str, Callable[[int], Graph]] = {
    "complete": complete_graph,
    "ring": ring_graph,
    "exponential": exponential_graph,
}
"""Graphs by name, for any number of participants."""


def uniform_weights(graph: Graph) -> Matrix:
    """W_ij = 1 / (|N(i)| + 1) on the graph and its diagonal (Eq. 51).

    Raises:
        ConfigError: not a graph.
    """
    check_graph(graph)
    weights = graph.astype(np.float64)
    normalised: Matrix = weights / weights.sum(axis=1, keepdims=True)
    return normalised


def metropolis_weights(graph: Graph) -> Matrix:
    """W_ij = 1 / (1 + max(deg i, deg j)) on edges, the rest on the diagonal: doubly stochastic.

    Raises:
        ConfigError: not a graph.

    Source: Xiao and Boyd (2004).
    """
    check_graph(graph)
    degree = graph.sum(axis=1) - 1
    weights: Matrix = graph / (1.0 + np.maximum(degree[:, None], degree[None, :]))
    np.fill_diagonal(weights, 0.0)
    np.fill_diagonal(weights, 1.0 - weights.sum(axis=1))
    return weights


WEIGHTINGS: Mapping[str, Callable[[Graph], Matrix]] = {
    "uniform": uniform_weights,
    "metropolis": metropolis_weights,
}
"""Initial weights by name."""


def similarity(cosines: Matrix) -> Matrix:
    """s_ij = (1 + cos(g_i, g_j)) / 2, in [0, 1]; of any shape.

    Raises:
        ModelError: something is no cosine.
    """
    if not (np.abs(cosines) <= 1.0).all():  # NaN is not
        raise ModelError(
            "not a cosine", where="alignment", found=cosines.tolist(), expected="[-1, 1]"
        )
    return (1.0 + cosines) / 2.0


def round_similarities(similarities: Matrix, levels: int | None) -> Matrix:
    """The nearest of so many public levels, 0 and 1 among them; None leaves similarities alone.

    Weights go to others in the clear. All that they can tell of an opened cosine is its level:
    log2(levels) bits a comparison, whoever made the cosine and however it was made.

    Raises:
        ConfigError: fewer than two levels.
    """
    if levels is None:
        return similarities
    if levels < 2:
        raise ConfigError("too few levels", where="levels", found=levels, expected="2 or more")
    steps = levels - 1
    return np.rint(similarities * steps) / steps


def preferences(similarities: Matrix, neighbours: Graph, *, beta: float) -> Matrix:
    """r_ij = softmax over j of beta s_ij, among i's neighbours and itself; 0 elsewhere.

    Args:
        similarities: (N,) or (N, N); s_ii belongs to it and is 1. Read on the graph only.
        neighbours: the same shape; at least one entry a row.
        beta: sharpness; 0 gives uniform weights, large values prefer the best aligned.

    Raises:
        ConfigError: `beta` is negative or not finite.
        ModelError: the shapes differ, a row has no neighbour, or a similarity is not in [0, 1].
    """
    _check_similarities(similarities, neighbours, beta=beta)
    exponents = np.where(neighbours, beta * similarities, -np.inf)
    powers = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
    normalised: Matrix = powers / powers.sum(axis=-1, keepdims=True)
    return normalised


def attractions(similarities: Matrix, neighbours: Graph, *, beta: float) -> Matrix:
    """`preferences` before rows are normalised: exp(beta (s_ij - 1)), in (0, 1]; 0 elsewhere.

    The entry of a pair follows from its own similarity alone, and so does what `smooth` makes of
    it. So a sender may be told its weight without being told anything of other senders.

    Raises:
        ConfigError, ModelError: as `preferences`.
    """
    _check_similarities(similarities, neighbours, beta=beta)
    exponents = np.where(neighbours, beta * (similarities - 1.0), 0.0)
    powers = np.exp(np.maximum(exponents, SMALLEST_EXPONENT))
    return np.where(neighbours, powers, 0.0)


def _check_similarities(similarities: Matrix, neighbours: Graph, *, beta: float) -> None:
    if not 0.0 <= beta < np.inf:
        raise ConfigError("out of range", where="beta", found=beta, expected="at least 0, finite")
    if similarities.shape != neighbours.shape or not neighbours.any(axis=-1).all():
        raise ModelError(
            "similarities and neighbours do not belong together",
            where="preferences",
            found=f"{similarities.shape} and {neighbours.shape}",
            expected="the same shape, with a neighbour in every row",
        )
    known = similarities[neighbours]
    if not ((known >= 0.0) & (known <= 1.0)).all():
        raise ModelError(
            "not a similarity", where="preferences", found=known.tolist(), expected="[0, 1]"
        )


def smooth(weights: Matrix, preferred: Matrix, *, alpha: float = defaults.ALPHA) -> Matrix:
    """w <- alpha w + (1 - alpha) r (Alg. 3, line 7); row sums stay 1 if those of r are.

    Raises:
        ConfigError: `alpha` is not in [0, 1).
    """
    if not 0.0 <= alpha < 1.0:
        raise ConfigError("out of range", where="alpha", found=alpha, expected="[0, 1)")
    return alpha * weights + (1.0 - alpha) * preferred


def check_graph(graph: Graph) -> None:
    """Refuse what is no symmetric graph with a true diagonal.

    Raises:
        ConfigError: names what is missing.
    """
    if graph.dtype != np.bool_ or graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ConfigError(
            "not a graph",
            where="graph",
            found=f"{graph.dtype} {graph.shape}",
            expected="bool (N, N)",
        )
    _check_count(len(graph))
    if not (graph == graph.T).all() or not graph.diagonal().all():
        raise ConfigError(
            "a graph has one-way edges or lacks its diagonal",
            where="graph",
            expected="symmetric, with a true diagonal",
        )


def _circulant(participants: int, hops: Sequence[int]) -> Graph:
    """Edges at these distances around the ring, in both directions, and the diagonal."""
    distance = np.arange(participants)
    between = (distance[None, :] - distance[:, None]) % participants
    steps = {0} | {h % participants for h in hops} | {-h % participants for h in hops}
    return np.isin(between, sorted(steps))


def _check_count(participants: int) -> None:
    if participants < 2:
        raise ConfigError(
            "too few participants", where="participants", found=participants, expected="2 or more"
        )
