"""One participant's row of the mixing matrix, by names: `worth.mixing` and `own_row` on it.

A sender sees the weight that its model gets in a sum. Normalised, that weight would follow from
the alignments of all other neighbours. So a row is kept as it is before it is normalised: the entry
of a neighbour follows from the levels of that neighbour alone, which it is charged for. Senders are
told these entries, and the receiver divides what it opened by the sum of them, which it knows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.worth import mixing, own_row

Array = NDArray[np.float64]

UNKNOWN = 0.5
"""Similarity to a neighbour whose gradient was never compared: that of orthogonal ones."""


@dataclass(frozen=True, eq=False)
class WeightRow:
    """W_i and what it was made of; immutable.

    Attributes:
        agreement: what was agreed.
        own: position of the participant.
        unnormalised: W_i (N,) but for a factor; in (0, 1] on the graph.
        similarities: s_i (N,), the last that were found; 1 for itself.
    """

    agreement: GossipAgreement
    own: int
    unnormalised: Array
    similarities: Array

    @property
    def weights(self) -> Array:
        """W_i (N,), summing to 1."""
        weights: Array = self.unnormalised / self.unnormalised.sum()
        return weights

    @classmethod
    def start(cls, agreement: GossipAgreement, name: str) -> WeightRow:
        """The row before the first alignment."""
        own = agreement.participants.index(name)
        similarities = np.full(len(agreement.participants), UNKNOWN)
        similarities[own] = 1.0
        return cls(agreement, own, agreement.weights[own], similarities)

    def similarity(self, cosine: float) -> float:
        """s = (1 + cos) / 2, as the nearest of the agreed levels.

        Nothing finer of an opened cosine may reach a weight: weights go to others in the clear.
        """
        found = mixing.similarity(np.array([cosine]))
        return float(mixing.round_similarities(found, self.agreement.gossip.levels)[0])

    def weighed(self, similarities: Mapping[str, float]) -> WeightRow:
        """The row after an alignment; neighbours that did not answer keep their similarity."""
        names, found = self.agreement.participants, self.similarities.copy()
        for name, value in similarities.items():
            found[names.index(name)] = value
        neighbours = self.agreement.graph[self.own]
        attracted = mixing.attractions(found, neighbours, beta=self.agreement.gossip.beta)
        smoothed = mixing.smooth(self.unnormalised, attracted, alpha=self.agreement.fairness.alpha)
        return replace(self, unnormalised=smoothed, similarities=found)

    def link_probabilities(self) -> dict[str, float]:
        """How likely each neighbour gets the own model."""
        agreement = self.agreement
        probabilities = own_row.link_probabilities(
            self.weights, self.own, relative=agreement.gossip.relative
        )
        return {
            name: float(probabilities[at])
            for at, name in enumerate(agreement.participants)
            if agreement.graph[self.own, at] and at != self.own
        }

    def of_neighbours(self) -> dict[str, float | None]:
        """Weights of the others' models; None for who is no neighbour."""
        agreement, weights = self.agreement, self.weights
        return {
            name: float(weights[at]) if agreement.graph[self.own, at] else None
            for at, name in enumerate(agreement.participants)
            if at != self.own
        }

    def mixed(self, senders: Collection[str]) -> Array:
        """The row of W~ if these arrive; the own unit vector if they are too few."""
        kept = self._kept(senders)
        mixed: Array = kept / kept.sum()
        return mixed

    def told(self, senders: Collection[str]) -> dict[str, float]:
        """The weights that senders of a sum are told, at most 1 together; 0 if they are too few.

        Without a largest share each follows from that sender's own levels, and from how many
        senders there are. With one, weights may be cut at what the others have.
        """
        kept, names = self._kept(senders), self.agreement.participants
        return {name: float(kept[names.index(name)]) / len(senders) for name in senders}

    def scale(self, senders: Collection[str]) -> float:
        """What turns a sum with told weights into one with those of W~."""
        return len(senders) / float(self._kept(senders).sum())

    def _kept(self, senders: Collection[str]) -> Array:
        agreement = self.agreement
        return own_row.kept_row(
            self.unnormalised,
            np.array([name in senders for name in agreement.participants]),
            self.own,
            min_senders=agreement.gossip.min_senders,
            max_share=agreement.gossip.max_share,
        )
