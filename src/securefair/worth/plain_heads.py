"""Hospitals that train linear or quadratic heads alone, for controls: see `model.plain_heads`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from securefair.errors import ModelError
from securefair.model.optimizer import OptimizerConfig
from securefair.model.plain_heads import HeadKind, PlainHead
from securefair.model.seeds import derive_seed
from securefair.model.stored import Function
from securefair.records import RoundRecord
from securefair.worth.learners import Learners, LearningState, lonely_record

PlainHeads = Mapping[str, PlainHead]


@dataclass(frozen=True, kw_only=True)
class PlainLearners(Learners):
    """Participants with heads of one kind, one full-batch step a round.

    Args:
        participants: all of them, in the order of records.
        head: kind of everyone's head.
        hidden: units of a quadratic head.
        optimizer: of every step.

    Raises:
        ConfigError: nobody, two participants of one name, or one whose features or classes differ
            from the others'.
    """

    head: HeadKind
    hidden: int
    optimizer: OptimizerConfig

    def trained_alone(self, seed: int) -> dict[str, PlainHead]:
        """Everyone's head before any step, from a seed of its own."""
        return {
            own.name: PlainHead.drawn(
                self.head,
                int(own.train.features.shape[1]),
                self.hidden,
                own.train.classes,
                derive_seed(seed, "head", own.name),
            )
            for own in self.participants
        }

    def trained_locally(
        self, state: LearningState[PlainHeads], names: Collection[str]
    ) -> dict[str, PlainHead]:
        """One more step of those named; others stay.

        Raises:
            ModelError: a training diverged; names the participant.
        """
        heads = dict(state.train_states)
        for own in self.participants:
            if own.name in names:
                try:
                    heads[own.name] = heads[own.name].trained(own.train, self.optimizer, 1)
                except ModelError as error:
                    raise error.about(own.name) from error
        return heads

    def models(self, train_states: PlainHeads) -> dict[str, Function]:
        """Everyone's model, to be kept."""
        return {name: head.folded() for name, head in train_states.items()}

    def test_losses(self, train_states: PlainHeads) -> list[float]:
        """Each participant's mean cross-entropy on its own test samples."""
        return [train_states[own.name].loss(own.test) for own in self.participants]

    def round_record(self, algorithm: str, round: int, train_states: PlainHeads) -> RoundRecord:
        """What the round leaves behind, heads as after it."""
        pairs = [(train_states[own.name], own) for own in self.participants]
        return lonely_record(
            algorithm,
            round,
            accuracy=[head.accuracy(own.test) for head, own in pairs],
            cross_entropy=[head.loss(own.train) for head, own in pairs],
        )
