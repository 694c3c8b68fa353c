"""Participants that distil heads: who they are, what they agreed on, and what they compute.

The reference of the encrypted runs, written for one participant after the other like the papers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from msgspec import structs
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import kl_div, log_softmax

from securefair.data import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.model import (
    Clip,
    Head,
    Prevalence,
    Reconstructor,
    TrainState,
    descend,
    flat_gradient,
    own_prevalence,
    training_loss,
    weighed_cross_entropy,
)
from securefair.records import Matrix, RoundRecord
from securefair.worth import HeadLearners, Heads, LearningState, cosine
from securefair_lab.algorithms.distillation import NOTHING, PeerNumbers, Peers
from securefair_lab.algorithms.releases import LogitsRelease, ProjectionRelease, Release, Rounding

Logits = NDArray[np.float64]
Alignment = Callable[[str, Logits], float]
PeerLogits = Mapping[str, Mapping[str, Logits]]
Channel = Callable[[Logits], Logits]


@dataclass(frozen=True, kw_only=True)
class Population(HeadLearners):
    """The participants of a collaboration and its settings (CYCle, section 5 and App. D).

    `alignment_temperature` decides what a reputation means. At 1 the plain cross-entropy is
    compared: where a student fits its own samples well, that gradient is small and of arbitrary
    direction, and reputations become erratic. At T both losses see sigma_T of the logits, as
    CYCle's section 4.1 words it: the labels keep their pull, teachers that contradict them score
    0, and reputations are lower altogether.

    Raises:
        ConfigError: fewer than two participants, two of one name, one whose features or classes
            differ from the others', or a setting out of range.
    """

    temperature: float = 5.0  # T of the distillation loss
    alignment_temperature: float = 1.0  # of the cross-entropy that alignment compares with
    lambda_0: float = 50.0  # weight of the distillation loss
    prevalence: Prevalence = "teacher"  # whose class frequencies a student's targets have
    forced_every: int = 5  # R
    release: Release = field(default_factory=ProjectionRelease)
    rounding: Rounding | None = None  # of the teachers' weights; None: as they were trained
    clip: Clip = field(default_factory=Clip)  # of what a student opens
    teachers: Mapping[str, Head] | None = None  # that answer; None: those in training
    private_alignments: Mapping[str, Alignment] | None = None  # by peer and answer; None: Eq. 6

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, accepted, expected in (
            ("temperature", 0 < self.temperature < math.inf, "above 0"),
            (
                "alignment_temperature",
                0 < self.alignment_temperature < math.inf,
                "above 0",
            ),
            ("lambda_0", 0 <= self.lambda_0 < math.inf, "0 or more"),
            ("forced_every", self.forced_every >= 1, "1 or more rounds"),
        ):
            if not accepted:
                raise ConfigError(
                    "out of range", where=name, found=getattr(self, name), expected=expected
                )

    @property
    def features(self) -> int:
        """Width of a feature vector, d."""
        return int(self.participants[0].train.features.shape[1])

    @property
    def classes(self) -> int:
        """Number of classes, M."""
        return self.participants[0].train.classes

    def teacher_logits(self, head: Head, features: NDArray[np.float64]) -> Logits:
        """Features (B, d) -> logits (B, M) as a teacher computes them for others."""
        if self.rounding is None:
            return head.logits(features)
        return self.rounding.logits(head, features)

    def answers(self, state: LearningState[Heads], answering: Peers) -> PeerLogits:
        """The teachers' logits on each student's samples, as released and made use of."""

        def received(student: ParticipantData, teacher: str) -> Logits:
            logits = self._opened(state, student, teacher)
            if self.prevalence == "own":
                logits = own_prevalence(logits, student.train.labels, student.train.weights)
            return self.clip.applied(logits)

        return {
            student.name: {
                teacher: received(student, teacher) for teacher in answering[student.name]
            }
            for student in self.participants
        }

    def alignments(self, state: LearningState[Heads], received: PeerLogits) -> PeerNumbers:
        """cos(grad L_CE, grad L_DL(n,k)) over all parameters (Eq. 6), or what stands in for it.

        What stands in for it sees answers as they were opened: what a student makes of them first
        depends on all of its patients.
        """
        if self.private_alignments is not None:
            return {
                student.name: {
                    peer: self.private_alignments[student.name](
                        peer, self._opened(state, student, peer)
                    )
                    for peer in received[student.name]
                }
                for student in self.participants
            }
        result = {}
        for student in self.participants:
            model = state.train_states[student.name].model
            logits = model(torch.tensor(student.train.features))
            hard = weighed_cross_entropy(logits / self.alignment_temperature, student.train)
            own = flat_gradient(hard, model)
            result[student.name] = {
                teacher: cosine(own, flat_gradient(_exact_kl(logits, z, self.temperature), model))
                for teacher, z in received[student.name].items()
            }
        return result

    def updated(
        self, state: LearningState[Heads], received: PeerLogits, weights: PeerNumbers
    ) -> dict[str, TrainState]:
        """`local_steps` full-batch steps on L_CE + lambda_0 sum_k lambda_nk L_DL(n,k)."""
        train_states = {}
        for student in self.participants:
            train_state = state.train_states[student.name].copy()
            loss = self._loss(
                train_state.model, student.train, received[student.name], weights[student.name]
            )
            descend(train_state, loss, self.local_steps)
            train_states[student.name] = train_state
        return train_states

    def distillation_losses(self, state: LearningState[Heads], received: PeerLogits) -> PeerNumbers:
        """The approximate KL a sample: the exact one less the mean logsumexp(z / T)."""
        temperature, result = self.temperature, {}
        for student in self.participants:
            model = state.train_states[student.name].model
            logits = torch.from_numpy(model.logits(student.train.features))
            result[student.name] = {
                teacher: float(
                    _exact_kl(logits, z, temperature)
                    - torch.logsumexp(torch.from_numpy(z) / temperature, dim=1).mean()
                )
                for teacher, z in received[student.name].items()
            }
        return result

    def round_record(
        self,
        algorithm: str,
        round: int,
        train_states: Heads,
        *,
        forced: bool = False,
        asked: Peers = NOTHING,
        answered: Peers = NOTHING,
        reputation: PeerNumbers = NOTHING,
        alignment: PeerNumbers = NOTHING,
        distillation_loss: PeerNumbers = NOTHING,
    ) -> RoundRecord:
        """What the round leaves behind, states as after it; matrices in the order of `names`."""

        def matrix(numbers: PeerNumbers) -> Matrix:
            return [[numbers.get(n, {}).get(k) for k in self.names] for n in self.names]

        def flags(peers: Peers) -> list[list[bool]]:
            return [[k in peers.get(n, ()) for k in self.names] for n in self.names]

        return structs.replace(
            super().round_record(algorithm, round, train_states),
            forced=forced,
            reputation=matrix(reputation),
            alignment=matrix(alignment),
            distillation_loss=matrix(distillation_loss),
            asked=flags(asked),
            answered=flags(answered),
        )

    def _opened(
        self, state: LearningState[Heads], student: ParticipantData, teacher: str
    ) -> Logits:
        """A teacher's logits on a student's samples, as released."""
        return self._channels[student.name](
            self.teacher_logits(self._answering(state, teacher), student.train.features)
        )

    def _answering(self, state: LearningState[Heads], teacher: str) -> Head:
        """Whose logits a student gets."""
        if self.teachers is not None:
            return self.teachers[teacher]
        return state.train_states[teacher].model

    @cached_property
    def _channels(self) -> Mapping[str, Channel]:
        """What each student makes of the logits a teacher computes for it."""
        return {p.name: _open_channel(self.release, p.train) for p in self.participants}

    def _loss(
        self,
        model: Head,
        samples: Samples,
        received: Mapping[str, Logits],
        weights: Mapping[str, float],
    ) -> Callable[[], Tensor]:
        x = torch.tensor(samples.features)

        def loss(logits: Tensor) -> Tensor:
            value = weighed_cross_entropy(logits, samples)
            for teacher, z in received.items():
                distillation = _exact_kl(logits, z, self.temperature)
                value = value + self.lambda_0 * weights[teacher] * distillation
            return value

        return training_loss(model, x, loss)


def _open_channel(release: Release, samples: Samples) -> Channel:
    """What reaches a student of a teacher's logits: all, or what the released sums determine."""
    if isinstance(release, LogitsRelease):
        return lambda logits: logits
    rows = release.rows(samples)
    reconstructor = Reconstructor(samples, rows, release.noise(rows))
    return lambda logits: reconstructor.logits(rows @ logits)


def _exact_kl(student_logits: Tensor, teacher_logits: Logits, temperature: float) -> Tensor:
    """Mean KL(softmax(u / T) || softmax(z / T)); its gradient is that of the approximate loss."""
    return kl_div(
        log_softmax(torch.from_numpy(teacher_logits) / temperature, dim=1),
        log_softmax(student_logits / temperature, dim=1),
        reduction="batchmean",
        log_target=True,
    )
