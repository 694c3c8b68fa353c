"""Whether predictions mean what they say: how often what was predicted with 70 % came true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of

BINS = 5
LEAST_IN_BIN = 10
"""Patients in a bin; of fewer, a share says nothing."""


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """Patients with like predictions.

    Attributes:
        predicted: mean of what was predicted, such as a probability.
        observed: mean of what was seen, such as the share for whom it came true.
        patients: how many.
    """

    predicted: float
    observed: float
    patients: int


def reliability(
    said: NDArray[np.float64], samples: Samples, *, bins: int = BINS
) -> list[ReliabilityBin]:
    """Patients in order of a prediction, in up to `bins` parts of equal size.

    Of two classes it is the probability of the second one; of more, that of the class that is most
    probable. Equal predictions stay in one part.

    Args:
        said: (B, K), as the outcome says it.
        samples: (B,), what is known of them.
        bins: most parts; fewer where each would have less than `LEAST_IN_BIN` patients.

    Raises:
        DataError: nothing can be scored.
    """
    outcome = outcome_of(samples)
    outcome.check_said(said, samples)
    predicted, seen = outcome.reliability(said, samples)
    parts = max(1, min(bins, len(predicted) // LEAST_IN_BIN))
    cuts = np.quantile(predicted, np.linspace(0, 1, parts + 1)[1:-1])
    place = np.searchsorted(cuts, predicted, side="right")
    return [
        ReliabilityBin(
            predicted=float(predicted[place == at].mean()),
            observed=float(seen[place == at].mean()),
            patients=int((place == at).sum()),
        )
        for at in np.unique(place)
    ]
