"""How far opened numbers are from those computed in the clear on the same patients and fits.

Only a simulation can ask: it holds the student's patients and the teachers' fits at once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.audit import Audit
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.collaboration.transfer.notes import MEAN
from securefair.collaboration.transfer.participant import TransferParticipant

Array = NDArray[np.float64]


class TransferAudit(Audit):
    """Of what students of a transfer open."""

    def __init__(self, agreement: TransferAgreement) -> None:
        super().__init__()
        self._question = agreement.question

    def check(
        self, student: TransferParticipant, everyone: Mapping[str, TransferParticipant]
    ) -> None:
        """Compare all that a student opened with the same from cleartext fits."""

        asked = self._question.agreed.patients_of(student.data)

        def numbers(teacher: str) -> Array:
            one = everyone[teacher]
            return self._question.clear(asked, one.own, one.answering)

        for name, opened in student.notes.released.items():
            senders = student.notes.senders if name == MEAN else (name,)
            self.compare(opened, np.mean([numbers(sender) for sender in senders], axis=0))
