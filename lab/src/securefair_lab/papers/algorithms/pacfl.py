"""PACFL (Vahidian, Morafah, Wang, Kungurtsev, Chen, Shah, Lin, AAAI 2023): clusters by data.

Algorithm 1. Once, before the rounds, everyone takes the p leading left singular vectors U_k of its
training samples (columns of a matrix, d x n_k) and sends them to the server, which compares them by
the principal angles between the spaces they span,

    A_ij  =  theta_1(U_i, U_j)    or    sum_m theta_m(U_i, U_j)         in degrees (Eqs. 2 and 3)

and merges participants by agglomerative clustering until no two clusters are nearer than a
threshold. Then every cluster runs FedAvg on its own.

Decided here: principal angles are those of the spaces, from the singular values of U_i^T U_j,
where the published code compares single vectors, whose signs a decomposition leaves open; a space
of fewer dimensions has right angles for those it lacks, so that who spans less is no nearer; and
`by_class` takes p vectors of the samples of each class as that code does, the paper p of all.

Assumes that a cluster's data lie near one low-dimensional space, and labels mean the same to all.
Disclosure: a participant shows the server p singular vectors of its data, weighted sums of its
samples that can look like them (by class, that of a class with a single sample *is* the sample up
to scale, and their number tells how many classes it has), and, unless it is alone in its cluster, a
model trained on its data in every round. A cluster's members get their average: of a cluster of
two, each subtracts its own model and has the other's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.data import Samples
from securefair.model import TrainStates
from securefair.records import RoundRecord
from securefair.worth import LearningState, Matrix
from securefair_lab.algorithms.averaging import weights_of
from securefair_lab.algorithms.schedule import StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation

BEFORE_ROUNDS = -1  # when singular vectors are sent; rounds count from 0
LINKAGES = ("average", "complete", "single")
ANGLES = ("smallest", "sum")
ROUNDING = 1e-4
"""Degrees that no angle is known to: a cosine of 1 up to rounding is that of about 1e-6."""


@dataclass(frozen=True, eq=False)
class PacflState(LearningState[TrainStates]):
    """Everything that a next round depends on."""

    clusters: tuple[int, ...]  # each participant's
    sent: tuple[int, ...]  # numbers sent since the last record


@dataclass(frozen=True, kw_only=True)
class Pacfl:
    """PACFL with full participation. Records show members of one's cluster as `answered`.

    Momentum rests between rounds, as FedAvg's, also of who is alone in a cluster.

    Args:
        threshold: beta, degrees up to which clusters are merged (DPFL's comparison: 1). At 90
            (of sums, times the most dimensions that anyone's vectors span) all are one; at 0 only
            those with a direction in common are (of sums, all), and all others train alone.
        vectors: p of each participant (the paper: 3 to 5), at most as many as its samples span.
        angle: "smallest" of two spaces, Eq. 2, or the "sum" over all, Eq. 3, see `angles`.
        linkage: what of the angles between members is the distance of two clusters: their
            "average", the largest ("complete") or the smallest ("single").
        by_class: p vectors of each class.
        local_epochs: of each participant in a round.
        scored: whether records score the model that a round ends with, the cluster's ("averaged"),
            or everyone's own before it ("trained"), as the published code does too.
        schedule: of the learning rate.

    Raises:
        ConfigError: a setting out of range.
    """

    threshold: float
    vectors: int = 3
    angle: Literal["smallest", "sum"] = "smallest"
    linkage: Literal["average", "complete", "single"] = "average"
    by_class: bool = False
    local_epochs: int = 1
    scored: Literal["averaged", "trained"] = "averaged"
    schedule: StepDecay | None = None
    name: str = "pacfl"

    def __post_init__(self) -> None:
        check_settings(
            self,
            threshold=(self.threshold >= 0, "0 degrees or more"),
            vectors=(self.vectors >= 1, "1 or more"),
            angle=(self.angle in ANGLES, "smallest or sum"),
            linkage=(self.linkage in LINKAGES, "average, complete or single"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            scored=(self.scored in ("averaged", "trained"), "averaged or trained"),
        )

    def init(self, population: StackedPopulation, seed: int) -> PacflState:
        """Everyone's subspace, the clusters, and one initialisation for all."""
        spaces = self._received_spaces(population, seed)
        clusters = clustered(angles(spaces, self.angle), self.threshold, self.linkage)
        train_states = population.start(seed, common=True)
        return PacflState(seed, 0, train_states, clusters, tuple(space.size for space in spaces))

    def round(
        self, state: PacflState, population: StackedPopulation
    ) -> tuple[PacflState, RoundRecord]:
        """FedAvg in each cluster; who is alone in one sends nothing and keeps what it trained."""
        t, before = state.round, state.train_states.momentum_reset()
        trained = population.train(
            before,
            epochs=self.local_epochs,
            seed=state.seed,
            clock=t,
            optimizer=at_round(self.schedule, population.optimizer, t),
        )
        own = np.array(state.clusters)
        links = (own[:, None] == own[None, :]) & ~np.eye(len(own), dtype=np.bool_)
        alone = torch.from_numpy(~links.any(axis=1)).to(trained.vectors.device)
        sent_models = population.sent(trained.vectors, t, state.seed, unchanged=before.vectors)
        received = torch.where(alone[:, None], trained.vectors, sent_models)
        # w_c <- sum over the members of a cluster of (n_k / n_c) w_k
        weights = torch.from_numpy(weights_of(links, population.sizes)).to(received)
        after = trained.moved(weights @ received)
        sent = [
            done + population.stacked.length * bool(others.any())
            for done, others in zip(state.sent, links, strict=True)
        ]
        shown = after if self.scored == "averaged" else trained
        record = population.record(
            self.name, t, shown.vectors, links=torch.from_numpy(links), numbers_sent=sent
        )
        return replace(state, round=t + 1, train_states=after, sent=(0,) * len(own)), record

    def _received_spaces(
        self, population: StackedPopulation, seed: int
    ) -> list[NDArray[np.float64]]:
        """Everyone's singular vectors (d, p) as the server gets them."""
        found = []
        for n, participant in enumerate(population.participants):
            space = torch.from_numpy(subspace(participant.train, self.vectors, self.by_class))
            sent = population.sent(space[None], BEFORE_ROUNDS, seed, only=[n])
            found.append(sent[0].numpy())
        return found


def subspace(samples: Samples, vectors: int, by_class: bool = False) -> NDArray[np.float64]:
    """Leading left singular vectors U (d, p) of the samples as columns, not centred.

    Args:
        samples: of one participant; images are flattened.
        vectors: of all samples, or of each class that it has; fewer where they span less.
    """
    rows = samples.features.reshape(len(samples), -1).astype(np.float64)
    groups = [rows]
    if by_class:
        groups = [rows[samples.labels == label] for label in np.unique(samples.labels)]
    return np.concatenate([_leading(group.T, vectors) for group in groups], axis=1)


def angles(
    spaces: list[NDArray[np.float64]], angle: Literal["smallest", "sum"] = "smallest"
) -> Matrix:
    """Principal angles between subspaces in degrees, (N, N), symmetric, 0 on the diagonal.

    Angles below `ROUNDING` count as 0. Two spaces have as many angles as the larger has dimensions:
    those that the smaller lacks are right ones. Samples that are all zero span nothing, which is
    orthogonal to everything. A sum is the mean of a pair's angles times the most dimensions of any
    space: Eq. 3 where all have as many, and otherwise sums of as many angles for every pair.
    """
    count = len(spaces)
    # Vectors of several classes may overlap: only an orthonormal basis has principal angles.
    bases = [_leading(space, space.shape[1]) for space in spaces]
    most = max(base.shape[1] for base in bases)
    result = np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            each = _principal_angles(bases[i], bases[j])
            value = float(each[0] if angle == "smallest" else each.mean() * most)
            result[i, j] = result[j, i] = value
    return result


def _principal_angles(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """In rising order, of the spaces of two orthonormal bases (d, p), (d, q); at least one."""
    cosines = np.linalg.svd(one.T @ other, compute_uv=False)
    result = np.full(max(one.shape[1], other.shape[1], 1), 90.0)
    found = np.degrees(np.arccos(np.clip(cosines, 0.0, 1.0)))
    result[: len(found)] = np.where(found < ROUNDING, 0.0, found)
    return result


def clustered(distances: Matrix, threshold: float, linkage: str) -> tuple[int, ...]:
    """The cluster of each participant, numbered by its first member."""
    from scipy.cluster.hierarchy import fcluster
    from scipy.cluster.hierarchy import linkage as merges
    from scipy.spatial.distance import squareform

    tree = merges(squareform(distances), method=linkage)
    labels = fcluster(tree, t=threshold, criterion="distance").tolist()
    order = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return tuple(order[label] for label in labels)


def _leading(columns: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Orthonormal left singular vectors (d, p) of a matrix: what it spans, at most so many."""
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    spanned = int((values > values.max(initial=0.0) * 1e-9).sum())
    return left[:, : min(most, spanned)]
