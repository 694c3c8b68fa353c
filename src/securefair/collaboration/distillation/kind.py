"""VPDL and CYCle as kinds of collaboration.

What computes is imported where it computes: see `transfer.kind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from securefair.collaboration.agreement import PublicFacts
from securefair.collaboration.distillation import telling
from securefair.collaboration.host import Role, Stored
from securefair.collaboration.interface import Kind
from securefair.collaboration.telling import Told
from securefair.collaboration.wording import Wording
from securefair.config import RunConfig, keys_of
from securefair.data import ParticipantData
from securefair.errors import ConfigError, PlanError
from securefair.records import RunResult
from securefair.releases import release_of, training_releases
from securefair.words import Words

if TYPE_CHECKING:
    from securefair.collaboration.distillation.agreement import DistillationAgreement
    from securefair.collaboration.distillation.host import DistillingHost
    from securefair.collaboration.distillation.observer import DistillationObserver
    from securefair.collaboration.forecast import Forecast
    from securefair.collaboration.private import PrivateTeacher
    from securefair.model.heads import Head
    from securefair.privacy import PrivateAlignments
    from securefair.storage import Store


@dataclass(frozen=True, kw_only=True)
class DistillationKind(Kind["DistillationAgreement"]):
    """Students learn from what teachers' models say of their samples.

    Attributes:
        always_share: everyone answers always, and nobody forms a reputation.
    """

    always_share: bool
    loads: ClassVar[tuple[str, ...]] = ("securefair.collaboration.distillation.host",)

    @property
    def reads(self) -> frozenset[str]:
        """See `Kind`."""
        common = keys_of("model", "training", "distillation", "encryption", "disclosure")
        if self.always_share:
            return common | keys_of("privacy", without=("asked_epsilon",))
        return common | keys_of("fairness", "privacy")

    def tell(self, config: RunConfig, result: RunResult, words: Words) -> Told:
        """See `Kind`."""
        return telling.tell(config, result, words, reputations=not self.always_share)

    def check(self, config: RunConfig) -> None:
        """See `Kind`."""
        if self.name not in config.run.algorithms:
            return
        chosen, terms = config.distillation, config.privacy
        if chosen.release not in training_releases():
            raise ConfigError(
                f"{chosen.release} only monitors: it holds too few numbers to train on, and "
                f"{self.name} must train",
                where="distillation.release",
                found=chosen.release,
                expected='"projection" or "logits", or algorithms = ["standalone"] to monitor',
            )
        # A constant of an answer that flows back may hold a patient's feature.
        if chosen.prevalence == "teacher" and chosen.roles != "apart" and terms is None:
            raise ConfigError(
                "a teacher could write a patient's feature into the constant of its answer, and "
                "read it in what the student answers later",
                where="distillation.prevalence",
                found="teacher",
                expected='"own", or distillation.roles = "apart", or [privacy]',
            )
        asked = terms is not None and terms.asked_epsilon is not None
        if asked and not self.always_share and not release_of(chosen.release).whole:
            raise ConfigError(
                f"a {chosen.release} mixes all patients into every logit: an alignment of it "
                "cannot count what one patient changes",
                where="privacy.asked_epsilon",
                found=f'distillation.release = "{chosen.release}"',
                expected='distillation.release = "logits", or no asked_epsilon',
            )

    def agree(self, config: RunConfig, facts: PublicFacts, *, seed: int) -> DistillationAgreement:
        """See `Kind`."""
        from securefair.collaboration.distillation.agreement import DistillationAgreement

        if not self.always_share:
            return DistillationAgreement.of(config, facts, seed=seed)
        return DistillationAgreement.of(
            config,
            facts,
            seed=seed,
            always_share=True,
            fairness=RunConfig.model_fields["fairness"].default,  # nobody forms a reputation
        )

    def check_own(self, agreement: DistillationAgreement, own: ParticipantData) -> None:
        """See `Kind`; of few samples as many numbers would tell as much as all logits.

        Raises:
            ConfigError, PlanError: names the participant.
        """
        from securefair.circuit.spec import check_spec

        try:
            check_spec(agreement.spec_for(len(own.train)))
        except (ConfigError, PlanError) as error:
            raise error.about(own.name) from error

    @property
    def participant(self) -> type[DistillingHost]:
        """What its hosts are."""
        from securefair.collaboration.distillation.host import DistillingHost

        return DistillingHost

    def host(
        self,
        agreement: DistillationAgreement,
        own: ParticipantData,
        *,
        seed: int,
        stored: Stored | None = None,
        role: Role = "both",
        given: Head | None = None,
    ) -> DistillingHost:
        """See `Kind`."""
        self.check_role(role)
        terms, budget = agreement.privacy, None if stored is None else stored.budget
        teachers, alignments = self._private(agreement, own, seed=seed, budget=budget)
        host = self.participant(
            own,
            agreement,
            seed=seed,
            teacher=teachers.get(own.name),
            alignments=alignments.get(own.name),
            required=None if terms is None else terms.required,
            given=given,
            stored=stored,
        )
        if not host.restored:
            host.train_alone()
        return host

    def _private(
        self,
        agreement: DistillationAgreement,
        own: ParticipantData,
        *,
        seed: int,
        budget: Store | None = None,
    ) -> tuple[dict[str, PrivateTeacher], dict[str, PrivateAlignments]]:
        """What answers for a participant and how it forms alignments, where it is private."""
        terms, section = agreement.privacy, agreement.model
        if terms is None:
            return {}, {}
        from securefair.collaboration.distillation.private_alignments import private_alignments
        from securefair.collaboration.private import private_teachers

        teachers = private_teachers(
            [own],
            [section.kind],
            terms,
            seed=seed,
            hidden=section.hidden,
            network=section.network,
            budget=budget,
        )
        if self.always_share:
            return teachers, {}
        alignments = private_alignments(
            [own],
            teachers,
            terms,
            participants=agreement.participants,
            temperature=agreement.distillation.temperature,
            seed=seed,
            budget=budget,
        )
        return teachers, alignments

    def observer(
        self,
        agreement: DistillationAgreement,
        data: Sequence[ParticipantData],
        renewed: Sequence[str] = (),
    ) -> DistillationObserver:
        """See `Kind`."""
        from securefair.collaboration.distillation.observer import DistillationObserver

        del data, renewed
        return DistillationObserver(self.name, agreement)

    def recalled(
        self,
        agreement: DistillationAgreement,
        own: ParticipantData,
        *,
        seed: int,
    ) -> DistillingHost:
        """See `Kind`."""
        return self.participant(own, agreement, seed=seed)

    def cautions(self, agreement: DistillationAgreement) -> list[str]:
        """See `Kind`."""
        from securefair.collaboration.distillation.forecast import cautions_of

        return cautions_of(agreement)

    def forecast(
        self, agreement: DistillationAgreement, data: Sequence[ParticipantData]
    ) -> Forecast:
        """See `Kind`."""
        from securefair.collaboration.distillation.forecast import forecast_of

        return forecast_of(self.name, agreement, data)


VPDL = DistillationKind(
    name="vpdl",
    wording=Wording("VPDL", "rules.vpdl"),
    always_share=True,
)
CYCLE = DistillationKind(
    name="cycle",
    wording=Wording("CYCle", "rules.cycle", reputations=True),
    always_share=False,
)
