"""Transfer as a kind of collaboration.

What computes is imported where it computes: whoever asks what a kind reads or is called needs
neither torch nor an encryption.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from securefair.collaboration.agreement import PublicFacts
from securefair.collaboration.host import Role, Stored
from securefair.collaboration.interface import Kind
from securefair.collaboration.transfer import telling
from securefair.collaboration.wording import SiteWording, Wording
from securefair.config import RunConfig, keys_of
from securefair.data import ParticipantData
from securefair.errors import ConfigError

if TYPE_CHECKING:
    from securefair.collaboration.forecast import Forecast
    from securefair.collaboration.transfer.agreement import TransferAgreement
    from securefair.collaboration.transfer.host import TransferHost
    from securefair.collaboration.transfer.observer import TransferObserver
    from securefair.model.heads import Head


A = TypeVar("A", bound="TransferAgreement")


@dataclass(frozen=True)
class AskingKind(Kind[A]):
    """Everybody asks its peers once, as in a transfer: what kinds of that exchange have in common.

    Whether anybody learns from it, and what leaves, is each kind's own.
    """

    exchanges: ClassVar[int | None] = telling.ROUNDS
    takes_own: ClassVar[bool] = True
    model_key: ClassVar[str] = "transfer.fit"

    def check(self, config: RunConfig) -> None:
        """See `Kind`."""
        if self.name in config.run.algorithms and config.model.kind == "network":
            raise ConfigError(
                "transfer fits regularised models to features, it trains no network",
                where="model.kind",
                found="network",
                expected='"quadratic" or "linear", or other algorithms',
            )
        if config.renewals and config.privacy is not None:
            raise ConfigError(
                "a private fit on other patients is another release, with a budget of its own",
                where="renewals",
                expected="a new collaboration, or no [privacy] section",
            )

    def agree(self, config: RunConfig, facts: PublicFacts, *, seed: int) -> A:
        """See `Kind`."""
        if len(facts.shape) != 1:
            raise ConfigError(
                f"{self.name} needs feature vectors",
                where="data",
                found=f"samples of {facts.shape}",
            )
        return self.agreed.of(config, facts, seed=seed, private=config.privacy is not None)

    @property
    @abstractmethod
    def agreed(self) -> type[A]:
        """What its agreements are."""

    @property
    @abstractmethod
    def participant(self) -> type[TransferHost]:
        """What its hosts are."""

    def check_given(self) -> None:
        """See `Kind`."""
        raise ConfigError(
            "a transfer fits models of its own, it starts from none that is given",
            where="algorithm",
            found=self.name,
            hint='algorithm="cycle" or "vpdl" trains given modules; `teachers` answer with a model '
            "that is trained already",
        )

    def check_own(self, agreement: A, own: ParticipantData) -> None:
        """See `Kind`; of a model that it brings."""
        agreement.check_teacher(own, private=agreement.private)

    def host(
        self,
        agreement: A,
        own: ParticipantData,
        *,
        seed: int,
        stored: Stored | None = None,
        role: Role = "both",
        given: Head | None = None,
    ) -> TransferHost:
        """See `Kind`."""
        from securefair.collaboration.private import private_teachers

        if given is not None:
            self.check_given()
        own = own.earlier[0] if own.earlier else own
        terms, teacher = agreement.privacy, None
        if terms is not None and role != "student":  # nothing of a student's patients is answered
            budget = None if stored is None else stored.budget
            fitted = private_teachers([own.common], ["linear"], terms, seed=seed, budget=budget)
            teacher = fitted[own.name]
        return self.participant(
            own,
            agreement,
            seed=seed,
            teacher=teacher,
            required=None if terms is None else terms.required,
            stored=stored,
            role=role,
        )

    def recalled(
        self,
        agreement: A,
        own: ParticipantData,
        *,
        seed: int,
    ) -> TransferHost:
        """See `Kind`."""
        return self.participant(own, agreement, seed=seed)


@dataclass(frozen=True)
class TransferKind(AskingKind["TransferAgreement"]):
    """One answer from every teacher, taken as an offset of the own fit."""

    renews: ClassVar[bool] = True
    prices: ClassVar[str] = "one exchange"

    @property
    def reads(self) -> frozenset[str]:
        """See `Kind`."""
        return (
            keys_of("transfer", "disclosure")
            | keys_of("privacy", without=("asked_epsilon",))
            | {
                "model.weight_bits",
                "training.class_weight",
                "encryption.backend",
                "encryption.device",
                "encryption.flooding_bits",
                "encryption.precision",
            }
        )

    tell = staticmethod(telling.tell)

    @property
    def agreed(self) -> type[TransferAgreement]:
        """See `AskingKind`."""
        from securefair.collaboration.transfer.agreement import TransferAgreement

        return TransferAgreement

    @property
    def participant(self) -> type[TransferHost]:
        """See `AskingKind`."""
        from securefair.collaboration.transfer.host import TransferHost

        return TransferHost

    def site_wording(self, agreement: TransferAgreement) -> SiteWording:
        """See `Kind`: what is opened in sums tells nobody's model by itself."""
        if not agreement.sums:
            return super().site_wording(agreement)
        return SiteWording(told="sites.told_sums", tells="sites.tells_sums")

    def cautions(self, agreement: TransferAgreement) -> list[str]:
        """See `Kind`."""
        from securefair.collaboration.transfer.forecast import cautions_of

        return cautions_of(agreement)

    def check_role(self, role: Role) -> None:
        """See `Kind`: a student answers nobody, a teacher asks nobody."""
        del role

    def observer(
        self,
        agreement: TransferAgreement,
        data: Sequence[ParticipantData],
        renewed: Sequence[str] = (),
    ) -> TransferObserver[Any]:
        """See `Kind`; a name stands among the renewed as often as its data have an earlier state.

        Raises:
            DataError: too few patients changed.
        """
        from securefair.collaboration.transfer.observer import TransferObserver
        from securefair.privacy.membership import check_tables

        later = {own.name: [*own.earlier[1:], replace(own, earlier=())] for own in data}
        for own in data:
            check_tables(own.name, [one.train for one in (*own.earlier, own)], b"simulated")
        renewals = [later[name].pop(0) for name in renewed]
        return TransferObserver(self.name, agreement, renewals)

    def forecast(self, agreement: TransferAgreement, data: Sequence[ParticipantData]) -> Forecast:
        """See `Kind`."""
        from securefair.collaboration.transfer.forecast import forecast_of

        return forecast_of(self.name, agreement, data)


TRANSFER = TransferKind(
    name="transfer",
    wording=Wording(
        "Transfer",
        "rules.transfer",
        messages={
            "ask": "messages.ask_with_keys",
        },
        summed={
            "answer": "messages.part",
            "reveal": "messages.reveal_part",
            "key": "messages.part_key",
        },
    ),
)
