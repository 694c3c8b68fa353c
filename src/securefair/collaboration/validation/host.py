"""A hospital that looks at its peers' models, and lets them look at its own.

It is a participant of a transfer that learns nothing: what it opens stays beside its own fit, which
alone answers. A "student" only validates: no model of it is looked at. A "teacher" is validated
only: it asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.transfer.host import OPENED, TransferHost, opened_in
from securefair.collaboration.validated import HospitalValidation
from securefair.collaboration.validation.agreement import ValidationAgreement
from securefair.collaboration.validation.pages import smooth, validation_of
from securefair.data.dataset import ParticipantData
from securefair.errors import ConfigError
from securefair.model.stored import Function
from securefair.model.transfer import LinearEstimates, Transferred, without_peers
from securefair.protocol.jobs import Step, Stepped
from securefair.worth.page import Groups

Array = NDArray[np.float64]


class ValidationHost(TransferHost):
    """See `Host`; the arguments are `TransferParticipant`'s."""

    agreement: ValidationAgreement

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if self._role == "teacher":
            self.asks = False

    def check_renewal(self, data: ParticipantData) -> None:
        """See `Host`.

        Raises:
            ConfigError: always: its pages are about the patients that it began with.
        """
        raise ConfigError(
            "a validation is of the patients that it began with",
            where=data.name,
            expected="a new project",
        )

    def left_out(self) -> Sequence[str]:
        """See `Host`: peers whose answers are no function of the features."""
        patients = self.agreement.patients_of(self.data)
        opened = {name: self.notes.released[name] for name in self.notes.senders}
        return [one for one, z in opened.items() if not smooth(self.agreement, patients, z)]

    def reputations(self) -> Mapping[str, float | None]:
        """See `Host`: none, since nobody's word counts."""
        return dict.fromkeys(self.machine.reputations)

    def estimates(self, pieces: Mapping[str, bytes] | None = None) -> LinearEstimates | None:
        """None: its model is of its own patients alone, as it was before."""
        del pieces
        return None

    def refitted(self, pieces: Mapping[str, bytes], without: str) -> Function:
        """See `Host`.

        Raises:
            ConfigError: always; no peer is in its model.
        """
        del pieces
        raise ConfigError(
            "no peer is in this model, so nobody can be taken out of it",
            where=self.name,
            found=without,
        )

    def validation(
        self, *, groups: Groups | None = None, pieces: Mapping[str, bytes] | None = None
    ) -> HospitalValidation:
        """How good peers' models are on its own patients.

        Args:
            groups: in which patients are looked at apart, training patients first.
            pieces: that a host gave out, for one that was made without; None: its own.
        """
        opened = self.notes.released, self.notes.senders
        if pieces is not None and OPENED in pieces:
            opened = opened_in(pieces[OPENED])
        released, senders = opened
        return validation_of(
            self.agreement,
            self.data,
            self.own,
            {name: released[name] for name in senders},
            asked=() if self._role == "teacher" else self.agreement.teachers_of(self.name),
            groups=groups,
        )

    def _transferred_again(
        self, released: Mapping[str, Array], senders: Sequence[str]
    ) -> Transferred:
        """Whatever was opened, it is no part of the own model."""
        del released, senders
        return without_peers(self.own)

    def _step(self, job: Step) -> Stepped:
        """Nothing is learnt."""
        self.notes.senders = job.peers
        return Stepped()
