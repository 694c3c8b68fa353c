"""Participants with networks of one architecture, and how these score on their samples.

Models are rows of numbers (`model.stacked`): a score is that of many networks at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from securefair.data import ParticipantData, Samples
from securefair.errors import ConfigError, DataError
from securefair.model import Stacked, StackedSamples, all_logits, architecture
from securefair.records import Matrix, RoundRecord
from securefair.worth import check_participants

Part = Literal["train", "validation", "test"]


@dataclass(frozen=True, eq=False)
class Scores:
    """Accuracy in [0, 1] and mean cross-entropy in nats of as many networks, each (K,)."""

    accuracy: Tensor
    cross_entropy: Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredParticipants:
    """Participants whose networks are scored, each on samples of its own.

    Raises:
        ConfigError: fewer than two participants, two of one name, one whose samples or classes
            differ from the others', an unknown network, or a setting out of range.
        DataError: a participant has no samples.
    """

    participants: tuple[ParticipantData, ...]
    network: str = "small-cnn"  # see model.architectures
    device: str = "cpu"
    double: bool = False  # float64, for comparisons that must be exact; otherwise float32
    train_scored: int | None = 2048  # training samples of each that records score; None: all

    def __post_init__(self) -> None:
        if self.train_scored is not None and self.train_scored < 1:
            raise ConfigError(
                "out of range",
                where="train_scored",
                found=self.train_scored,
                expected="1 or more, or None",
            )
        check_participants(self.participants)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all participants, in order; rows of all arrays follow it."""
        return tuple(participant.name for participant in self.participants)

    @property
    def sizes(self) -> Tensor:
        """Training samples of each participant, (N,)."""
        return torch.tensor([len(p.train) for p in self.participants], dtype=self.stacked.dtype)

    @property
    def classes(self) -> int:
        """Number of classes, M."""
        return self.participants[0].train.classes

    @cached_property
    def stacked(self) -> Stacked:
        """The architecture that all participants share."""
        shape = tuple(self.participants[0].train.features.shape[1:])
        return Stacked(
            architecture(self.network, shape, self.classes),
            dtype=torch.float64 if self.double else torch.float32,
            device=self.device,
        )

    def samples(self, part: Part) -> StackedSamples:
        """All participants' samples of one part.

        Raises:
            DataError: a participant has none.
        """
        if part == "train":
            return self._train
        return self._test if part == "test" else self._validation

    @cached_property
    def _train(self) -> StackedSamples:
        return StackedSamples.of([p.train for p in self.participants], self.stacked)

    @cached_property
    def _test(self) -> StackedSamples:
        return StackedSamples.of([p.test for p in self.participants], self.stacked)

    @cached_property
    def _validation(self) -> StackedSamples:
        parts: list[Samples] = []
        for participant in self.participants:
            if participant.validation is None:
                raise DataError(
                    "this algorithm chooses by validation samples",
                    where=participant.name,
                    hint="Hold some of the training samples out for validation",
                )
            parts.append(participant.validation)
        return StackedSamples.of(parts, self.stacked)

    def scores(self, vectors: Tensor, part: Part = "test") -> Scores:
        """Each participant's network on its own samples; vectors (N, V).

        Of training samples, those that records score.
        """
        samples = self.samples(part)
        found = []
        for n in range(len(vectors)):
            features, labels = samples.features[samples.rows(n)], samples.labels[samples.rows(n)]
            if part == "train":
                features, labels = features[self.scored_rows(n)], labels[self.scored_rows(n)]
            logits = all_logits(self.stacked, vectors[n : n + 1], features)
            found.append(_scored(logits, labels))
        return Scores(
            torch.cat([one.accuracy for one in found]),
            torch.cat([one.cross_entropy for one in found]),
        )

    @property
    def parts_scored(self) -> tuple[Part, ...]:
        """The parts of samples that records score: validation where everyone has some."""
        validated = all(participant.validation is not None for participant in self.participants)
        return ("test", "train", "validation") if validated else ("test", "train")

    def scored_rows(self, participant: int) -> Tensor:
        """Which of its training samples records score: all, or so many evenly spaced ones."""
        count = len(self.participants[participant].train)
        scored = count if self.train_scored is None else min(count, self.train_scored)
        return torch.arange(scored, device=self.stacked.device) * count // scored

    def scores_at(self, vectors: Tensor, participant: int, part: Part = "validation") -> Scores:
        """Any K networks (K, V) on the samples of one participant."""
        samples = self.samples(part)
        rows = samples.rows(participant)
        logits = all_logits(self.stacked, vectors, samples.features[rows])
        return _scored(logits, samples.labels[rows])

    def scores_each(
        self, vectors: Tensor, participants: Sequence[int], part: Part = "validation"
    ) -> Scores:
        """Any K networks (K, V), each on the samples of the participant at its place."""
        result = Scores(*(torch.empty(len(vectors), dtype=torch.float64) for _ in range(2)))
        for n in dict.fromkeys(participants):
            rows = [row for row, own in enumerate(participants) if own == n]
            found = self.scores_at(vectors[rows], n, part)
            result.accuracy[rows] = found.accuracy.cpu()
            result.cross_entropy[rows] = found.cross_entropy.cpu()
        return result

    def scores_on_all(self, vectors: Tensor, part: Part = "validation") -> Scores:
        """Any K networks (K, V) on the samples of all participants together.

        Where all hold the very same samples, as of a server's validation set, these count once.
        """
        samples, held = self.samples(part), [getattr(p, part) for p in self.participants]
        rows = samples.rows(0) if all(own is held[0] for own in held) else slice(None)
        logits = all_logits(self.stacked, vectors, samples.features[rows])
        return _scored(logits, samples.labels[rows])

    def record(
        self,
        algorithm: str,
        round: int,
        models: Tensor | Mapping[Part, Scores],
        *,
        forced: bool = False,
        links: Tensor | None = None,
        asked: Tensor | None = None,
        reputation: Tensor | None = None,
        alignment: Tensor | None = None,
        distillation_loss: Tensor | None = None,
        numbers_sent: Sequence[int] | None = None,
        present: Sequence[bool] | None = None,
    ) -> RoundRecord:
        """What the round leaves behind.

        Args:
            models: (N, V), everyone's network after the round; where it predicts with more than a
                network, its scores on the parts that `parts_scored` names.
            links: (N, N) bool, whether [n, k] participant n received something from k.
            asked: (N, N) bool, whether [n, k] participant n might have; None: as `links`.
            reputation: (N, N), NaN where there is none; the diagonal is left out, as in
                `alignment` and `distillation_loss`.
            numbers_sent: real numbers that each participant sent to others in this round.
        """
        count = len(self.names)
        nobody = torch.zeros(count, count, dtype=torch.bool)
        received = (nobody if links is None else links.bool()).tolist()
        if isinstance(models, Tensor):
            models = {part: self.scores(models, part) for part in self.parts_scored}
        return RoundRecord(
            algorithm=algorithm,
            round=round,
            forced=forced,
            accuracy=models["test"].accuracy.tolist(),
            cross_entropy=models["train"].cross_entropy.tolist(),
            reputation=_matrix(reputation, count),
            alignment=_matrix(alignment, count),
            distillation_loss=_matrix(distillation_loss, count),
            asked=received if asked is None else asked.bool().tolist(),
            answered=received,
            numbers_sent=None if numbers_sent is None else [int(n) for n in numbers_sent],
            validation_accuracy=(
                models["validation"].accuracy.tolist() if "validation" in models else None
            ),
            present=None if present is None else [bool(p) for p in present],
        )


def _scored(logits: Tensor, labels: Tensor) -> Scores:
    """Of K networks on the same samples: logits (K, B, M), labels (B,)."""
    hits = logits.argmax(dim=2) == labels
    each = cross_entropy(logits.flatten(0, 1), labels.repeat(len(logits)), reduction="none").view(
        len(logits), -1
    )
    return Scores(hits.double().mean(dim=1), each.double().mean(dim=1))


def _matrix(values: Tensor | None, count: int) -> Matrix:
    if values is None:
        return [[None] * count for _ in range(count)]
    return [
        [None if n == k or value != value else value for k, value in enumerate(row)]
        for n, row in enumerate(values.tolist())
    ]
