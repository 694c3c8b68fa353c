"""How far released values are from those of the clear backend on the same inputs.

Only a simulation can ask: it holds the student's samples and the teacher's model at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.audit import Audit
from securefair.collaboration.distillation.agreement import DistillationAgreement
from securefair.collaboration.distillation.participant import Participant, RoundNotes
from securefair.data.dataset import ParticipantData
from securefair.exchange import learning
from securefair.exchange.answerer import Answerer
from securefair.exchange.student import Student
from securefair.exchange.upload import ReceivedUpload
from securefair.model.heads import Head


class ReleaseAudit(Audit):
    """Of what students of distillation open."""

    def __init__(self, collaboration: DistillationAgreement) -> None:
        super().__init__()
        self._collaboration = collaboration
        self._students: dict[str, tuple[Student, ReceivedUpload]] = {}

    def check(self, student: Participant, round: int, teachers: dict[str, Head]) -> None:
        """Compare everything that a student opened in a round with its clear twin."""
        notes = student.rounds[round]
        for peer, opened in notes.opened.items():
            self.compare(opened.released, self._clear(student.data, notes, teachers[peer]))

    def _clear(
        self, data: ParticipantData, notes: RoundNotes, teacher: Head
    ) -> NDArray[np.float64]:
        agreed = self._collaboration
        spec, seed = agreed.spec_for(len(data.train)), agreed.basis_seed
        twin = Answerer(teacher, spec, seed=seed, backend="clear")
        if data.name not in self._students:
            student = Student(spec, backend="clear", seed=seed, max_openings=None)
            sent = student.encrypt_features(data.train)
            upload = twin.receive(spec, seed, student.public_keys, *sent)
            self._students[data.name] = student, upload
        student, upload = self._students[data.name]
        question = b""
        if spec.sends_predictions:
            p = learning.predictions(notes.snapshot, data.train, agreed.distillation.temperature)
            question = student.encrypt_predictions(p)
        answer = twin.evaluate(upload, question)
        return student.open_evaluated(answer, temperature=agreed.distillation.temperature).released
