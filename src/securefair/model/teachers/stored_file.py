"""A model that securefair kept (`models/HOSPITAL/model.safetensors`), to teach others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Probabilities, Samples
from securefair.errors import DataError
from securefair.model.probabilities import probabilities_of
from securefair.model.stored import from_bytes, logits_of


@dataclass(frozen=True)
class StoredTeacher:
    """See `TeacherModel`. It takes features by the rules of the table that it was trained on.

    Args:
        path: of the file.
    """

    path: Path

    @property
    def name(self) -> str:
        """See `TeacherModel`."""
        return self.path.name

    def ready(self, train: Samples, seed: int) -> Probabilities:
        """See `TeacherModel`."""
        del train, seed
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise DataError("cannot be read", where=str(self.path), found=str(error)) from error
        function = from_bytes(data, where=str(self.path))

        def said(features: NDArray[np.float64]) -> NDArray[np.float64]:
            return probabilities_of(logits_of(function, features))

        return said
