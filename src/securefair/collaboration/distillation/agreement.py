"""What participants that distil agree on before they exchange a byte."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds, LayerBounds
from securefair.collaboration.agreement import LOCAL, Agreement, PublicFacts
from securefair.collaboration.sizes import longest_plans
from securefair.collaboration.wording import data_size, ring_said
from securefair.config import (
    DistillationSection,
    EncryptionSection,
    FairnessSection,
    ModelSection,
    TrainingSection,
)
from securefair.config.privacy import PrivacySection
from securefair.errors import ConfigError
from securefair.protocol.codec import Limits
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.settings import MachineSettings
from securefair.words import words_of
from securefair.worth import ReputationRule


@dataclass(frozen=True, kw_only=True)
class DistillationAgreement(Agreement):
    """See `Agreement`; the seed draws the basis of projections.

    Attributes:
        always_share: VPDL: reputation 1 for all, everyone answers always.

    Raises:
        ConfigError: fewer than two participants, or two of one name; reputations are to be
            formed of a release that does not tell enough for it; the samples do not fit the
            network.
        PlanError: the exchange is impossible for the participant with the most samples.
    """

    model: ModelSection
    training: TrainingSection
    distillation: DistillationSection
    fairness: FairnessSection
    encryption: EncryptionSection
    always_share: bool = False
    privacy: PrivacySection | None = field(default=None, metadata=LOCAL)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spec.sends_predictions and not self.always_share:
            raise ConfigError(
                "this release only monitors: no reputation can be formed of it",
                where="distillation.release",
                found=self.spec.release,
                expected='"projection" or "logits", or always_share',
            )
        if self.teachers:
            self._check_roles()
        plan_exchange(self.spec)  # raises if impossible

    @cached_property
    def spec(self) -> ExchangeSpec:
        """The exchange with the student with the most samples."""
        distillation, model = self.distillation, self.model
        network: tuple[LayerBounds, ...] = ()
        if model.network is not None:
            network = _layer_bounds(model.network, self.facts, model.weight_bits)
        return ExchangeSpec(
            features=self.features,
            classes=self.classes,
            samples=self.facts.samples,
            hidden=model.hidden if model.kind == "quadratic" else 0,
            release=distillation.release,
            basis=distillation.basis,
            q=distillation.q,
            flooding_bits=self.encryption.flooding_bits,
            precision=self.encryption.precision,
            weight_bits=model.weight_bits,
            bounds=HeadBounds(logit=network[-1].bound) if network else HeadBounds(),
            network=network,
        )

    @property
    def rule(self) -> ReputationRule:
        """How alignment becomes reputation."""
        found = self.fairness
        return ReputationRule(alpha=found.alpha, tau_opt=found.tau_opt, tau_max=found.tau_max)

    @property
    def teachers(self) -> tuple[str, ...]:
        """Participants that only teach; the others then only learn, and nothing that was opened
        flows back. Empty: everybody does both.
        """
        return self.distillation.teachers

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

    def spec_for(self, samples: int) -> ExchangeSpec:
        """The exchange with a student of that many samples.

        Raises:
            ConfigError: more than the collaboration provides for.
        """
        self.check_samples(samples)
        return msgspec.structs.replace(self.spec, samples=samples)

    @property
    def basis_seed(self) -> bytes:
        """Public seed of every student's projections.

        One for all: students who bring the same samples get the same numbers, so together they
        learn nothing of a teacher that each does not learn alone.
        """
        facts = msgspec.json.encode(self.seed)
        return self.facts.basis_seed(hashlib.sha256(b"securefair basis\0" + facts).digest())

    @property
    def plan_digest(self) -> bytes:
        """See `Agreement`."""
        return plan_exchange(self.spec).digest

    @property
    def numbers_a_round(self) -> int:
        """See `Agreement`: one answer to the student with the most samples."""
        policy = self.machine_settings(self.participants[0], 1).disclosure
        return policy.numbers_per_answer(self.spec.samples)

    @property
    def summary(self) -> str:
        """See `Agreement`."""
        plan = plan_exchange(self.spec)
        return (
            f"{ring_said(self.encryption.backend, plan.params.ring_degree)}, "
            f"{self.spec.release} of {self.numbers_a_round} numbers an answer, "
            f"upload {data_size(plan.feature_bytes)}, "
            f"for sites with at least {self.fewest_samples} training samples; on heart disease "
            f"data, {words_of()('distillation.refused')}"
        )

    @property
    def fewest_samples(self) -> int:
        """Of a participant: with fewer, an answer would tell as much as all logits, or one."""
        return self.spec.leaves.least(self.spec.q)

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
            question=max(plan.query_bytes for plan in plans),
            answer=max(plan.answer_bytes for plan in plans),
        )

    def machine_settings(
        self,
        name: str,
        teacher_parameters: int,
        *,
        guarantee: StatedGuarantee | None = None,
        required: StatedGuarantee | None = None,
    ) -> MachineSettings:
        """Settings of the machine of a participant whose model has that many parameters.

        Args:
            name: of the participant.
            teacher_parameters: of the model that answers.
            guarantee: to the patients behind its answers; None: none.
            required: that a peer must make to take part; None: nothing.
        """
        spec = self.spec
        return MachineSettings(
            collaboration=self.digest,
            protocol=self.facts.protocol,
            forced_every=self.fairness.forced_every,
            always_share=self.always_share,
            disclosure=DisclosurePolicy(
                release=spec.release,
                classes=spec.classes,
                rows=spec.q,
                teacher_parameters=teacher_parameters,
                # Whoever agrees on `logits` lets out all of them; totals can still limit it.
                fraction_per_version=None if spec.leaves.whole else self.disclosure.fraction,
                # As many as slots hold: more than what leaves of few samples.
                block=plan_exchange(spec, coefficients=False).params.slots,
                student_total=self.disclosure.student_total,
                teacher_total=self.disclosure.teacher_total,
            ),
            round_seconds=self.facts.round_seconds,
            setup_seconds=self.facts.setup_seconds,
            guarantee=guarantee,
            required=required,
            key_bits=self.encryption.key_bits,
            key_openings=self.encryption.key_openings,
            asked=self.asked_by(name) if self.teachers else None,
            answered=self.answered_by(name) if self.teachers else None,
        )


def _layer_bounds(name: str, facts: PublicFacts, weight_bits: int) -> tuple[LayerBounds, ...]:
    """Public terms of a network, of its architecture alone."""
    from securefair.exchange.compile import bounds_by_shape
    from securefair.model.networks import fold, small_network  # torch, which heads do not need

    network = fold(small_network(name, facts.classes, seed=0))
    width, pixels = facts.shape[0], math.prod(network.input_shape)
    if width != pixels:
        raise ConfigError(
            "the samples are no images of the network's size",
            where="model.network",
            found=f"{width} features",
            expected=f"{pixels} pixels for {name}",
        )
    return bounds_by_shape(network, weight_bits=weight_bits)
