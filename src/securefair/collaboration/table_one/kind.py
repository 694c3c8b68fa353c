"""Description as a kind of collaboration: sums of counts, and nobody learns from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from securefair.collaboration.table_one import telling
from securefair.collaboration.transfer.kind import AskingKind
from securefair.collaboration.wording import SiteWording, Wording
from securefair.config import RunConfig, keys_of
from securefair.data import ParticipantData
from securefair.errors import ConfigError

if TYPE_CHECKING:
    from securefair.collaboration.forecast import Forecast
    from securefair.collaboration.table_one.agreement import TableAgreement
    from securefair.collaboration.table_one.host import TableHost
    from securefair.collaboration.table_one.observer import TableObserver
    from securefair.collaboration.told import TellingLedger


@dataclass(frozen=True)
class TableKind(AskingKind["TableAgreement"]):
    """Everybody gets sums of counts over all others, twice."""

    exchanges: ClassVar[int | None] = telling.ROUNDS
    describes: ClassVar[bool] = True
    prices: ClassVar[str] = "one sum"

    @property
    def reads(self) -> frozenset[str]:
        """See `Kind`."""
        return keys_of("table_one") | {
            "disclosure.student_total",
            "disclosure.teacher_total",
            "encryption.backend",  # files name these two, although sums here are only masked
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

    def cautions(self, agreement: TableAgreement) -> list[str]:
        """See `Kind`."""
        from securefair.collaboration.table_one.forecast import cautions_of

        return cautions_of(agreement)

    def check_told(
        self, agreement: TableAgreement, own: ParticipantData, told: TellingLedger
    ) -> None:
        """See `Kind`."""
        from securefair.collaboration.table_one.host import telling_of

        told.check(telling_of(agreement, own))

    tell = staticmethod(telling.tell)

    @property
    def agreed(self) -> type[TableAgreement]:
        """See `AskingKind`."""
        from securefair.collaboration.table_one.agreement import TableAgreement

        return TableAgreement

    @property
    def participant(self) -> type[TableHost]:
        """See `AskingKind`."""
        from securefair.collaboration.table_one.host import TableHost

        return TableHost

    def observer(
        self,
        agreement: TableAgreement,
        data: Sequence[ParticipantData],
        renewed: Sequence[str] = (),
    ) -> TableObserver:
        """See `Kind`."""
        from securefair.collaboration.table_one.observer import TableObserver

        del data, renewed
        return TableObserver(self.name, agreement)

    def forecast(self, agreement: TableAgreement, data: Sequence[ParticipantData]) -> Forecast:
        """See `Kind`."""
        from securefair.collaboration.table_one.forecast import forecast_of

        return forecast_of(self.name, agreement, data)


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
        site=SiteWording(
            peers="sites.peers_counted", told="sites.told_sums", tells="sites.tells_counts"
        ),
    ),
)
