"""Fair swarm learning of random forests (Tajabadi, Heider 2024, Algorithm 2).

Everyone trains a forest on its own samples and then sends trees, once: all of them to whoever has
at least as many samples, and a part that falls with the square of the ratio to whoever has fewer.
The trees and their training are scikit-learn's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from securefair.data import ParticipantData, Samples
from securefair.model import derive_seed
from securefair.records import RoundRecord
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.scores import accuracy, mcc

LEAST = 1e-12  # of a probability, so that an impossible class costs a finite number of nats


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees, each with the classes it knows, since a participant may lack some.

    A tree's vote counts for the classes it knows; the others get nothing from it.
    """

    trees: tuple[DecisionTreeClassifier, ...]
    known: tuple[NDArray[np.int64], ...]  # of each tree: the class of each of its outputs
    classes: int  # M

    def __len__(self) -> int:
        return len(self.trees)

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of the trees' class probabilities, (B, M); features (B, d)."""
        total = np.zeros((len(features), self.classes))
        # What every tree would check and convert anew, which takes longer than its answer.
        checked = np.ascontiguousarray(features, dtype=np.float32)
        for tree, known in zip(self.trees, self.known, strict=True):
            total[:, known] += tree.predict_proba(checked, check_input=False)
        return total / len(self.trees)

    def predict(self, features: NDArray[np.float64]) -> NDArray[np.int64]:
        """The most probable class of each sample, (B,)."""
        return np.asarray(self.probabilities(features).argmax(axis=1), dtype=np.int64)

    def some(self, count: int, rng: np.random.Generator) -> Forest:
        """So many of the trees, chosen at random."""
        chosen = sorted(rng.permutation(len(self.trees))[:count].tolist())
        return Forest(
            tuple(self.trees[i] for i in chosen), tuple(self.known[i] for i in chosen), self.classes
        )

    def joined(self, others: Sequence[Forest]) -> Forest:
        """This forest's trees and all the others'."""
        every = (self, *others)
        return Forest(
            tuple(tree for forest in every for tree in forest.trees),
            tuple(known for forest in every for known in forest.known),
            self.classes,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ForestPopulation:
    """Participants with tables, and how many trees each trains."""

    participants: tuple[ParticipantData, ...]
    trees: tuple[int, ...]

    def __post_init__(self) -> None:
        count = len(self.participants)
        check_settings(
            self,
            participants=(count >= 2, "2 or more"),
            trees=(len(self.trees) == count and min(self.trees) >= 1, f"{count}, each 1 or more"),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Of all participants, in order."""
        return tuple(participant.name for participant in self.participants)


@dataclass(frozen=True, eq=False)
class ForestState:
    """Everyone's forest: its own at first, with what it received afterwards."""

    seed: int
    round: int
    forests: tuple[Forest, ...]


@dataclass(frozen=True, kw_only=True)
class FairSlForest:
    """One round of communication; later rounds change nothing.

    With `equal`, everyone sends everyone all its trees: standard swarm learning, the comparison.
    """

    equal: bool = False
    name: str = "fairsl-forest"

    def init(self, population: ForestPopulation, seed: int) -> ForestState:
        """Everyone trains its own forest."""
        return ForestState(
            seed,
            0,
            tuple(
                grown(own.train, trees, derive_seed(seed, "forest", own.name))
                for own, trees in zip(population.participants, population.trees, strict=True)
            ),
        )

    def round(
        self, state: ForestState, population: ForestPopulation
    ) -> tuple[ForestState, RoundRecord]:
        """Everyone sends trees, all at once, in round 0."""
        names, count = population.names, len(population.participants)
        sizes = [len(own.train) for own in population.participants]
        forests, links, sent = state.forests, [[False] * count for _ in range(count)], [0] * count
        if state.round == 0:
            received: list[list[Forest]] = [[] for _ in range(count)]
            for i in range(count):
                for j in range(count):
                    if i == j:
                        continue
                    number = population.trees[i]
                    if not self.equal:
                        number = trees_sent(number, sizes[i], sizes[j])
                    draw = derive_seed(state.seed, f"trees for {names[j]}", names[i])
                    received[j].append(forests[i].some(number, np.random.default_rng(draw)))
                    links[j][i] = True
                    sent[i] += number
            forests = tuple(
                forest.joined(others) for forest, others in zip(forests, received, strict=True)
            )
        predicted = [
            (forest.predict(own.test.features), own.test.labels)
            for forest, own in zip(forests, population.participants, strict=True)
        ]
        empty: list[list[float | None]] = [[None] * count for _ in range(count)]
        record = RoundRecord(
            algorithm=self.name,
            round=state.round,
            forced=False,
            accuracy=[accuracy(found, own) for found, own in predicted],
            mcc=[mcc(found, own) for found, own in predicted],
            cross_entropy=[
                _cross_entropy(forest, own.train)
                for forest, own in zip(forests, population.participants, strict=True)
            ],
            reputation=empty,
            alignment=empty,
            distillation_loss=empty,
            asked=links,
            answered=links,
            numbers_sent=sent,  # counted in trees
        )
        return ForestState(state.seed, state.round + 1, forests), record


def trees_sent(trees: int, sender: int, receiver: int) -> int:
    """How many of its trees a sender gives, by both sides' numbers of samples (Eq. 5).

    All to whoever has at least as many samples, else ceil(t (s_receiver / s_sender)^2).
    """
    if sender <= receiver:
        return trees
    # In integers: 50 trees at a tenth of the samples are half a tree, never a rounding error more.
    return -(-trees * receiver**2 // sender**2)


def grown(samples: Samples, trees: int, seed: int) -> Forest:
    """A forest of so many trees; samples of one class alone are fine."""
    forest = RandomForestClassifier(n_estimators=trees, random_state=seed % 2**32)
    forest.fit(samples.features, samples.labels)
    known = np.asarray(forest.classes_, dtype=np.int64)
    return Forest(tuple(forest.estimators_), (known,) * trees, samples.classes)


def _cross_entropy(forest: Forest, samples: Samples) -> float:
    own = forest.probabilities(samples.features)[np.arange(len(samples)), samples.labels]
    return float(-np.log(np.maximum(own, LEAST)).mean())


def trees_in_proportion(sizes: Sequence[int], least: int) -> tuple[int, ...]:
    """Trees in proportion to samples, the smallest participant with `least` of them."""
    return tuple(math.ceil(least * size / min(sizes)) for size in sizes)
