"""kNN-Per (Marfoq, Neglia, Kameni, Vidal, ICML 2022): a common model and one's own neighbours.

Everyone trains FedAvg's model h and keeps its training samples as the model's representation phi
shows them. A sample x is then predicted by (Eqs. 7 to 9 of the paper)

    p(y | x)  =  lambda p_knn(y | x) + (1 - lambda) p_h(y | x)
    p_knn(y | x)  ~  sum over the k nearest own samples i of  [y_i = y] exp(-d(phi(x), phi(x_i)))

with the Euclidean distance d. phi is what goes into the last fully connected layer. The published
code weighs by exp(-d^2 / (D s)) instead, D the numbers of phi and s a scale.

Assumes networks of one architecture that have such a layer, and that own samples resemble those to
be predicted. Disclosure: as FedAvg, a model trained on its data to the server in every round;
representations, labels and neighbours never leave a participant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import one_hot, softmax

from securefair.model import all_logits
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import through_server
from securefair_lab.algorithms.scored import Part, Scores
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.fedavg import FedAvg, FederatedState
from securefair_lab.papers.last_layer import representations

WEIGHTS = tuple(step / 10 for step in range(11))
"""What lambda is chosen from on validation samples, as in the paper."""
QUERIES = 1024  # samples whose distances are held at once


@dataclass(frozen=True, kw_only=True)
class KnnPer:
    """kNN-Per with full participation. Records score the interpolated predictions.

    On training samples, whose cross-entropy records keep, a sample is not its own neighbour.

    Args:
        of: the federated algorithm that trains the common model.
        neighbours: k; all own samples, if they are fewer (DPFL's comparison: 10).
        weight: lambda, 0 is the common model alone, 1 the neighbours alone (DPFL's comparison:
            0.5); None: the one of `WEIGHTS` that does best on each participant's validation
            samples in each round, the smallest of equals.
        bandwidth: what distances are divided by; 1 is the paper's formula.

    Raises:
        ConfigError: a setting out of range.
    """

    of: FedAvg = field(default_factory=FedAvg)
    neighbours: int = 10
    weight: float | None = 0.5
    bandwidth: float = 1.0
    name: str = "knn_per"

    def __post_init__(self) -> None:
        check_settings(
            self,
            neighbours=(self.neighbours >= 1, "1 or more"),
            weight=(self.weight is None or 0 <= self.weight <= 1, "in [0, 1], or None"),
            bandwidth=(0 < self.bandwidth < math.inf, "above 0"),
        )

    def init(self, population: StackedPopulation, seed: int) -> FederatedState:
        """The start of the federated algorithm."""
        return self.of.init(population, seed)

    def round(
        self, state: FederatedState, population: StackedPopulation
    ) -> tuple[FederatedState, RoundRecord]:
        """A federated round; everyone then predicts with its neighbours as well.

        Raises:
            DataError: lambda is to be chosen, and a participant has no validation samples.
            ModelError: the network has no fully connected layer.
        """
        after = self.of.updated(state, population)
        count = len(population.names)
        record = population.record(
            self.name,
            state.round,
            self._scores(population, after.vectors),
            links=through_server(count),
            numbers_sent=[population.stacked.length] * count,
        )
        return LearningState(state.seed, state.round + 1, after), record

    def _scores(self, population: StackedPopulation, vectors: Tensor) -> dict[Part, Scores]:
        """Everyone's interpolated predictions on its own samples."""
        if self.weight is None:
            population.samples("validation")  # raises where someone has none
        found: dict[Part, list[tuple[float, float]]] = {p: [] for p in population.parts_scored}
        for n, vector in enumerate(vectors):
            seen = {part: self.predictions(population, n, vector, part) for part in found}
            weight = chosen_weight(seen["validation"]) if self.weight is None else self.weight
            for part, said in seen.items():
                found[part].append((said.accuracy(weight), said.cross_entropy(weight)))
        return {
            part: Scores(*torch.tensor(pairs, dtype=torch.float64).unbind(dim=1))
            for part, pairs in found.items()
        }

    def predictions(
        self, population: StackedPopulation, participant: int, vector: Tensor, part: Part
    ) -> Predictions:
        """What the model (V,) and the participant's neighbours say of its samples of one part.

        Of training samples, those that records score, each without itself as a neighbour.
        """
        stacked, store = population.stacked, population.samples("train")
        own, samples = store.rows(participant), population.samples(part)
        features = samples.features[samples.rows(participant)]
        labels = samples.labels[samples.rows(participant)]
        kept = representations(stacked, vector, store.features[own])
        if part == "train":
            rows = population.scored_rows(participant)
            features, labels, asked, own_row = features[rows], labels[rows], kept[rows], rows
        else:
            asked, own_row = representations(stacked, vector, features), None
        model = softmax(all_logits(stacked, vector[None], features)[0].double(), dim=1)
        near = neighbours_say(
            asked.double() / self.bandwidth,
            kept.double() / self.bandwidth,
            one_hot(store.labels[own], population.classes).double(),
            self.neighbours,
            without=own_row,
        )
        return Predictions(model, near, labels)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Probabilities (B, M), by the common model and by neighbours, of samples with labels (B,)."""

    model: Tensor
    neighbours: Tensor
    labels: Tensor

    def interpolated(self, weight: float) -> Tensor:
        """lambda p_knn + (1 - lambda) p_h, (B, M)."""
        return weight * self.neighbours + (1 - weight) * self.model

    def accuracy(self, weight: float) -> float:
        """In [0, 1]."""
        return float((self.interpolated(weight).argmax(dim=1) == self.labels).double().mean())

    def cross_entropy(self, weight: float) -> float:
        """Nats a sample; a label of probability 0 costs as much as the smallest float."""
        right = self.interpolated(weight).gather(1, self.labels[:, None])
        return float(-right.clamp(min=torch.finfo(right.dtype).tiny).log().mean())


def chosen_weight(validation: Predictions) -> float:
    """The lambda of `WEIGHTS` that does best on these samples; the smallest of equals."""
    return max(WEIGHTS, key=validation.accuracy)


def neighbours_say(
    asked: Tensor, kept: Tensor, classes: Tensor, count: int, *, without: Tensor | None = None
) -> Tensor:
    """p_knn, (B, M): the classes of the nearest kept points, weighted by exp(-distance).

    Args:
        asked: (B, D).
        kept: (K, D).
        classes: (K, M), one-hot.
        count: k; all that may be, if they are fewer.
        without: (B,), a kept point for each asked one that is no neighbour of it. Where it is the
            only one there are no neighbours, and every class is as likely as any other.
    """
    count = min(count, len(kept) - (without is not None))
    if count == 0:
        return torch.full_like(classes[:1], 1 / classes.shape[1]).expand(len(asked), -1)
    found = []
    for start in range(0, len(asked), QUERIES):
        points = asked[start : start + QUERIES]
        distance = torch.cdist(points, kept, compute_mode="donot_use_mm_for_euclid_dist")
        if without is not None:
            distance.scatter_(1, without[start : start + QUERIES, None], math.inf)
        nearest = distance.topk(count, largest=False)
        # A quotient of sums of exp(-d) is a softmax, which far neighbours do not underflow.
        weights = softmax(-nearest.values, dim=1)
        found.append(torch.einsum("bk,bkm->bm", weights, classes[nearest.indices]))
    return torch.cat(found)
