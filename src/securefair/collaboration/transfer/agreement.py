"""What the participants of a transfer agree on before they exchange a byte."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import msgspec

from securefair.averaging.pairwise import PUBLIC_BYTES
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.sizes import longest_plans
from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.model.transfer import Degree
from securefair.model.transfer.answers import numbers_a_logit, parameters_a_logit, query_size
from securefair.model.transfer.peers import FEWEST_LEFT, Opened, asked_peers, missing_of, opened_of
from securefair.model.transfer.penalised import outputs
from securefair.protocol.codec import Limits
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.ledger import DisclosurePolicy, Release
from securefair.protocol.messages import MAX_NAME_BYTES, PROTOCOL_VERSION
from securefair.protocol.settings import GossipSettings, MachineSettings

REQUEST_FRAMING = 64
"""Room for lengths and the number of samples in a request."""


@dataclass(frozen=True, kw_only=True)
class TransferAgreement:
    """Public constants; their digest is compared in the first message.

    Attributes:
        participants: names, in the order of every record.
        features, classes: of everybody's patients.
        patients: most training patients that anyone brings.
        degree: of everybody's own fit: 1 linear, 2 quadratic.
        q: numbers of a logit that a student gets at most; `numbers_of` says how many it gets.
        opened: "each" answer or only their "mean"; None for "mean" from three teachers on.
        peers: everyone asks everyone of its group, which are so many or more (`asked_peers`).
        missing: teachers of a student that its mean may be without; `missing_of` says how many.
        flooding_bits, precision, weight_bits: as in `ExchangeSpec`.
        round_seconds: deadline of every phase.
        setup_seconds: for keys, on top.
        seed: public; of the projection's basis and of whom one asks.

    Raises:
        ConfigError: fewer than two participants, two of one name, or a number out of range.
        PlanError: the exchange is impossible.
    """

    participants: tuple[str, ...]
    features: int
    classes: int
    patients: int
    degree: Degree = 1
    q: int = defaults.TRANSFER_Q
    opened: Opened | None = None
    peers: int = defaults.PEERS
    missing: int = defaults.MISSING_TEACHERS
    flooding_bits: int = defaults.FLOODING_BITS
    precision: float = defaults.PRECISION
    weight_bits: int = defaults.WEIGHT_BITS
    round_seconds: float = defaults.ROUND_SECONDS
    setup_seconds: float = defaults.SETUP_SECONDS
    seed: int = 0

    def __post_init__(self) -> None:
        if len(set(self.participants)) != len(self.participants) or len(self.participants) < 2:
            raise ConfigError(
                "a collaboration needs at least two participants of different names",
                where="participants",
                found=self.participants,
            )
        for where, found, least in (
            ("peers", self.peers, 2),
            ("q", self.q, 1),
            ("missing", self.missing, 0),
        ):
            if found < least:
                raise ConfigError(
                    "out of range", where=where, found=found, expected=f"{least} or more"
                )
        plan_exchange(self.spec_for(self.patients))  # raises if impossible

    def teachers_of(self, student: str) -> tuple[str, ...]:
        """Whom a student asks, who ask it as well."""
        return asked_peers(self.participants, student, self.peers, self.seed)

    @cached_property
    def most_teachers(self) -> int:
        """Of any student."""
        return max(len(self.teachers_of(name)) for name in self.participants)

    @property
    def opens(self) -> Opened:
        """What students open."""
        return opened_of(self.opened, self.most_teachers)

    @property
    def fewest_senders(self) -> int:
        """Of a gathering: a mean over one would be that teacher's answer."""
        return FEWEST_LEFT if self.opens == "mean" else 1

    def missing_of(self, student: str) -> int | None:
        """Of its agreed teachers, how many a student's mean may be without; None: it has no mean.

        All but t + 1 hospitals of a group know the fit of another if they work together, and fewer
        do not.
        """
        if self.opens == "each":
            return None
        return missing_of(self.missing, len(self.teachers_of(student)))

    @property
    def enough_together(self) -> int:
        """Fewest hospitals that know the fit of another if they work together."""
        if self.opens == "each":
            return 1
        groups = {len(self.teachers_of(name)) for name in self.participants}
        return min(teachers - missing_of(self.missing, teachers) for teachers in groups)

    @property
    def outputs(self) -> int:
        """Logits of a model: one difference for two classes."""
        return outputs(self.classes)

    @property
    def parameters(self) -> int:
        """Numbers that determine a teacher's fit."""
        return self.outputs * parameters_a_logit(self.features, self.degree)

    def numbers_of(self, patients: int) -> int:
        """Numbers of a logit that a student of so many patients gets: q, or as many as there are.

        Never as many as its samples, and never more than determine a teacher's logit anyway.
        """
        return numbers_a_logit(self.q, patients, self.features, self.degree)

    def spec_for(self, patients: int) -> ExchangeSpec:
        """The exchange with a student of so many patients.

        Sums of answers are opened with the bounds of one: these are wide enough for all of them.

        Raises:
            ConfigError: more than was agreed on.
        """
        if patients > self.patients:
            raise ConfigError(
                "a participant has more samples than agreed",
                where="samples",
                found=patients,
                expected=f"at most {self.patients}",
            )
        bounds = HeadBounds()
        summed = self.most_teachers if self.opens == "mean" else 1
        return ExchangeSpec(
            features=self.features,
            classes=self.outputs,
            samples=query_size(patients),
            hidden=self.outputs * (self.features + 1) if self.degree == 2 else 0,
            release="projection",
            basis="public",
            q=self.numbers_of(patients),
            flooding_bits=self.flooding_bits,
            precision=self.precision,
            weight_bits=self.weight_bits,
            bounds=msgspec.structs.replace(bounds, logit=bounds.logit * summed),
        )

    @property
    def plan(self) -> ExchangePlan:
        """Of the exchange with the largest student."""
        return plan_exchange(self.spec_for(self.patients))

    @cached_property
    def digest(self) -> bytes:
        """32 bytes over every constant and the version of the protocol."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        encoded = msgspec.json.encode((PROTOCOL_VERSION, facts))
        return hashlib.sha256(b"securefair transfer agreement\0" + encoded).digest()

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
        return self.numbers_of(self.patients) * self.outputs

    @property
    def summary(self) -> str:
        """See `Agreement`."""
        plan = self.plan
        opened = "every answer"
        if self.opens == "mean":
            opened = (
                "only the mean of all answers, "
                f"from which {self.enough_together} hospitals together know the fit of another"
            )
        return (
            f"ring degree {plan.params.ring_degree}, {self.numbers_a_round} numbers an answer; "
            f"students open {opened}; upload {plan.feature_bytes / 1e6:.1f} MB a peer"
        )

    @cached_property
    def limits(self) -> Limits:
        """Most bytes of every field of every message, over all numbers of patients admitted."""
        plans = longest_plans(self.patients, lambda size: plan_exchange(self.spec_for(size)))
        largest = max(
            plan.public_key_bytes + plan.evaluation_key_bytes + plan.feature_bytes for plan in plans
        )
        return Limits(
            public_key=PUBLIC_BYTES,
            evaluation_keys=0,
            features=0,
            basis=0,
            predictions=0,
            answer=0,
            sum_request=largest + REQUEST_FRAMING,
            sum_names=MAX_NAME_BYTES * self.most_teachers,
            share=max(plan.answer_bytes for plan in plans),
        )

    def disclosure_policy(self, disclosure: DisclosureLimits) -> DisclosurePolicy:
        """What a teacher lets out, and how much of it at most."""
        return DisclosurePolicy(
            release=Release.PROJECTION,
            classes=self.outputs,
            rows=self.q,
            teacher_parameters=self.parameters,
            fraction_per_version=disclosure.fraction,
            student_total=disclosure.student_total,
            teacher_total=disclosure.teacher_total,
        )

    def machine_settings(
        self,
        name: str,
        disclosure: DisclosureLimits,
        *,
        guarantee: StatedGuarantee | None = None,
        required: StatedGuarantee | None = None,
    ) -> MachineSettings:
        """Settings of the machine of one participant: one sum, and nothing to align.

        Args:
            name: of the participant.
            disclosure: the most that it lets out.
            guarantee: to the patients behind its answers; None: none.
            required: that a peer must make to take part; None: nothing.
        """
        return MachineSettings(
            collaboration=self.digest,
            forced_every=1,
            always_share=False,
            disclosure=self.disclosure_policy(disclosure),
            round_seconds=self.round_seconds,
            setup_seconds=self.setup_seconds,
            gossip=GossipSettings(
                name=name,
                senders={
                    peer: tuple(sorted(self.teachers_of(peer)))
                    for peer in (name, *self.teachers_of(name))
                },
                min_senders=self.fewest_senders,
                missing=self.missing_of(name),
                aligns=False,
            ),
            guarantee=guarantee,
            required=required,
        )
