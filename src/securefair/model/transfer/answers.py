"""From the numbers that a teacher releases to its logits on the student's patients.

The reconstruction is that of `model.reconstruction` with one difference: it must not see labels.
Labels of held-out patients would leak into the offset, and useless teachers would look trustworthy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.model.kernel import QUADRATIC_WEIGHT, SampleKernel
from securefair.model.reconstruction import Reconstructor
from securefair.model.transfer.polynomial import Degree, Polynomial

Array = NDArray[np.float64]


FEWEST_ASKED_ABOUT = 2


def query_size(patients: int) -> int:
    """B of a query about so many patients: at least 2, so that one number is fewer."""
    return max(FEWEST_ASKED_ABOUT, patients)


def asked_about(samples: Samples) -> Samples:
    """The patients as a query holds them; a single one stands twice."""
    return samples.take(np.arange(query_size(len(samples))) % len(samples))


def numbers_a_logit(q: int, patients: int, features: int, degree: Degree) -> int:
    """How many numbers of a logit a student of so many patients gets, of q that were wished for.

    Never as many as samples, and never more than determine a teacher's logit anyway.
    """
    return min(q, query_size(patients) - 1, parameters_a_logit(features, degree))


def rows_by_patient(rows: Array, patients: int) -> Array:
    """Rows (q, B) over a query's samples as rows over its patients, (q, n)."""
    result = np.zeros((len(rows), patients))
    for start in range(0, rows.shape[1], patients):
        part = rows[:, start : start + patients]
        result[:, : part.shape[1]] += part
    return result


def label_free_reconstructor(
    samples: Samples, rows: Array, degree: Degree, noise_std: float = 0.0
) -> Reconstructor:
    """The map from released numbers (q, L) to logits (n, L), the same whatever the labels are.

    Args:
        samples: the student's.
        rows: (q, n), the released weighted sums.
        degree: of the teachers.
        noise_std: as for `Reconstructor`.

    Raises:
        ModelError: rows do not fit the samples.
    """
    kernel = SampleKernel(
        samples, quadratic_weight=QUADRATIC_WEIGHT if degree == 2 else 0.0, label_weight=0.0
    )
    return Reconstructor(samples, rows, noise_std, kernel=kernel)


def parameters_a_logit(features: int, degree: Degree) -> int:
    """Numbers that determine one logit of a teacher as a function of `features` features."""
    zeros = np.zeros((1, features))
    square = np.zeros((1, features, features)) if degree == 2 else None
    return Polynomial(np.zeros(1), zeros, square).parameters_a_logit


def determines_model(q: int, features: int, degree: Degree, samples: int) -> bool:
    """Whether q weighted sums over so many samples can determine a teacher's whole fit.

    They do where there are as many sums as a logit has parameters, and samples enough to tell
    these apart.
    """
    return min(q, samples) >= parameters_a_logit(features, degree)


def determines_logits(q: int, samples: int) -> bool:
    """Whether q weighted sums determine every logit on the student's samples."""
    return q >= samples
