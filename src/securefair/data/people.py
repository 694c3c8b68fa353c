"""Patients drawn with replacement, all rows of one together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def drawn_times(
    who: NDArray[np.int64], draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """How often each row comes in each draw of a bootstrap over patients, (draws, n).

    Args:
        who: (n,), whose each row is.
        draws: of the bootstrap.
        rng: of the draws.
    """
    people, at = np.unique(who, return_inverse=True)
    drawn = rng.multinomial(len(people), np.full(len(people), 1 / len(people)), size=draws)
    return drawn[:, at].astype(np.float64)
