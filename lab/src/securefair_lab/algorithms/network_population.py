"""Participants that distil whole networks in the clear: CYCle and VPDL as the paper ran them.

The same decisions as for heads (`population`), on models and batches of the experiments: local
epochs of mini-batches on cross-entropy and distillation loss, teachers in evaluation mode on the
very samples that the student trains on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from securefair.data import ParticipantData
from securefair.model import (
    Distillation,
    Function,
    NamedNetwork,
    TrainStates,
    all_logits,
    approximate_kl,
    loss_gradients,
)
from securefair.records import RoundRecord
from securefair.worth import LearningState, cosine
from securefair_lab.algorithms.distillation import NOTHING, PeerNumbers, Peers
from securefair_lab.algorithms.schedule import Schedule, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation

BEFORE_ROUNDS = -1  # the clock of pretraining; rounds count from 0


@dataclass(frozen=True, eq=False)
class NetworkAnswers:
    """Of each student in order: who answered, and with what on the student's training samples."""

    teachers: tuple[tuple[int, ...], ...]
    logits: tuple[Tensor, ...]  # each (teachers, samples, classes)


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkPopulation(StackedPopulation):
    """The same with the settings of distillation; by default those of CYCle's experiments.

    Any algorithm on a `StackedPopulation` takes it as well. `Standalone` and `EarlyStopping` need
    it too: they train as long as distillation does.

    Args:
        pretraining_epochs: everyone alone, before round 0.
        local_epochs: of each participant in a round.
        schedule: of the learning rate, by rounds.
        common_start: one initialisation for all. Only answers are exchanged, so nothing asks for
            it, but algorithms that average models do and may be compared.
        temperature: T of the distillation loss.
        alignment_temperature: of the cross-entropy that alignment compares with; see `Population`.
        lambda_0: weight of the distillation loss (50 on CIFAR, 20 on skin lesions).
        forced_every: R.

    Raises:
        ConfigError: as `StackedPopulation`, or a setting out of range.
    """

    pretraining_epochs: int = 25
    local_epochs: int = 1
    schedule: Schedule | None = None
    common_start: bool = False
    temperature: float = 5.0
    alignment_temperature: float = 1.0
    lambda_0: float = 50.0
    forced_every: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(
            self,
            pretraining_epochs=(self.pretraining_epochs >= 0, "0 or more"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            temperature=(0 < self.temperature < math.inf, "above 0"),
            alignment_temperature=(0 < self.alignment_temperature < math.inf, "above 0"),
            lambda_0=(0 <= self.lambda_0 < math.inf, "0 or more"),
            forced_every=(self.forced_every >= 1, "1 or more rounds"),
        )

    def joined_by(self, participants: Sequence[ParticipantData]) -> NetworkPopulation:
        """The same settings for other participants."""
        return replace(self, participants=tuple(participants))

    def trained_alone(self, seed: int) -> TrainStates:
        """Alg. 2, line 1: everyone's learner before round 0."""
        return self.train(
            self.start(seed, common=self.common_start),
            epochs=self.pretraining_epochs,
            seed=seed,
            clock=BEFORE_ROUNDS,
            optimizer=at_round(self.schedule, self.optimizer, 0),
        )

    def trained_locally(
        self, state: LearningState[TrainStates], names: Collection[str]
    ) -> TrainStates:
        """`local_epochs` more on cross-entropy alone for those named; others stay."""
        only = [n for n, name in enumerate(self.names) if name in names]
        if not only:
            return state.train_states
        trained = self.train(
            state.train_states.of(only),
            epochs=self.local_epochs,
            seed=state.seed,
            clock=state.round,
            optimizer=at_round(self.schedule, self.optimizer, state.round),
            only=only,
        )
        return state.train_states.replaced(only, trained)

    def answers(self, state: LearningState[TrainStates], answering: Peers) -> NetworkAnswers:
        """Logits of the round's snapshot, of all that answer one student in one pass."""
        samples, place = self.samples("train"), {name: n for n, name in enumerate(self.names)}
        teachers = tuple(tuple(place[k] for k in answering[name]) for name in self.names)
        logits = []
        for n, rows in enumerate(teachers):
            if not rows:
                logits.append(samples.features.new_zeros((0, len(self.participants[n].train), 0)))
                continue
            computed = all_logits(
                self.stacked,
                state.train_states.vectors[list(rows)],
                samples.features[samples.rows(n)],
            )
            logits.append(self.sent(computed, state.round, state.seed, only=rows))
        return NetworkAnswers(teachers, tuple(logits))

    def alignments(
        self, state: LearningState[TrainStates], received: NetworkAnswers
    ) -> PeerNumbers:
        """cos(grad L_CE, grad L_DL(n,k)) over all training samples, in evaluation mode (Eq. 6)."""
        samples = self.samples("train")
        result = {}
        for n, (teachers, answers) in enumerate(
            zip(received.teachers, received.logits, strict=True)
        ):
            own = samples.rows(n)
            labels = samples.labels[own]

            def losses(
                logits: Tensor, rows: slice, labels: Tensor = labels, answers: Tensor = answers
            ) -> list[Tensor]:
                softened = logits / self.alignment_temperature
                return [
                    cross_entropy(softened, labels[rows], reduction="sum"),
                    *(approximate_kl(logits, z[rows], self.temperature).sum() for z in answers),
                ]

            found: dict[str, float] = {}
            if teachers:
                vector, features = state.train_states.vectors[n], samples.features[own]
                gradients = loss_gradients(self.stacked, vector, features, losses).double().cpu()
                first, *others = gradients.numpy()
                found = {
                    self.names[k]: cosine(first, other)
                    for k, other in zip(teachers, others, strict=True)
                }
            result[self.names[n]] = found
        return result

    def distillation_losses(
        self, state: LearningState[TrainStates], received: NetworkAnswers
    ) -> PeerNumbers:
        """The approximate KL a sample, on the samples that records score."""
        samples = self.samples("train")
        result = {}
        for n, (teachers, answers) in enumerate(
            zip(received.teachers, received.logits, strict=True)
        ):
            rows = self.scored_rows(n)
            losses: list[float] = []
            if teachers:
                features = samples.features[samples.rows(n)][rows]
                logits = all_logits(self.stacked, state.train_states.vectors[n : n + 1], features)
                apart = approximate_kl(logits.double(), answers[:, rows].double(), self.temperature)
                losses = apart.mean(dim=1).tolist()
            result[self.names[n]] = {
                self.names[k]: loss for k, loss in zip(teachers, losses, strict=True)
            }
        return result

    def updated(
        self, state: LearningState[TrainStates], received: NetworkAnswers, weights: PeerNumbers
    ) -> TrainStates:
        """`local_epochs` on L_CE + lambda_0 sum_k lambda_nk L_DL(n,k)."""
        return self.train(
            state.train_states,
            epochs=self.local_epochs,
            seed=state.seed,
            clock=state.round,
            optimizer=at_round(self.schedule, self.optimizer, state.round),
            distillation=self._taught(received, weights),
        )

    def _taught(self, received: NetworkAnswers, weights: PeerNumbers) -> Distillation:
        """The teachers' weighted mean logits, and their weight altogether."""
        means, totals = [], []
        for n, (teachers, answers) in enumerate(
            zip(received.teachers, received.logits, strict=True)
        ):
            given = [weights[self.names[n]][self.names[k]] for k in teachers]
            total = sum(given)
            if total > 0:
                share = torch.tensor(given, dtype=torch.float64).to(answers) / total
                means.append(torch.einsum("k,kbm->bm", share, answers))
            else:
                means.append(answers.new_zeros((answers.shape[1], self.classes)))
            totals.append(self.lambda_0 * total)
        strength = torch.tensor(totals, dtype=torch.float64, device=self.stacked.device)
        return Distillation(torch.cat(means), strength, self.temperature)

    def models(self, train_states: TrainStates) -> dict[str, Function]:
        """Everyone's model, to be kept."""
        shape = tuple(self.participants[0].train.features.shape[1:])
        vectors = train_states.vectors.double().cpu().numpy()
        return {
            name: NamedNetwork(self.network, shape, self.classes, vector)
            for name, vector in zip(self.names, vectors, strict=True)
        }

    def test_losses(self, train_states: TrainStates) -> list[float]:
        """Each participant's mean cross-entropy on its own test samples."""
        losses: list[float] = self.scores(train_states.vectors).cross_entropy.tolist()
        return losses

    def round_record(
        self,
        algorithm: str,
        round: int,
        train_states: TrainStates,
        *,
        forced: bool = False,
        asked: Peers = NOTHING,
        answered: Peers = NOTHING,
        reputation: PeerNumbers = NOTHING,
        alignment: PeerNumbers = NOTHING,
        distillation_loss: PeerNumbers = NOTHING,
    ) -> RoundRecord:
        """What the round leaves behind; an answer is as many numbers as it has logits."""
        links = self._flags(answered)
        asked_numbers = torch.tensor([len(p.train) * self.classes for p in self.participants])
        sent = (links * asked_numbers[:, None]).sum(dim=0)
        return self.record(
            algorithm,
            round,
            train_states.vectors,
            forced=forced,
            links=links,
            asked=self._flags(asked),
            reputation=self._matrix(reputation),
            alignment=self._matrix(alignment),
            distillation_loss=self._matrix(distillation_loss),
            numbers_sent=sent.tolist(),
        )

    def _flags(self, peers: Peers) -> Tensor:
        return torch.tensor([[k in peers.get(n, ()) for k in self.names] for n in self.names])

    def _matrix(self, numbers: Mapping[str, Mapping[str, float]]) -> Tensor:
        rows = [[numbers.get(n, {}).get(k, np.nan) for k in self.names] for n in self.names]
        return torch.tensor(rows, dtype=torch.float64)
