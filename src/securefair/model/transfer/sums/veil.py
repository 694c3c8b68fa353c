"""What hides whole numbers in curvatures before they are added.

A curvature of a column of 0 and 1 is a count, weighted by known numbers where a number is
predicted: sum x^2 - (sum x)^2 / n. Sums are told to 20 bits and more, and few pairs of counts have
a given sum. So an exact sum told how many patients with a finding each of the others had, one
included, and how many patients (tests/security/test_counted_sums.py).

Every hospital therefore tells f_j H_jj + (1 - f_j) U_j of feature j, with f_j log-uniform in
[1/2, 1], and U_j, of a column of two values, uniform up to what `MOST_PATIENTS` with a rare finding
add. Neither exceeds the bound of a curvature, so no value is cut, and none stands out. Its slope
follows from the curvature that it tells, so a sum is still a step of Newton's method: a hospital
only counts in it as if it had fewer patients, or a few more with a finding. What that costs:
docs/notebook/sums.md.

Both are drawn from a digest of its own training samples. So they are the same in every sum of a
project, whoever asks, also after a restart. Another project draws anew, and many together narrow
counts down. That nobody has a finding is not hidden: the fit, which is told as it is, says so.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of

Array = NDArray[np.float64]

LEAST_FACTOR = 0.5
MOST_PATIENTS = 4.0
WIDEST = 4.0
"""Squared range of a feature, which lies in [-1, 1]: what a patient adds who alone has a finding,
per second derivative."""
DECIMALS = 6
"""Of features in the digest: what processors compute alike."""


def veiled(curvature: Array, samples: Samples) -> Array:
    """A curvature (d, d) as a hospital tells it; positive semidefinite where it was.

    Args:
        curvature: of features that everybody has.
        samples: own training samples, with these features.
    """
    width, bend = len(curvature), outcome_of(samples).curvature or 1.0
    bits = hashlib.shake_256(_digest(samples)).digest(2 * 8 * width)
    less, some = np.frombuffer(bits, "<u8").reshape(2, width) / 2.0**64
    factors = LEAST_FACTOR**less
    two = np.array([len(np.unique(column)) <= 2 for column in samples.features[:, :width].T])
    rows = MOST_PATIENTS * WIDEST * _most_rows(samples)
    more = two * bend * some * min(rows, float(len(samples)))
    roots = np.sqrt(factors)
    hidden: Array = curvature * np.outer(roots, roots) + np.diag((1 - factors) * more)
    return hidden


def _most_rows(samples: Samples) -> int:
    """Of one patient."""
    if samples.patients is None:
        return 1
    return int(np.unique(samples.patients, return_counts=True)[1].max())


def _digest(samples: Samples) -> bytes:
    """Of all samples, in whatever order."""
    columns = [np.round(np.asarray(samples.features, np.float64), DECIMALS) + 0.0]
    columns += [
        np.asarray(one, np.float64).reshape(len(samples), -1)
        for one in (samples.labels, samples.values, samples.weights)
        if one is not None
    ]
    rows = np.hstack(columns)
    rows = np.ascontiguousarray(rows[np.lexsort(rows.T)], "<f8")
    return hashlib.sha256(f"securefair veil {rows.shape}\0".encode() + rows.tobytes()).digest()
