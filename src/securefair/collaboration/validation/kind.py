"""Validation as a kind of collaboration: a transfer's question, and nobody learns by answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from securefair.collaboration.transfer.kind import TRANSFER, AskingKind
from securefair.collaboration.validation import telling
from securefair.collaboration.wording import Wording
from securefair.config import keys_of
from securefair.data import ParticipantData

if TYPE_CHECKING:
    from securefair.collaboration.forecast import Forecast
    from securefair.collaboration.host import Role
    from securefair.collaboration.validation.agreement import ValidationAgreement
    from securefair.collaboration.validation.host import ValidationHost
    from securefair.collaboration.validation.observer import ValidationObserver


_LEARNS = {
    *("transfer.q", "transfer.opened", "transfer.sums", "transfer.missing", "transfer.peers"),
    "disclosure.fraction",
}
"""Keys that say how a transfer learns, and from how many."""


@dataclass(frozen=True)
class ValidateKind(AskingKind["ValidationAgreement"]):
    """Everybody asks every peer's model about its own labelled patients, once."""

    validates: ClassVar[bool] = True
    prices: ClassVar[str] = TRANSFER.prices

    @property
    def reads(self) -> frozenset[str]:
        """See `Kind`."""
        return (TRANSFER.reads - _LEARNS) | keys_of("validation")

    tell = staticmethod(telling.tell)

    @property
    def agreed(self) -> type[ValidationAgreement]:
        """See `AskingKind`."""
        from securefair.collaboration.validation.agreement import ValidationAgreement

        return ValidationAgreement

    @property
    def participant(self) -> type[ValidationHost]:
        """See `AskingKind`."""
        from securefair.collaboration.validation.host import ValidationHost

        return ValidationHost

    def cautions(self, agreement: ValidationAgreement) -> list[str]:
        """See `Kind`."""
        return TRANSFER.cautions(agreement)

    def check_role(self, role: Role) -> None:
        """See `Kind`: a student answers nobody, a teacher asks nobody."""
        del role

    def forecast(self, agreement: ValidationAgreement, data: Sequence[ParticipantData]) -> Forecast:
        """See `Kind`."""
        from securefair.collaboration.transfer.forecast import forecast_of

        return forecast_of(self.name, agreement, data)

    def observer(
        self,
        agreement: ValidationAgreement,
        data: Sequence[ParticipantData],
        renewed: Sequence[str] = (),
    ) -> ValidationObserver:
        """See `Kind`."""
        from securefair.collaboration.validation.observer import ValidationObserver

        del data, renewed
        return ValidationObserver(self.name, agreement.encryption.backend, agreement)


VALIDATE = ValidateKind(
    name="validation",
    wording=Wording("Validation", "rules.validation", messages={"ask": "messages.ask_with_keys"}),
)
