"""How far opened numbers are from those computed in the clear on the same patients and fits.

Only a simulation can ask: it holds the student's patients and the teachers' fits at once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.planner import plan_exchange
from securefair.collaboration.audit import Audit
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.collaboration.transfer.participant import MEAN, TransferParticipant
from securefair.exchange import steps
from securefair.model.projection import public_rows
from securefair.model.transfer.answers import asked_about

Array = NDArray[np.float64]


class TransferAudit(Audit):
    """Of what students of a transfer open."""

    def __init__(self, agreement: TransferAgreement) -> None:
        super().__init__()
        self._agreement = agreement

    def check(
        self, student: TransferParticipant, everyone: Mapping[str, TransferParticipant]
    ) -> None:
        """Compare all that a student opened with the same from cleartext fits."""
        agreement = self._agreement
        plan = plan_exchange(agreement.spec_for(len(student.data.train)))
        basis = steps.public_basis(plan, agreement.basis_seed)
        rows = public_rows(
            plan.ring_degree,
            basis.coefficients,
            plan.spec.samples,
            basis.signs.astype(np.float64),
        )
        patients = asked_about(agreement.asked(student.data.train)).features

        def numbers(teacher: str) -> Array:
            compiled = steps.compile_model(plan, everyone[teacher].answering)
            return rows @ compiled.logits(patients)

        for name, opened in student.notes.released.items():
            senders = student.notes.senders if name == MEAN else (name,)
            self.compare(opened, np.mean([numbers(sender) for sender in senders], axis=0))
