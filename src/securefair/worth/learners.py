"""What controls ask of participants, whatever their models are: that they can train alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

from securefair.data import ParticipantData
from securefair.model.stored import Function
from securefair.records import ACCURACY, RoundRecord
from securefair.worth.membership import check_participants

TrainStates = TypeVar("TrainStates")
"""Everyone's model in training, as a kind of learners keeps them."""


@dataclass(frozen=True, eq=False)
class LearningState(Generic[TrainStates]):
    """Everyone's training state after so many rounds of a run with this seed."""

    seed: int
    round: int
    train_states: TrainStates


class SelfTaught(Protocol[TrainStates]):
    """Participants that can train alone."""

    @property
    def participants(self) -> tuple[ParticipantData, ...]:
        """All of them, in order."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Theirs; records index their lists by this order."""
        ...

    def joined_by(self, participants: Sequence[ParticipantData]) -> Self:
        """The same settings for other participants."""
        ...

    def trained_alone(self, seed: int) -> TrainStates:
        """Everyone's learner before round 0."""
        ...

    def trained_locally(
        self, state: LearningState[TrainStates], names: Collection[str]
    ) -> TrainStates:
        """Those named take the local steps of a round on cross-entropy; others stay."""
        ...

    def models(self, train_states: TrainStates) -> Mapping[str, Function]:
        """Everyone's model, to be kept."""
        ...

    def test_losses(self, train_states: TrainStates) -> list[float]:
        """Each participant's mean cross-entropy on its own test samples."""
        ...

    def round_record(self, algorithm: str, round: int, train_states: TrainStates) -> RoundRecord:
        """What a round without messages leaves behind, learners as after it."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Learners:
    """Participants that learn, as every kind of learners begins.

    Args:
        participants: all of them, in the order of records.

    Raises:
        ConfigError: nobody, two participants of one name, or one whose samples or classes differ
            from the others'.
    """

    participants: tuple[ParticipantData, ...]

    def __post_init__(self) -> None:
        check_participants(self.participants)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all participants, in order; records index their lists by this order."""
        return tuple(participant.name for participant in self.participants)

    def joined_by(self, participants: Sequence[ParticipantData]) -> Self:
        """The same settings for other participants."""
        return replace(self, participants=tuple(participants))


def lonely_record(
    algorithm: str,
    round: int,
    *,
    accuracy: Sequence[float],
    cross_entropy: Sequence[float],
    headline: str = ACCURACY,
) -> RoundRecord:
    """What a round leaves behind in which nobody asks anybody.

    Args:
        algorithm: name that the record carries.
        round: counted from 0.
        accuracy: of each participant's model on its own test samples.
        cross_entropy: mean of each on its own training samples.
        headline: the score that `accuracy` holds.
    """
    names = range(len(accuracy))
    nothing: list[list[float | None]] = [[None for _ in names] for _ in names]
    nobody = [[False for _ in names] for _ in names]
    return RoundRecord(
        algorithm=algorithm,
        round=round,
        forced=False,
        accuracy=list(accuracy),
        cross_entropy=list(cross_entropy),
        reputation=nothing,
        alignment=nothing,
        distillation_loss=nothing,
        asked=nobody,
        answered=nobody,
        headline=headline,
    )
