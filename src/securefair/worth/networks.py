"""Hospitals that train whole networks, each alone: what controls of averaging train."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from securefair.model.architectures import architecture
from securefair.model.batches import Batches, StackedSamples, draw_batches
from securefair.model.optimizer import OptimizerConfig
from securefair.model.seeds import derive_seed
from securefair.model.stacked import Stacked
from securefair.model.stacked_training import TrainStates, all_logits, train
from securefair.model.stored import Function, NamedNetwork
from securefair.records import RoundRecord
from securefair.worth.learners import Learners, LearningState, lonely_record


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkLearners(Learners):
    """Participants with networks of one architecture, which start alike and train in full batches.

    They start alike because models that are averaged do: gains are owed to the peers, not to
    another initialisation.

    Args:
        participants: all of them, in the order of records.
        network: name of the architecture (`model.architectures`).
        optimizer: of all training.

    Raises:
        ConfigError: nobody, two participants of one name, one whose samples or classes differ
            from the others', or an unknown network.
        DataError: a participant has no samples.
    """

    network: str
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)

    def trained_alone(self, seed: int) -> TrainStates:
        """Everyone before any epoch."""
        return TrainStates.start(
            self._stacked, [derive_seed(seed, "network", "")] * len(self.names)
        )

    def trained_locally(
        self, state: LearningState[TrainStates], names: Collection[str]
    ) -> TrainStates:
        """One more epoch for those named; others stay."""
        only = [n for n, name in enumerate(self.names) if name in names]
        if not only:
            return state.train_states
        seeds = [derive_seed(state.seed, f"batches {state.round}", name) for name in self.names]
        drawn = draw_batches(self._train, seeds, epochs=1, size=None)
        trained = train(
            self._stacked,
            state.train_states.of(only),
            self._train,
            Batches(tuple(drawn.indices[n] for n in only), tuple(drawn.weights[n] for n in only)),
            self.optimizer,
            names=[self.names[n] for n in only],
        )
        return state.train_states.replaced(only, trained)

    def models(self, train_states: TrainStates) -> Mapping[str, Function]:
        """Everyone's model, to be kept."""
        shape, classes = self._shape
        vectors = train_states.vectors.double().cpu().numpy()
        return {
            name: NamedNetwork(self.network, shape, classes, vector)
            for name, vector in zip(self.names, vectors, strict=True)
        }

    def test_losses(self, train_states: TrainStates) -> list[float]:
        """Each participant's mean cross-entropy on its own test samples."""
        return self._scores(train_states, "test")[1]

    def round_record(self, algorithm: str, round: int, train_states: TrainStates) -> RoundRecord:
        """What the round leaves behind, networks as after it."""
        return lonely_record(
            algorithm,
            round,
            accuracy=self._scores(train_states, "test")[0],
            cross_entropy=self._scores(train_states, "train")[1],
        )

    @property
    def _shape(self) -> tuple[tuple[int, ...], int]:
        """Of a sample, and the number of classes."""
        train = self.participants[0].train
        return tuple(train.features.shape[1:]), train.classes

    @cached_property
    def _stacked(self) -> Stacked:
        return Stacked(architecture(self.network, *self._shape), dtype=torch.float64)

    @cached_property
    def _train(self) -> StackedSamples:
        return StackedSamples.of([own.train for own in self.participants], self._stacked)

    @cached_property
    def _test(self) -> StackedSamples:
        return StackedSamples.of([own.test for own in self.participants], self._stacked)

    def _scores(
        self, train_states: TrainStates, part: Literal["train", "test"]
    ) -> tuple[list[float], list[float]]:
        """Accuracy and mean cross-entropy of everyone's network on its own samples."""
        samples = self._train if part == "train" else self._test
        accuracy, losses = [], []
        for n in range(len(self.names)):
            own = samples.rows(n)
            (logits,) = all_logits(
                self._stacked, train_states.vectors[n : n + 1], samples.features[own]
            )
            labels: Tensor = samples.labels[own]
            accuracy.append(float((logits.argmax(dim=1) == labels).double().mean()))
            losses.append(float(cross_entropy(logits, labels)))
        return accuracy, losses
