"""A hospital that looks at its peers' models, and lets them look at its own.

It learns nothing: what it opens stays beside its own fit, which alone answers. A "student" only
validates: no model of it is looked at. A "teacher" is validated only: it asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from securefair.collaboration.transfer.own_fit import OwnFitHost
from securefair.collaboration.validated import HospitalValidation
from securefair.collaboration.validation.agreement import ValidationAgreement
from securefair.collaboration.validation.pages import smooth, validation_of
from securefair.protocol.jobs import Step, Stepped
from securefair.worth.page import Groups


class ValidationHost(OwnFitHost):
    """See `Host`; the arguments are `TransferParticipant`'s."""

    made = "a validation"
    agreement: ValidationAgreement

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if self._role == "teacher":
            self.asks = False

    def left_out(self) -> Sequence[str]:
        """See `Host`: peers whose answers are no function of the features."""
        patients = self.agreement.patients_of(self.data)
        opened = {name: self.notes.released[name] for name in self.notes.senders}
        return [one for one, z in opened.items() if not smooth(self.agreement, patients, z)]

    def validation(
        self, *, groups: Groups | None = None, pieces: Mapping[str, bytes] | None = None
    ) -> HospitalValidation:
        """How good peers' models are on its own patients.

        Args:
            groups: in which patients are looked at apart, training patients first.
            pieces: that a host gave out, for one that was made without; None: its own.
        """
        released, senders = self._opened_before(pieces)
        return validation_of(
            self.agreement,
            self.data,
            self.own,
            {name: released[name] for name in senders},
            asked=() if self._role == "teacher" else self.agreement.teachers_of(self.name),
            groups=groups,
        )

    def _step(self, job: Step) -> Stepped:
        """Nothing is learnt."""
        self.notes.senders = job.peers
        return Stepped()
