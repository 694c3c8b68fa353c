"""What the participants of a transfer agree on before they exchange a byte."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import msgspec

from securefair.averaging.pairwise import PUBLIC_BYTES
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.collaboration.agreed import AgreedSections
from securefair.collaboration.sizes import longest_plans
from securefair.collaboration.wording import data_size
from securefair.config import DisclosureSection, EncryptionSection, ModelSection, TransferSection
from securefair.config.transfer import Degree, degree_of
from securefair.model.outcomes import StudyOutcome, agreed_outcome
from securefair.model.transfer.answers import numbers_a_logit, parameters_a_logit, query_size
from securefair.model.transfer.peers import FEWEST_LEFT, Opened, asked_peers, missing_of, opened_of
from securefair.protocol.codec import Limits
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.messages import MAX_NAME_BYTES
from securefair.protocol.settings import MachineSettings, SumSettings

REQUEST_FRAMING = 64
"""Room for lengths and the number of samples in a request."""


@dataclass(frozen=True, kw_only=True)
class TransferAgreement(AgreedSections):
    """See `AgreedSections`; the seed draws the projection's basis and whom one asks.

    Raises:
        ConfigError: fewer than two participants, or two of one name.
        PlanError: the exchange is impossible.
    """

    transfer: TransferSection
    model: ModelSection
    encryption: EncryptionSection

    def __post_init__(self) -> None:
        super().__post_init__()
        plan_exchange(self.spec_for(self.facts.samples))  # raises if impossible

    @property
    def degree(self) -> Degree:
        """Of everybody's own fit: 1 linear, 2 quadratic."""
        return degree_of(self.transfer)

    def teachers_of(self, student: str) -> tuple[str, ...]:
        """Whom a student asks, who ask it as well."""
        return asked_peers(self.participants, student, self.transfer.peers, self.seed)

    @cached_property
    def most_teachers(self) -> int:
        """Of any student."""
        return max(len(self.teachers_of(name)) for name in self.participants)

    @property
    def opens(self) -> Opened:
        """What students open."""
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
        return missing_of(self.transfer.missing, len(self.teachers_of(student)))

    @property
    def enough_together(self) -> int:
        """Fewest hospitals that know the fit of another if they work together."""
        if not self.sums:
            return 1
        groups = {len(self.teachers_of(name)) for name in self.participants}
        return min(teachers - missing_of(self.transfer.missing, teachers) for teachers in groups)

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
        return self.outputs * parameters_a_logit(self.features, self.degree)

    def numbers_of(self, patients: int) -> int:
        """Numbers of a logit that a student of so many patients gets: q, or as many as there are.

        Never as many as its samples, and never more than determine a teacher's logit anyway.
        """
        return numbers_a_logit(self.transfer.q, patients, self.features, self.degree)

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
            features=self.features,
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
        return hashlib.sha256(
            b"securefair transfer basis\0" + msgspec.json.encode(self.seed)
        ).digest()

    @property
    def plan_digest(self) -> bytes:
        """See `Agreement`."""
        return self.plan.digest

    @property
    def numbers_a_round(self) -> int:
        """See `Agreement`."""
        return self.numbers_of(self.facts.samples) * self.outputs

    @property
    def summary(self) -> str:
        """See `Agreement`."""
        plan = self.plan
        opened = "every answer"
        if self.sums:
            opened = (
                "only the mean of all answers, "
                f"from which {self.enough_together} hospitals together know the fit of another"
            )
        return (
            f"ring degree {plan.params.ring_degree}, {self.numbers_a_round} numbers an answer; "
            f"students open {opened}; upload {data_size(plan.feature_bytes)} a peer"
        )

    @cached_property
    def limits(self) -> Limits:
        """Most bytes of every field of every message, over all numbers of patients admitted."""
        plans = longest_plans(self.facts.samples, lambda size: plan_exchange(self.spec_for(size)))
        largest = max(
            plan.public_key_bytes + plan.evaluation_key_bytes + plan.feature_bytes for plan in plans
        )
        return Limits(
            public_key=PUBLIC_BYTES,
            evaluation_keys=0,
            features=0,
            basis=0,
            question=largest + REQUEST_FRAMING,
            answer=max(plan.answer_bytes for plan in plans),
            names=MAX_NAME_BYTES * self.most_teachers,
        )

    def disclosure_policy(self, disclosure: DisclosureSection) -> DisclosurePolicy:
        """What a teacher lets out, and how much of it at most."""
        return DisclosurePolicy(
            release="projection",
            classes=self.outputs,
            rows=self.transfer.q,
            teacher_parameters=self.parameters,
            fraction_per_version=disclosure.fraction,
            student_total=disclosure.student_total,
            teacher_total=disclosure.teacher_total,
        )

    def machine_settings(
        self,
        name: str,
        disclosure: DisclosureSection,
        *,
        guarantee: StatedGuarantee | None = None,
        required: StatedGuarantee | None = None,
    ) -> MachineSettings:
        """Settings of the machine of one participant: one question to every teacher.

        Args:
            name: of the participant.
            disclosure: the most that it lets out.
            guarantee: to the patients behind its answers; None: none.
            required: that a peer must make to take part; None: nothing.
        """
        return MachineSettings(
            collaboration=self.digest,
            forced_every=1,
            always_share=True,
            disclosure=self.disclosure_policy(disclosure),
            round_seconds=self.facts.round_seconds,
            setup_seconds=self.facts.setup_seconds,
            sums=self._sum_settings(name) if self.sums else None,
            needs_keys=self.sums,
            asked=None if self.sums else self.teachers_of(name),
            answered=None if self.sums else self.teachers_of(name),
            guarantee=guarantee,
            required=required,
        )

    def _sum_settings(self, name: str) -> SumSettings:
        """Everybody is asked at once, and nobody compares anything."""
        return SumSettings(
            name=name,
            senders={
                peer: tuple(sorted(self.teachers_of(peer)))
                for peer in (name, *self.teachers_of(name))
            },
            min_senders=FEWEST_LEFT,
            missing=self.missing_of(name),
            averages=False,
        )
