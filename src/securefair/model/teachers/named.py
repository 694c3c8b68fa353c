"""A usual model that is fitted to the hospital's own patients, to teach."""

from __future__ import annotations

from dataclasses import dataclass

from securefair.data.dataset import Probabilities, Samples
from securefair.model.usual import usual_model


@dataclass(frozen=True)
class UsualTeacher:
    """See `TeacherModel`.

    Args:
        name: one of `usual.USUAL`.
    """

    name: str

    def ready(self, train: Samples, seed: int) -> Probabilities:
        """See `TeacherModel`."""
        return usual_model(self.name, train, seed).probabilities
