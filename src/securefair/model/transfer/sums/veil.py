"""What hides whole numbers in curvatures before they are added.

A curvature of a column of 0 and 1 is a count, weighted by known numbers where a number is
predicted: sum x^2 - (sum x)^2 / n. Sums are told to 20 bits and more, and few pairs of counts have
a given sum. So an exact sum told how many patients with a finding each of the others had, one
included, and how many patients (tests/security/test_counted_sums.py).

Every hospital therefore tells f_j H_jj + u_j of feature j, with f_j log-uniform in [1/2, 1], and
u_j, of a column of two values, uniform in [0, what two patients with a rare finding add at most].
Its slope follows from the curvature that it tells, so a sum is still a step of Newton's method: a
hospital only counts in it as if it had fewer patients, or a few more with a finding. What that
costs: docs/notebook/sums.md.

Both are drawn from a digest of its own training samples. So they are the same in every sum, whoever
asks and whenever, also after a restart: different draws could be averaged. Whoever could try all
tables that a hospital may have could also compare their exact sums.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of

Array = NDArray[np.float64]

LEAST_FACTOR = 0.5
MOST_PATIENTS = 2.0
WIDEST = 4.0
"""Squared range of a feature, which lies in [-1, 1]: what a patient adds who alone has a finding,
per second derivative."""
DECIMALS = 6
"""Of features in the digest: what processors compute alike."""


def veiled(curvature: Array, samples: Samples) -> Array:
    """A curvature (d, d) as a hospital tells it; positive semidefinite where it was.

    Args:
        curvature: of features that everybody has.
        samples: own training samples, with all features.
    """
    width = len(curvature)
    bits = hashlib.shake_256(_digest(samples)).digest(2 * 8 * width)
    less, some = np.frombuffer(bits, "<u8").reshape(2, width) / 2.0**64
    factors = LEAST_FACTOR**less
    bend = outcome_of(samples).curvature or 1.0
    two = [len(np.unique(column)) <= 2 for column in samples.features[:, :width].T]
    more = MOST_PATIENTS * WIDEST * bend * some * np.array(two)
    roots = np.sqrt(factors)
    hidden: Array = curvature * np.outer(roots, roots) + np.diag(more)
    # The agreed bound of a sum holds for a curvature: no feature has more than this.
    most, at = bend * len(samples), np.arange(width)
    hidden[at, at] = np.maximum(np.minimum(hidden[at, at], most), np.diagonal(curvature) * factors)
    return hidden


def _digest(samples: Samples) -> bytes:
    rows = [np.round(np.asarray(samples.features, np.float64), DECIMALS) + 0.0, samples.labels]
    rows += [one for one in (samples.values, samples.weights, samples.patients) if one is not None]
    found = hashlib.sha256(b"securefair veil\0")
    for one in rows:
        plain = np.ascontiguousarray(one)
        found.update(f"{plain.dtype.str} {plain.shape}\0".encode() + plain.tobytes())
    return found.digest()
