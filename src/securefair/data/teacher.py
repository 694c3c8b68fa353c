"""A model that a hospital brings beside its samples, to answer peers in the place of its fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples

Probabilities = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Features (B, d) in [-1, 1], as peers encrypt them -> probabilities (B, M), rows that sum to 1."""


class TeacherModel(Protocol):
    """Whatever says how probable each class is. It stays at its hospital, and is never sent."""

    @property
    def name(self) -> str:
        """For people, such as "forest" or the name of a file."""
        ...

    def ready(self, train: Samples, seed: int) -> Probabilities:
        """The model as it answers.

        Args:
            train: the hospital's own training samples; a model that is fitted already needs none.
            seed: of what a fit draws.

        Raises:
            SecureFairError: it cannot be read, or fits no such samples.
        """
        ...
