"""What a student learns from one answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Opened:
    """What a student learns from one answer.

    Attributes:
        released: exactly the numbers that the teacher let out: (B, M) logits, (q, M) projected
            logits, (M,) class sums or () loss, the latter two as sums over samples of p.z / T.
        logits: the teacher's logits (B, M) as far as they can be known; None for `loss` and
            `class_sums`, which do not tell them.
        unexplained: expected share of the logits' variance that stays unknown; 0 for `logits`.
        plausibility: how much likelier a smooth function of the features explains the numbers than
            unrelated logits do, in nats; `model.plausibility.IMPLAUSIBLE` and less is no model's
            answer. None where it was not tested: no logits, thousands of them, or a student that
            was loaded. A constant is smooth, and so is whatever it was made of: a teacher can put
            one patient's feature there. Before you train on logits and answer others, take off
            each class's mean over the samples, as `sf.collaborate` does.
    """

    released: Array
    logits: Array | None
    unexplained: float | None
    plausibility: float | None = None

    def __repr__(self) -> str:
        """How much there is, not what it says: opened values must not get into logs."""
        return f"Opened({self.released.size} numbers)"
