"""Hospitals that train heads or small networks, each alone: for controls of distillation."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.model.building import ModelKind, build_model
from securefair.model.optimizer import OptimizerConfig
from securefair.model.seeds import derive_seed
from securefair.model.stored import Function, function_of
from securefair.model.training import (
    TrainState,
    about,
    evaluate,
    train_epochs,
)
from securefair.records import RoundRecord
from securefair.worth.learners import Learners, LearningState, lonely_record

Heads = Mapping[str, TrainState]


@dataclass(frozen=True, kw_only=True)
class HeadLearners(Learners):
    """Participants with models of one kind, and how these train.

    Args:
        participants: all of them, in the order of records.
        head: kind of model that everyone trains.
        hidden: units of a quadratic head.
        network: which one, where `head` is "network".
        range_penalty: weight of the penalty on a network's activations; heads have none.
        optimizer: of all training.
        local_epochs: everyone alone, before round 0.
        local_steps: full-batch optimiser steps of a round.

    Raises:
        ConfigError: nobody, two participants of one name, one whose features or classes differ
            from the others', or a setting out of range.
    """

    head: ModelKind = defaults.MODEL_KIND
    hidden: int = defaults.HIDDEN
    network: str | None = None
    range_penalty: float = defaults.RANGE_PENALTY
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    local_epochs: int = defaults.LOCAL_EPOCHS
    local_steps: int = defaults.LOCAL_STEPS

    def __post_init__(self) -> None:
        for name, accepted, expected in (
            ("hidden", self.hidden >= 1, "1 or more"),
            ("range_penalty", 0 <= self.range_penalty < math.inf, "0 or more"),
            ("local_epochs", self.local_epochs >= 0, "0 or more"),
            ("local_steps", self.local_steps >= 1, "1 or more"),
        ):
            if not accepted:
                raise ConfigError(
                    "out of range", where=name, found=getattr(self, name), expected=expected
                )
        super().__post_init__()

    def trained_alone(self, seed: int) -> dict[str, TrainState]:
        """Everyone trains alone, from an initialisation of its own (CYCle, Alg. 2, line 1).

        Only answers are ever exchanged and no parameters are averaged, so nothing asks for a
        common initialisation.
        """
        train_states = {}
        for participant in self.participants:
            head = build_model(
                self.head,
                participant.train,
                hidden=self.hidden,
                network=self.network,
                range_penalty=self.range_penalty,
                seed=derive_seed(seed, "head", participant.name),
            )
            train_state = TrainState.start(head, self.optimizer)
            with about(participant.name):
                train_epochs(train_state, participant.train, self.local_epochs)
            train_states[participant.name] = train_state
        return train_states

    def trained_locally(
        self, state: LearningState[Heads], names: Collection[str]
    ) -> dict[str, TrainState]:
        """`local_steps` more full-batch steps on cross-entropy alone."""
        train_states = dict(state.train_states)
        for participant in self.participants:
            if participant.name in names:
                train_state = train_states[participant.name].copy()
                with about(participant.name):
                    train_epochs(train_state, participant.train, self.local_steps)
                train_states[participant.name] = train_state
        return train_states

    def models(self, train_states: Heads) -> dict[str, Function]:
        """Everyone's model, to be kept."""
        return {name: function_of(own.model) for name, own in train_states.items()}

    def test_losses(self, train_states: Heads) -> list[float]:
        """Each participant's mean cross-entropy on its own test samples."""
        return [
            evaluate(train_states[p.name].model, p.test).cross_entropy for p in self.participants
        ]

    def round_record(self, algorithm: str, round: int, train_states: Heads) -> RoundRecord:
        """What the round leaves behind, states as after it."""
        models = [train_states[own.name].model for own in self.participants]
        pairs = list(zip(models, self.participants, strict=True))
        return lonely_record(
            algorithm,
            round,
            accuracy=[evaluate(model, own.test).accuracy for model, own in pairs],
            cross_entropy=[evaluate(model, own.train).cross_entropy for model, own in pairs],
        )
