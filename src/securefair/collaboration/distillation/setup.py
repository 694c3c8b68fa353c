"""What all participants of a collaboration agree on before they exchange a byte."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field

import msgspec

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.sizes import longest_plans
from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.model.prevalence import Prevalence
from securefair.protocol.codec import Limits
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.ledger import DisclosurePolicy, Release
from securefair.protocol.messages import PROTOCOL_VERSION
from securefair.protocol.settings import MachineSettings
from securefair.worth.reputation import ReputationRule


@dataclass(frozen=True, kw_only=True)
class Collaboration:
    """Public constants; their digest is compared in the first message.

    Attributes:
        participants: names, in the order of every record.
        spec: the exchange, for the largest number of samples anyone may bring.
        rule: how alignment becomes reputation.
        always_share: VPDL: reputation 1 for all, everyone answers always.
        forced_every: R, rounds between scorings.
        temperature: T.
        lambda_0: weight of the distillation loss.
        prevalence: whose class frequencies a student's targets have: its "own", or the
            "teacher"'s, as its logits come.
        local_steps: optimiser steps a round.
        round_seconds: deadline of a round.
        setup_seconds: time for keys and features, on top of the first round's.
        teachers: participants that only teach; the others then only learn, and nothing that was
            opened flows back. Empty: everybody does both.
        key_bits: most bits that queries and replies tell one peer of opened values under one key;
            then there is a new one (`protocol.flows`).
        key_openings: most answers of one peer that a key opens; then there is a new one.
        seed: public; draws the basis of projections. One data epoch keeps one seed.

    Raises:
        ConfigError: fewer than two participants, or two of one name; reputations are to be
            formed of a release that does not tell enough for it.
        PlanError: the spec is impossible.
    """

    participants: tuple[str, ...]
    spec: ExchangeSpec
    rule: ReputationRule = field(default_factory=ReputationRule)
    always_share: bool = False
    forced_every: int = defaults.FORCED_EVERY
    temperature: float = defaults.TEMPERATURE
    lambda_0: float = defaults.LAMBDA_0
    prevalence: Prevalence = defaults.PREVALENCE
    local_steps: int = defaults.LOCAL_STEPS
    round_seconds: float = defaults.ROUND_SECONDS
    setup_seconds: float = defaults.SETUP_SECONDS
    teachers: tuple[str, ...] = ()
    key_bits: float = defaults.KEY_BITS
    key_openings: int = defaults.KEY_OPENINGS
    seed: int = 0

    def __post_init__(self) -> None:
        if len(set(self.participants)) != len(self.participants) or len(self.participants) < 2:
            raise ConfigError(
                "a collaboration needs at least two participants of different names",
                where="participants",
                found=self.participants,
            )
        if self.spec.sends_predictions and not self.always_share:
            raise ConfigError(
                "this release only monitors: no reputation can be formed of it",
                where="spec.release",
                found=self.spec.release,
                expected='"projection" or "logits", or always_share',
            )
        if self.teachers:
            self._check_roles()
        plan_exchange(self.spec)  # raises if impossible

    def _check_roles(self) -> None:
        known = set(self.teachers) <= set(self.participants)
        if not known or len(set(self.teachers)) == len(self.participants):
            raise ConfigError(
                "some participants must teach and others learn",
                where="distillation.teachers",
                found=", ".join(self.teachers),
                expected=f"some of {', '.join(self.participants)}, not all",
            )
        if not self.always_share:
            raise ConfigError(
                "who only teaches has no alignment with those who only learn",
                where="distillation.roles",
                found='"apart" with reputations',
                expected='algorithms = ["standalone", "vpdl"]',
            )

    def asked_by(self, name: str) -> tuple[str, ...]:
        """Whom a participant asks."""
        if name in self.teachers:
            return ()
        return tuple(one for one in self.teachers or self.participants if one != name)

    def answered_by(self, name: str) -> tuple[str, ...]:
        """Whom a participant answers."""
        return tuple(one for one in self.participants if name in self.asked_by(one))

    @property
    def digest(self) -> bytes:
        """32 bytes over every constant and the version of the protocol."""
        facts = {name: value for name, value in vars(self).items() if name != "rule"}
        encoded = msgspec.json.encode((PROTOCOL_VERSION, facts, asdict(self.rule)))
        return hashlib.sha256(b"securefair collaboration\0" + encoded).digest()

    def spec_for(self, samples: int) -> ExchangeSpec:
        """The exchange with a student of that many samples.

        Raises:
            ConfigError: more than the collaboration provides for.
        """
        if samples > self.spec.samples:
            raise ConfigError(
                "a participant has more samples than agreed",
                where="samples",
                found=samples,
                expected=f"at most {self.spec.samples}",
            )
        return msgspec.structs.replace(self.spec, samples=samples)

    @property
    def basis_seed(self) -> bytes:
        """Public seed of every student's projections.

        One for all: students who bring the same samples get the same numbers, so together they
        learn nothing of a teacher that each does not learn alone.
        """
        facts = msgspec.json.encode(self.seed)
        return hashlib.sha256(b"securefair basis\0" + facts).digest()

    @property
    def plan_digest(self) -> bytes:
        """See `Agreement`."""
        return plan_exchange(self.spec).digest

    @property
    def numbers_a_round(self) -> int:
        """See `Agreement`: one answer to the student with the most samples."""
        policy = self.machine_settings(self.participants[0], 1, DisclosureLimits()).disclosure
        return policy.numbers_per_answer(self.spec.samples)

    @property
    def summary(self) -> str:
        """See `Agreement`."""
        plan = plan_exchange(self.spec)
        return (
            f"ring degree {plan.params.ring_degree}, {self.spec.release} of "
            f"{self.numbers_a_round} numbers an answer, upload {plan.feature_bytes / 1e6:.1f} MB, "
            f"for sites with at least {self.fewest_samples} training samples"
        )

    @property
    def fewest_samples(self) -> int:
        """Of a participant: with fewer, an answer would tell as much as all logits, or one."""
        return {"projection": self.spec.q + 1, "logits": 1}.get(self.spec.release, 2)

    @property
    def limits(self) -> Limits:
        """Most bytes of every field of every message, over all numbers of samples admitted."""
        plans = longest_plans(
            self.spec.samples, lambda samples: plan_exchange(self.spec_for(samples)), fewest=2
        )
        return Limits(
            public_key=max(plan.public_key_bytes for plan in plans),
            evaluation_keys=max(plan.evaluation_key_bytes for plan in plans),
            features=max(plan.feature_bytes for plan in plans),
            basis=max(plan.basis_bytes for plan in plans),
            predictions=max(plan.query_bytes for plan in plans),
            answer=max(plan.answer_bytes for plan in plans),
        )

    def machine_settings(
        self,
        name: str,
        teacher_parameters: int,
        disclosure: DisclosureLimits,
        *,
        guarantee: StatedGuarantee | None = None,
        required: StatedGuarantee | None = None,
    ) -> MachineSettings:
        """Settings of the machine of a participant whose model has that many parameters.

        Args:
            name: of the participant.
            teacher_parameters: of the model that answers.
            disclosure: the most that it lets out.
            guarantee: to the patients behind its answers; None: none.
            required: that a peer must make to take part; None: nothing.
        """
        spec = self.spec
        return MachineSettings(
            collaboration=self.digest,
            forced_every=self.forced_every,
            always_share=self.always_share,
            disclosure=DisclosurePolicy(
                release=Release(spec.release),
                classes=spec.classes,
                rows=spec.q,
                teacher_parameters=teacher_parameters,
                # Whoever agrees on `logits` lets out all of them; totals can still limit it.
                fraction_per_version=None if spec.release == "logits" else disclosure.fraction,
                # As many as slots hold: more than what leaves of few samples.
                block=plan_exchange(spec, monomials=False).params.slots,
                student_total=disclosure.student_total,
                teacher_total=disclosure.teacher_total,
            ),
            round_seconds=self.round_seconds,
            setup_seconds=self.setup_seconds,
            guarantee=guarantee,
            required=required,
            key_bits=self.key_bits,
            key_openings=self.key_openings,
            asked=self.asked_by(name) if self.teachers else None,
            answered=self.answered_by(name) if self.teachers else None,
        )
