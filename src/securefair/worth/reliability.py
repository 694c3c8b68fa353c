"""Whether probabilities mean what they say: how often what was predicted with 70 % came true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.worth.probabilistic import check_predictions

BINS = 5
LEAST_IN_BIN = 10
"""Patients in a bin; of fewer, a share says nothing."""


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """Patients with like predictions.

    Attributes:
        predicted: mean predicted probability.
        observed: share of them for whom it came true.
        patients: how many.
    """

    predicted: float
    observed: float
    patients: int


def reliability(
    probabilities: NDArray[np.float64], labels: NDArray[np.int64], *, bins: int = BINS
) -> list[ReliabilityBin]:
    """Patients in order of a predicted probability, in up to `bins` parts of equal size.

    Of two classes the probability is that of the second one; of more, that of the class that is
    most probable. Equal probabilities stay in one part.

    Args:
        probabilities: (B, M).
        labels: (B,).
        bins: most parts; fewer where each would have less than `LEAST_IN_BIN` patients.

    Raises:
        DataError: as `probabilistic_scores`.
    """
    check_predictions(probabilities, labels)
    if probabilities.shape[1] == 2:
        said, true = probabilities[:, 1], labels == 1
    else:
        said, true = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    parts = max(1, min(bins, len(labels) // LEAST_IN_BIN))
    cuts = np.quantile(said, np.linspace(0, 1, parts + 1)[1:-1])
    place = np.searchsorted(cuts, said, side="right")
    return [
        ReliabilityBin(
            predicted=float(said[place == at].mean()),
            observed=float(true[place == at].mean()),
            patients=int((place == at).sum()),
        )
        for at in np.unique(place)
    ]
