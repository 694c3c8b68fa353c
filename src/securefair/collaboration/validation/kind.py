"""Validation as a kind of collaboration: a transfer's question, and nobody learns by answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from securefair.collaboration.telling import Told
from securefair.collaboration.transfer.kind import TransferKind
from securefair.collaboration.validation import telling
from securefair.collaboration.wording import Wording
from securefair.config import RunConfig, keys_of
from securefair.data import ParticipantData
from securefair.records import RunResult
from securefair.words import Words

if TYPE_CHECKING:
    from securefair.collaboration.transfer.agreement import TransferAgreement
    from securefair.collaboration.transfer.observer import TransferObserver
    from securefair.collaboration.validation.agreement import ValidationAgreement
    from securefair.collaboration.validation.host import ValidationHost


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

    def tell(self, config: RunConfig, result: RunResult, words: Words) -> Told:
        """See `Kind`."""
        del config
        return telling.tell(result, words)

    @property
    def agreed(self) -> type[ValidationAgreement]:
        """See `TransferKind`."""
        from securefair.collaboration.validation.agreement import ValidationAgreement

        return ValidationAgreement

    @property
    def participant(self) -> type[ValidationHost]:
        """See `TransferKind`."""
        from securefair.collaboration.validation.host import ValidationHost

        return ValidationHost

    def observer(
        self, config: RunConfig, agreement: TransferAgreement, data: Sequence[ParticipantData]
    ) -> TransferObserver:
        """See `Kind`."""
        from securefair.collaboration.validation.observer import ValidationObserver

        del data
        return ValidationObserver(self.name, config.encryption.backend, agreement)


VALIDATE = ValidateKind(
    name="validation",
    wording=Wording("Validation", "rules.validation", messages={"ask": "messages.ask_with_keys"}),
)
