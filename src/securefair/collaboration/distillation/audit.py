"""How far released values are from those of the clear backend on the same inputs.

Only a simulation can ask: it holds the student's samples and the teacher's model at once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.distillation.participant import Participant, RoundNotes
from securefair.collaboration.distillation.setup import Collaboration
from securefair.data.dataset import ParticipantData
from securefair.exchange import steps
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import Head


class ReleaseAudit:
    """Running maximum of |released - clear| and the range of clear released values."""

    def __init__(self, collaboration: Collaboration) -> None:
        self._collaboration = collaboration
        self._students: dict[str, tuple[Student, bytes, bytes]] = {}
        self.max_abs_error = 0.0
        self._lowest, self._highest = np.inf, -np.inf

    @property
    def extremes(self) -> tuple[float, float, float]:
        """Largest error, smallest and largest value: all that later checks depend on."""
        return self.max_abs_error, float(self._lowest), float(self._highest)

    @extremes.setter
    def extremes(self, values: tuple[float, float, float]) -> None:
        self.max_abs_error, self._lowest, self._highest = values

    @property
    def value_range(self) -> float:
        """Largest minus smallest released value, as the clear backend computes them."""
        return float(self._highest - self._lowest) if self._highest > self._lowest else 0.0

    @property
    def error_over_range(self) -> float:
        """Largest error over the range; 0 before anything was released."""
        return self.max_abs_error / self.value_range if self.value_range else 0.0

    def check(self, student: Participant, round: int, teachers: dict[str, Head]) -> None:
        """Compare everything that a student opened in a round with its clear twin."""
        notes = student.rounds[round]
        for peer, opened in notes.opened.items():
            clear = self._clear(student.data, notes, teachers[peer])
            self.max_abs_error = max(
                self.max_abs_error, float(np.abs(opened.released - clear).max())
            )
            self._lowest = min(self._lowest, float(clear.min()))
            self._highest = max(self._highest, float(clear.max()))

    def _clear(
        self, data: ParticipantData, notes: RoundNotes, teacher: Head
    ) -> NDArray[np.float64]:
        agreed = self._collaboration
        spec, seed = agreed.spec_for(len(data.train)), agreed.basis_seed
        if data.name not in self._students:
            student = Student(spec, backend="clear", seed=seed, max_openings=None)
            self._students[data.name] = (student, *student.encrypt_features(data.train))
        student, features, basis = self._students[data.name]
        twin = Teacher(teacher, backend="clear", max_numbers=math.inf)
        upload = twin.receive(spec, seed, student.public_keys, features, basis)
        question = b""
        if spec.sends_predictions:
            p = steps.predictions(notes.snapshot, data.train, agreed.temperature)
            question = student.encrypt_predictions(p)
        answer = twin.evaluate(upload, question)
        return student.open(answer, temperature=agreed.temperature).released
