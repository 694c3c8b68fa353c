"""What the participants of a transfer agree on before they exchange a byte."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from securefair.averaging.pairwise import PUBLIC_BYTES
from securefair.averaging.recovery import sent_beside
from securefair.collaboration.transfer.questions import TransferQuestion, choose_question
from securefair.collaboration.transfer.terms import TransferTerms
from securefair.data.dataset import ParticipantData
from securefair.errors import ConfigError, DataError
from securefair.model.outcomes import outcome_of
from securefair.protocol.codec import Limits
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.messages import MAX_NAME_BYTES, PART_ROOM
from securefair.protocol.settings import MachineSettings, SumSettings


@dataclass(frozen=True, kw_only=True)
class TransferAgreement(TransferTerms):
    """See `TransferTerms`, with the question that follows from them.

    Raises:
        ConfigError: fewer than two participants, or two of one name.
        PlanError: the exchange is impossible.
    """

    in_fractions: ClassVar[bool] = True
    """Whether a teacher lets out `disclosure.fraction` of what would tell everything, or all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.question.digest  # raises if impossible

    @cached_property
    def question(self) -> TransferQuestion:
        """What everybody asks its peers once."""
        return choose_question(self)

    @property
    def plan_digest(self) -> bytes:
        """See `Agreement`."""
        return self.question.digest

    @property
    def numbers_a_round(self) -> int:
        """See `Agreement`."""
        return self.question.numbers_of(self.facts.samples)

    @property
    def summary(self) -> str:
        """See `Agreement`."""
        opened = "every answer"
        if self.sums:
            opened = (
                "only the mean of all answers, "
                f"from which {self.enough_together} hospitals together know the fit of another"
            )
        return f"{self.question.summary}; students open {opened}"

    @cached_property
    def limits(self) -> Limits:
        """Most bytes of every field of every message."""
        request, answer = self.question.lengths
        return Limits(
            public_key=PUBLIC_BYTES,
            evaluation_keys=0,
            features=0,
            basis=0,
            question=request,
            answer=answer + sent_beside(self.most_spare),
            names=MAX_NAME_BYTES * self.most_teachers,
            parts=PART_ROOM * self.most_spare,
        )

    def check_data(self, own: ParticipantData) -> None:
        """Refuse patients of another shape.

        Raises:
            DataError: they are.
        """
        found = (*own.train.common.features.shape[1:], own.train.classes)
        if found != (self.features, self.classes):
            raise DataError(
                "its patients have other features or classes than agreed",
                where=own.name,
                found=f"{found[:-1]} features, {found[-1]} classes",
                expected=f"({self.features},) features, {self.classes} classes",
            )

    def check_teacher(self, own: ParticipantData, *, private: bool) -> None:
        """Refuse a model that a hospital brought and that cannot answer here.

        Args:
            own: data of the hospital, and its model, if it brought any.
            private: a private fit is to answer for it.

        Raises:
            ConfigError: so it is, or fits are added up, or no classes are told apart.
        """
        if own.teacher is None:
            return
        if private:
            raise ConfigError(
                "no private fit stands behind a model that is brought",
                where=f"participants, {own.name}, teacher",
                found=own.teacher.name,
                expected="no [privacy] section, or no teacher",
            )
        if not outcome_of(own.train).tells_classes:
            raise ConfigError(
                "a model that is brought gives probabilities of classes",
                where=f"participants, {own.name}, teacher",
                found=f"the outcome is {outcome_of(own.train).title}",
                expected="no teacher, or an outcome of classes",
            )
        if not self.question.encrypts:
            raise ConfigError(
                "a model that is brought answers questions, and hospitals would add up fits",
                where=f"participants, {own.name}, teacher",
                found=f"transfer.sums is {self.chosen_sum.name}: {self.chosen_sum.because}",
                expected='transfer.fit = "trees", or transfer.sums = "none"',
            )

    @property
    def disclosure_policy(self) -> DisclosurePolicy:
        """What a teacher lets out, and how much of it at most."""
        told = self.question.told
        return DisclosurePolicy(
            release=told.release,
            classes=self.outputs,
            rows=told.rows,
            teacher_parameters=told.known,
            fraction_per_version=self.disclosure.fraction if self.in_fractions else None,
            student_total=self.disclosure.student_total,
            teacher_total=self.disclosure.teacher_total,
        )

    def machine_settings(
        self,
        name: str,
        *,
        guarantee: StatedGuarantee | None = None,
        required: StatedGuarantee | None = None,
    ) -> MachineSettings:
        """Settings of the machine of one participant: one question to every teacher.

        Args:
            name: of the participant.
            guarantee: to the patients behind its answers; None: none.
            required: that a peer must make to take part; None: nothing.
        """
        return MachineSettings(
            collaboration=self.digest,
            protocol=self.facts.protocol,
            forced_every=1,
            always_share=True,
            disclosure=self.disclosure_policy,
            round_seconds=self.facts.round_seconds,
            setup_seconds=self.facts.setup_seconds,
            sums=self.sum_settings(name),
            needs_keys=self.sums,
            asked=None if self.sums else self.teachers_of(name),
            answered=None if self.sums else self.teachers_of(name),
            guarantee=guarantee,
            required=required,
        )

    def sum_settings(self, name: str) -> SumSettings | None:
        """See `Agreement`: everybody is asked at once, and nobody compares anything."""
        if not self.sums:
            return None
        return SumSettings(
            name=name,
            senders={
                peer: tuple(sorted(self.teachers_of(peer)))
                for peer in (name, *self.teachers_of(name))
            },
            min_senders=self.fewest_left,
            missing=self.missing_of(name),
            averages=False,
            recovers=self.most_spare > 0,
        )
