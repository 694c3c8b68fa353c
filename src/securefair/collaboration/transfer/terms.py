"""The terms of a transfer: settings and public facts, and what follows from them alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import msgspec

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.collaboration.agreement import LOCAL, Agreement
from securefair.config import EncryptionSection, ModelSection, TransferSection
from securefair.config.privacy import PrivacySection
from securefair.config.transfer import (
    Degree,
    answers_are_linear,
    answers_from_leaves,
    degree_of,
)
from securefair.data.dataset import ParticipantData, Samples, of_one_hospital
from securefair.errors import ConfigError
from securefair.model.outcomes import StudyOutcome, agreed_outcome
from securefair.model.transfer.answers import numbers_a_logit, parameters_a_logit, query_size
from securefair.model.transfer.peers import FEWEST_LEFT, Opened, asked_peers, missing_of, opened_of
from securefair.model.transfer.public_trees import LEAVES, public_trees
from securefair.model.transfer.sums import ChosenSum, choose_sum, sum_of
from securefair.protocol.messages import SINCE_0_3


@dataclass(frozen=True, kw_only=True)
class TransferTerms(Agreement):
    """See `Agreement`; the seed draws the projection's basis and whom one asks.

    Attributes:
        private: answers come from private models.
        privacy: what the own patients are promised; only `private` is a constant of the digest.

    Raises:
        ConfigError: fewer than two participants, or two of one name.
    """

    predicts_all: ClassVar[bool] = True

    transfer: TransferSection
    model: ModelSection
    encryption: EncryptionSection
    private: bool = False
    privacy: PrivacySection | None = field(default=None, metadata=LOCAL)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.private and not self.outcome.tells_classes:
            raise ConfigError(
                f"no mechanism is proved to be private for {self.outcome.title}",
                where="privacy.epsilon",
                found=f'the outcome "{self.outcome.name}"',
                expected="no [privacy] section, or an outcome of classes",
                hint="[privacy] takes classes, two or more: no number, count or time to an event",
            )
        if self.leaves and not self.outcome.takes_leaves:
            raise ConfigError(
                f"fits of leaves do not predict {self.outcome.title}",
                where="transfer.fit",
                found=self.transfer.fit,
                expected='"linear" or "quadratic"',
            )

    @property
    def degree(self) -> Degree:
        """Of everybody's own fit: 1 linear, 2 quadratic."""
        return degree_of(self.transfer.fit)

    @property
    def leaves(self) -> bool:
        """Whether answers are functions of the leaves of public trees as well."""
        return answers_from_leaves(self.transfer.fit)

    @property
    def asked_features(self) -> int:
        """Numbers of a patient that a question about patients holds."""
        return self.features + (LEAVES if self.leaves else 0)

    def asked(self, patients: Samples) -> Samples:
        """Patients as a question holds them: with the features that everybody has. What is public
        of them is computed in the clear.
        """
        patients = patients.common
        if not self.leaves:
            return patients
        mapped = public_trees(self.features).mapped(patients.features)
        return replace(patients, features=mapped)

    def asked_parts(self, own: ParticipantData) -> tuple[Samples, ...]:
        """Of a hospital's patients, those whom its question is about."""
        return (own.train,)

    def patients_of(self, own: ParticipantData) -> Samples:
        """The same in one piece."""
        parts = self.asked_parts(own)
        return parts[0] if len(parts) == 1 else of_one_hospital(parts)

    def met_by(self, name: str) -> tuple[str, ...]:
        """Its group, so that messages grow with hospitals and not with their pairs."""
        if self.facts.protocol < SINCE_0_3:
            return super().met_by(name)
        return self.teachers_of(name)

    def teachers_of(self, student: str) -> tuple[str, ...]:
        """Whom a student asks, who ask it as well."""
        return self._asked[student]

    @cached_property
    def _asked(self) -> dict[str, tuple[str, ...]]:
        return asked_peers(self.participants, self.transfer.peers, self.seed)

    @cached_property
    def most_teachers(self) -> int:
        """Of any student."""
        return max(len(self.teachers_of(name)) for name in self.participants)

    @cached_property
    def chosen_sum(self) -> ChosenSum:
        """What hospitals add up instead of asking about patients, and why."""
        return choose_sum(
            self.transfer.sums,
            min(len(self.teachers_of(one)) for one in self.participants),
            linear=answers_are_linear(self.transfer.fit),
            measured=self.outcome.curvature is not None,
            private=self.private,
            brought=self.facts.brought,
            opened=self.transfer.opened,
        )

    @property
    def opens(self) -> Opened:
        """What students open."""
        if sum_of(self.chosen_sum.name) is not None:
            return "mean"
        return opened_of(self.transfer.opened, self.most_teachers)

    @property
    def sums(self) -> bool:
        """Whether only sums of answers are opened."""
        return self.opens == "mean"

    def missing_of(self, student: str) -> int | None:
        """Of its agreed teachers, how many a student's mean may be without; None: it has no mean.

        All but t + 1 hospitals of a group know the fit of another if they work together, and fewer
        do not.
        """
        if not self.sums:
            return None
        return missing_of(self.transfer.missing, len(self.teachers_of(student)), self.fewest_left)

    @property
    def most_spare(self) -> int:
        """Most senders that a sum may lose between their parts and their keys."""
        if not self.sums or self.facts.protocol < SINCE_0_3:
            return 0
        return max(self.missing_of(name) or 0 for name in self.participants)

    @property
    def enough_together(self) -> int:
        """Fewest hospitals that know the fit of another if they work together."""
        if not self.sums:
            return 1
        groups = {len(self.teachers_of(name)) for name in self.participants}
        return min(
            teachers - missing_of(self.transfer.missing, teachers, self.fewest_left)
            for teachers in groups
        )

    @property
    def fewest_left(self) -> int:
        """Fewest hospitals in a sum."""
        summed = sum_of(self.chosen_sum.name)
        return FEWEST_LEFT if summed is None else summed.fewest

    @property
    def outcome(self) -> StudyOutcome:
        """What everybody predicts."""
        return agreed_outcome(self.facts.outcome, self.classes)

    @property
    def outputs(self) -> int:
        """Predictors of a model: one difference of logits for two classes."""
        return self.outcome.outputs(self.classes)

    @property
    def parameters(self) -> int:
        """Numbers that determine a teacher's fit."""
        return self.outputs * parameters_a_logit(self.asked_features, self.degree)

    def numbers_of(self, patients: int) -> int:
        """Numbers of a logit that a student of so many patients gets: q, or as many as there are.

        Never as many as its samples, and never more than determine a teacher's logit anyway.
        """
        return numbers_a_logit(self.transfer.q, patients, self.asked_features, self.degree)

    def spec_for(self, patients: int) -> ExchangeSpec:
        """The exchange with a student of so many patients.

        Sums of answers are opened with the bounds of one: these are wide enough for all of them.

        Raises:
            ConfigError: more than was agreed on.
        """
        self.check_samples(patients)
        bounds = HeadBounds()
        summed = self.most_teachers if self.sums else 1
        return ExchangeSpec(
            features=self.asked_features,
            classes=self.outputs,
            samples=query_size(patients),
            hidden=self.outputs * (self.features + 1) if self.degree == 2 else 0,
            release="projection",
            basis="public",
            q=self.numbers_of(patients),
            flooding_bits=self.encryption.flooding_bits,
            precision=self.encryption.precision,
            weight_bits=self.model.weight_bits,
            bounds=msgspec.structs.replace(bounds, logit=bounds.logit * summed),
        )

    @property
    def plan(self) -> ExchangePlan:
        """Of the exchange with the largest student."""
        return plan_exchange(self.spec_for(self.facts.samples))

    @property
    def basis_seed(self) -> bytes:
        """Public seed of every student's projection, one for all."""
        facts = msgspec.json.encode(self.seed)
        drawn = hashlib.sha256(b"securefair transfer basis\0" + facts).digest()
        return self.facts.basis_seed(drawn)
