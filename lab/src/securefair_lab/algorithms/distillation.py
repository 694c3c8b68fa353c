"""What a round of distillation asks of its participants, whatever their models are.

`cycle` and `vpdl` decide who shares with whom and how much an answer weighs. Everything else a
population does itself: `population.Population` with the heads that encrypted runs use, and
`network_population.NetworkPopulation` with whole networks.

All participants are dealt with at once: a mapping goes from each student's name to what concerns
it, `peers` from each teacher's name to what that teacher means to the student. Every method reads
the state as it was when the round began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Never, Protocol, TypeVar

from securefair.records import RoundRecord
from securefair.worth import LearningState, SelfTaught, TrainStates

PeerNumbers = Mapping[str, Mapping[str, float]]
Peers = Mapping[str, list[str]]
Answers = TypeVar("Answers")
"""The teachers' logits on the students' samples, as they reach the students."""

NOTHING: Mapping[str, Never] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class DistillationState(LearningState[TrainStates]):
    """Everything that a next round depends on."""

    reputation: PeerNumbers  # r_nk: the reputation of student n of teacher k; absent: none yet


class Distilling(SelfTaught[TrainStates], Protocol[TrainStates, Answers]):
    """Participants that can also learn from each other's logits."""

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
        """What the round leaves behind, learners as after it."""
        ...

    @property
    def forced_every(self) -> int:
        """R: every so many rounds everyone asks and answers."""
        ...

    def answers(self, state: LearningState[TrainStates], answering: Peers) -> Answers:
        """The teachers' logits on each student's samples, as released."""
        ...

    def alignments(self, state: LearningState[TrainStates], received: Answers) -> PeerNumbers:
        """cos(grad L_CE, grad L_DL(n,k)) over all parameters, of each teacher that answered."""
        ...

    def distillation_losses(
        self, state: LearningState[TrainStates], received: Answers
    ) -> PeerNumbers:
        """The approximate KL a sample: the exact one less the mean logsumexp(z / T)."""
        ...

    def updated(
        self, state: LearningState[TrainStates], received: Answers, weights: PeerNumbers
    ) -> TrainStates:
        """Alg. 2's last lines: the local steps on L_CE + lambda_0 sum_k lambda_nk L_DL(n,k)."""
        ...
