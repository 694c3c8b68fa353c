"""What a hospital of a transfer saw, and may make its fit again from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MEAN = ""
"""Stands for a name where the mean of all was opened."""


@dataclass(eq=False)
class TransferNotes:
    """What a participant saw; stays at home but for the simulation's records.

    Attributes:
        released: numbers as they were opened, (q, L): by teacher, or of the mean under "".
        senders: whose answers are in them.
        answered_seconds, asked_seconds: spent on a student's question, and on the own one.
    """

    released: dict[str, Array] = field(default_factory=dict)
    senders: tuple[str, ...] = ()
    answered_seconds: dict[str, float] = field(default_factory=dict)
    asked_seconds: float = 0.0
