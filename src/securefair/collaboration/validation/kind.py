"""Validation as a kind of collaboration: a transfer's question, and nobody learns by answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from securefair.collaboration.transfer.kind import TransferKind
from securefair.collaboration.validation import telling
from securefair.collaboration.wording import SiteWording, Wording
from securefair.config import keys_of
from securefair.data import ParticipantData

if TYPE_CHECKING:
    from securefair.collaboration.transfer.agreement import TransferAgreement
    from securefair.collaboration.validation.agreement import ValidationAgreement
    from securefair.collaboration.validation.host import ValidationHost
    from securefair.collaboration.validation.observer import ValidationObserver

_LEARNS = {
    *("transfer.q", "transfer.opened", "transfer.sums", "transfer.missing", "transfer.peers"),
    "disclosure.fraction",
}
"""Keys that say how a transfer learns, and from how many."""


@dataclass(frozen=True)
class ValidateKind(TransferKind):
    """Everybody asks every peer's model about its own labelled patients, once."""

    renews: ClassVar[bool] = False
    validates: ClassVar[bool] = True

    @property
    def reads(self) -> frozenset[str]:
        """See `Kind`."""
        return (super().reads - _LEARNS) | keys_of("validation")

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

    def observer(
        self,
        agreement: TransferAgreement,
        data: Sequence[ParticipantData],
        renewed: Sequence[str] = (),
    ) -> ValidationObserver:
        """See `Kind`."""
        from securefair.collaboration.validation.observer import ValidationObserver

        del data, renewed
        return ValidationObserver(self.name, agreement)


VALIDATE = ValidateKind(
    name="validation",
    wording=Wording(
        "Validation",
        "rules.validation",
        messages={"ask": "messages.ask_with_keys"},
        site=SiteWording(peers="sites.peers_looked_at"),
    ),
)
