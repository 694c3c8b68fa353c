"""Description as a kind of collaboration: sums of counts, and nobody learns from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from securefair.collaboration.host import Role
from securefair.collaboration.interface import Kind
from securefair.collaboration.table_one import telling
from securefair.collaboration.telling import Told
from securefair.collaboration.transfer.kind import TransferKind
from securefair.collaboration.wording import Wording
from securefair.config import RunConfig, keys_of
from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair.records import RunResult
from securefair.words import Words

if TYPE_CHECKING:
    from securefair.collaboration.forecast import Forecast
    from securefair.collaboration.table_one.agreement import TableAgreement
    from securefair.collaboration.table_one.host import TableHost
    from securefair.collaboration.table_one.observer import TableObserver
    from securefair.collaboration.told import TellingLedger
    from securefair.collaboration.transfer.agreement import TransferAgreement


@dataclass(frozen=True)
class TableKind(TransferKind):
    """Everybody gets sums of counts over all others, twice."""

    exchanges: ClassVar[int | None] = telling.ROUNDS
    renews: ClassVar[bool] = False
    describes: ClassVar[bool] = True
    prices: ClassVar[str] = "one sum"

    @property
    def reads(self) -> frozenset[str]:
        """See `Kind`."""
        return keys_of("table_one") | {
            "disclosure.student_total",
            "disclosure.teacher_total",
            "encryption.backend",
            "encryption.device",
            "training.class_weight",
        }

    def check(self, config: RunConfig) -> None:
        """See `Kind`."""
        super().check(config)
        if config.privacy is not None:
            raise ConfigError(
                "sums of a description carry no noise: privacy of single patients is promised by "
                "none of them",
                where="privacy",
                found=f"epsilon = {config.privacy.epsilon:g}",
                expected="no [privacy] section",
            )

    def check_role(self, role: Role) -> None:
        """See `Kind`: everybody adds, and everybody is told."""
        Kind.check_role(self, role)

    def cautions(self, agreement: TransferAgreement) -> list[str]:
        """See `Kind`."""
        from securefair.collaboration.table_one.forecast import cautions_of

        return cautions_of(agreement)  # type: ignore[arg-type]

    def check_told(
        self, agreement: TransferAgreement, own: ParticipantData, told: TellingLedger
    ) -> None:
        """See `Kind`."""
        from securefair.collaboration.table_one.host import telling_of

        told.check(telling_of(agreement, own))  # type: ignore[arg-type]

    def tell(self, config: RunConfig, result: RunResult, words: Words) -> Told:
        """See `Kind`."""
        return telling.tell(config, result, words)

    @property
    def agreed(self) -> type[TableAgreement]:
        """See `TransferKind`."""
        from securefair.collaboration.table_one.agreement import TableAgreement

        return TableAgreement

    @property
    def participant(self) -> type[TableHost]:
        """See `TransferKind`."""
        from securefair.collaboration.table_one.host import TableHost

        return TableHost

    def observer(
        self, config: RunConfig, agreement: TransferAgreement, data: Sequence[ParticipantData]
    ) -> TableObserver:
        """See `Kind`."""
        from securefair.collaboration.table_one.observer import TableObserver

        del data
        return TableObserver(self.name, config.encryption.backend, agreement)

    def forecast(
        self, config: RunConfig, agreement: TransferAgreement, data: Sequence[ParticipantData]
    ) -> Forecast:
        """See `Kind`."""
        from securefair.collaboration.table_one.forecast import forecast_of

        policy = agreement.disclosure_policy(config.disclosure)
        return forecast_of(self.name, agreement, policy, data)  # type: ignore[arg-type]


DESCRIBE = TableKind(
    name="table-one",
    wording=Wording(
        "Table 1",
        "rules.table-one",
        summed={
            "answer": "messages.part",
            "reveal": "messages.reveal_part",
            "key": "messages.part_key",
        },
    ),
)
