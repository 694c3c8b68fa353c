"""What one participant does in a round of distillation, whatever decides who shares with whom.

Phases 1, 4 and 5 of a round; `cycle` and `vpdl` add the decisions. All participants are dealt
with at once: a mapping goes from each student's name to what concerns it, `peers` from each
teacher's name to what that teacher means to the student.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, log_softmax

from securefair.algorithms.population import LogitsRelease, Population
from securefair.data.dataset import Samples
from securefair.fairness import cosine, distillation_weights
from securefair.model.gradients import flat_gradient
from securefair.model.heads import Head, build_head
from securefair.model.reconstruction import Reconstructor
from securefair.model.seeds import derived_seed
from securefair.model.training import Learner, descend, evaluate, train_epochs
from securefair.records import Matrix, RoundRecord

Logits = NDArray[np.float64]
PeerLogits = Mapping[str, Mapping[str, Logits]]
PeerNumbers = Mapping[str, Mapping[str, float]]
Peers = Mapping[str, list[str]]
Channel = Callable[[Logits], Logits]

NOTHING: Mapping[str, Never] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class DistillationState:
    """Everything that a next round depends on."""

    seed: int
    round: int
    learners: Mapping[str, Learner]
    channels: Mapping[str, Channel]  # what a student makes of the logits a teacher computes for it
    reputation: PeerNumbers  # r_nk: the opinion of student n of teacher k; absent: none yet


def trained_alone(population: Population, seed: int) -> dict[str, Learner]:
    """Alg. 2, line 1: everyone trains alone, from an initialisation of its own.

    Only answers are ever exchanged and no parameters are averaged, so nothing asks for a common
    initialisation.
    """
    learners = {}
    for participant in population.participants:
        head = build_head(
            population.head,
            population.features,
            population.hidden,
            population.classes,
            derived_seed(seed, "head", participant.name),
        )
        learner = Learner.start(head, population.optimizer)
        train_epochs(
            learner,
            participant.train,
            population.local_epochs,
            batch_size=population.batch_size,
            seed=derived_seed(seed, "batches", participant.name),
        )
        learners[participant.name] = learner
    return learners


def start(population: Population, seed: int) -> DistillationState:
    """The state before round 0: everyone has trained alone and has no opinion of anybody."""
    return DistillationState(
        seed=seed,
        round=0,
        learners=trained_alone(population, seed),
        channels={p.name: _open_channel(population, p.train) for p in population.participants},
        reputation={name: {} for name in population.names},
    )


def answers(state: DistillationState, population: Population, answering: Peers) -> PeerLogits:
    """The teachers' logits on each student's samples, as released, from the round's snapshot."""
    return {
        student.name: {
            teacher: state.channels[student.name](
                population.teacher_logits(state.learners[teacher].model, student.train.features)
            )
            for teacher in answering[student.name]
        }
        for student in population.participants
    }


def alignments(
    state: DistillationState, population: Population, received: PeerLogits
) -> PeerNumbers:
    """cos(grad L_CE, grad L_DL(n,k)) over all parameters, of each teacher that answered (Eq. 6)."""
    result = {}
    for student in population.participants:
        model = state.learners[student.name].model
        logits = model(torch.tensor(student.train.features))
        labels = torch.tensor(student.train.labels)
        own = flat_gradient(cross_entropy(logits / population.alignment_temperature, labels), model)
        result[student.name] = {
            teacher: cosine(own, flat_gradient(_exact_kl(logits, z, population.temperature), model))
            for teacher, z in received[student.name].items()
        }
    return result


def updated_learners(
    state: DistillationState,
    population: Population,
    received: PeerLogits,
    reputation: PeerNumbers,
) -> dict[str, Learner]:
    """Alg. 2's last lines: local steps on L_CE + lambda_0 sum_k lambda_nk L_DL(n,k)."""
    learners = {}
    for student in population.participants:
        learner = state.learners[student.name].copy()
        weights = distillation_weights(
            {teacher: reputation[student.name][teacher] for teacher in received[student.name]},
            len(population.participants),
        )
        descend(
            learner,
            _loss(learner.model, student.train, received[student.name], weights, population),
            population.local_steps,
        )
        learners[student.name] = learner
    return learners


def distillation_losses(
    state: DistillationState, population: Population, received: PeerLogits
) -> PeerNumbers:
    """The approximate KL a sample at the snapshot: the exact one less the mean logsumexp(z / T)."""
    temperature, result = population.temperature, {}
    for student in population.participants:
        logits = torch.from_numpy(state.learners[student.name].model.logits(student.train.features))
        result[student.name] = {
            teacher: float(
                _exact_kl(logits, z, temperature)
                - torch.logsumexp(torch.from_numpy(z) / temperature, dim=1).mean()
            )
            for teacher, z in received[student.name].items()
        }
    return result


def record_round(
    algorithm: str,
    round: int,
    population: Population,
    learners: Mapping[str, Learner],
    *,
    forced: bool = False,
    asked: Peers = NOTHING,
    answered: Peers = NOTHING,
    reputation: PeerNumbers = NOTHING,
    alignment: PeerNumbers = NOTHING,
    distillation_loss: PeerNumbers = NOTHING,
) -> RoundRecord:
    """What the round leaves behind, learners as after it; matrices in `population.names`' order."""
    names, participants = population.names, population.participants

    def matrix(numbers: PeerNumbers) -> Matrix:
        return [[numbers.get(n, {}).get(k) for k in names] for n in names]

    def flags(peers: Peers) -> list[list[bool]]:
        return [[k in peers.get(n, ()) for k in names] for n in names]

    return RoundRecord(
        algorithm=algorithm,
        round=round,
        forced=forced,
        accuracy=[evaluate(learners[p.name].model, p.test).accuracy for p in participants],
        cross_entropy=[
            evaluate(learners[p.name].model, p.train).cross_entropy for p in participants
        ],
        reputation=matrix(reputation),
        alignment=matrix(alignment),
        distillation_loss=matrix(distillation_loss),
        asked=flags(asked),
        answered=flags(answered),
    )


def _open_channel(population: Population, samples: Samples) -> Channel:
    """What reaches a student of a teacher's logits: all, or what the released sums determine."""
    release = population.release
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


def _loss(
    model: Head,
    samples: Samples,
    received: Mapping[str, Logits],
    weights: Mapping[str, float],
    population: Population,
) -> Callable[[], Tensor]:
    x, y = torch.tensor(samples.features), torch.tensor(samples.labels)

    def loss() -> Tensor:
        logits = model(x)
        value = cross_entropy(logits, y)
        for teacher, z in received.items():
            distillation = _exact_kl(logits, z, population.temperature)
            value = value + population.lambda_0 * weights[teacher] * distillation
        return value

    return loss
