"""Transfer as a kind of collaboration.

What computes is imported where it computes: whoever asks what a kind reads or is called needs
neither torch nor an encryption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from securefair.collaboration.agreement import PublicFacts
from securefair.collaboration.host import Role, Stored
from securefair.collaboration.interface import Kind
from securefair.collaboration.telling import Told
from securefair.collaboration.transfer import telling
from securefair.collaboration.wording import Wording
from securefair.config import RunConfig, keys_of
from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair.records import RunResult
from securefair.words import Words

if TYPE_CHECKING:
    from securefair.collaboration.forecast import Forecast
    from securefair.collaboration.transfer.agreement import TransferAgreement
    from securefair.collaboration.transfer.host import TransferHost
    from securefair.collaboration.transfer.observer import TransferObserver
    from securefair.model.heads import Head


@dataclass(frozen=True)
class TransferKind(Kind["TransferAgreement"]):
    """One answer from every teacher, taken as an offset of the own fit."""

    exchanges: ClassVar[int | None] = telling.ROUNDS
    renews: ClassVar[bool] = True
    takes_own: ClassVar[bool] = True
    model_key: ClassVar[str] = "transfer.fit"
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

    def tell(self, config: RunConfig, result: RunResult, words: Words) -> Told:
        """See `Kind`."""
        return telling.tell(config, result, words)

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

    def agree(self, config: RunConfig, facts: PublicFacts, *, seed: int) -> TransferAgreement:
        """See `Kind`."""
        if len(facts.shape) != 1:
            raise ConfigError(
                f"{self.name} needs feature vectors",
                where="data",
                found=f"samples of {facts.shape}",
            )
        return self.agreed.of(config, facts, seed=seed, private=config.privacy is not None)

    @property
    def agreed(self) -> type[TransferAgreement]:
        """What its agreements are."""
        from securefair.collaboration.transfer.agreement import TransferAgreement

        return TransferAgreement

    def check_own(self, agreement: TransferAgreement, own: ParticipantData) -> None:
        """See `Kind`; of a model that it brings."""
        agreement.check_teacher(own, private=agreement.private)

    def cautions(self, agreement: TransferAgreement) -> list[str]:
        """See `Kind`."""
        from securefair.collaboration.transfer.forecast import cautions_of

        return cautions_of(agreement)

    def check_role(self, role: Role) -> None:
        """See `Kind`: a student answers nobody, a teacher asks nobody."""
        del role

    def host(
        self,
        config: RunConfig,
        agreement: TransferAgreement,
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
            raise ConfigError(
                "a transfer fits models of its own, it starts from none that is given",
                where="algorithm",
                found=self.name,
            )
        own = own.earlier[0] if own.earlier else own
        terms, teacher = config.privacy, None
        if terms is not None and role != "student":  # nothing of a student's patients is answered
            budget = None if stored is None else stored.budget
            fitted = private_teachers([own.common], ["linear"], terms, seed=seed, budget=budget)
            teacher = fitted[own.name]
        return self.participant(
            own,
            agreement,
            seed=seed,
            backend=config.encryption.backend,
            device=config.encryption.device,
            disclosure=config.disclosure,
            teacher=teacher,
            required=None if terms is None else terms.required,
            stored=stored,
            role=role,
        )

    @property
    def participant(self) -> type[TransferHost]:
        """What its hosts are."""
        from securefair.collaboration.transfer.host import TransferHost

        return TransferHost

    def observer(
        self, config: RunConfig, agreement: TransferAgreement, data: Sequence[ParticipantData]
    ) -> TransferObserver:
        """See `Kind`; a name stands among renewals as often as its data have an earlier state.

        Raises:
            DataError: too few patients changed.
        """
        from securefair.collaboration.transfer.observer import TransferObserver
        from securefair.privacy.membership import check_tables

        later = {own.name: [*own.earlier[1:], replace(own, earlier=())] for own in data}
        for own in data:
            check_tables(own.name, [one.train for one in (*own.earlier, own)], b"simulated")
        renewals = [later[one.name].pop(0) for one in config.renewals]
        return TransferObserver(self.name, config.encryption.backend, agreement, renewals)

    def recalled(
        self,
        config: RunConfig,
        agreement: TransferAgreement,
        own: ParticipantData,
        *,
        seed: int,
    ) -> TransferHost:
        """See `Kind`."""
        return self.participant(own, agreement, seed=seed, backend=config.encryption.backend)

    def forecast(
        self, config: RunConfig, agreement: TransferAgreement, data: Sequence[ParticipantData]
    ) -> Forecast:
        """See `Kind`."""
        from securefair.collaboration.transfer.forecast import forecast_of

        policy = agreement.disclosure_policy(config.disclosure)
        return forecast_of(self.name, agreement, policy, data)


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
