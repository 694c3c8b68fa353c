"""Four calls that ended the process before: no peer reaches them, and a mistake of ours might.

A division by zero, reads and writes beyond an array. Found by calls with random shapes; now each
is refused where Python's arrays come in.
"""

import numpy as np
import pytest

from securefair.ckks.backends import _native

N, PRIME = 256, 1073738753


def zeros(*shape):
    return np.zeros(shape, np.int32)


def indices(*shape):
    return np.zeros(shape, np.int64)


NO_PRIMES = [
    ("square", zeros(1, 3, 0, N), zeros(1, 2, 0, N)),
    ("linear", zeros(1, 2, 0, N), zeros(1, 1), zeros(1, 2, 0, N), None),
    (
        "sum_products",
        zeros(1, 3, 0, N),
        zeros(1, 2, 0, N),
        zeros(1, 2, 0, N),
        indices(1),
        indices(1),
    ),
]


@pytest.mark.parametrize("call", NO_PRIMES, ids=lambda call: call[0])
def test_no_primes(call):
    name, *arguments = call
    with pytest.raises(ValueError, match="no primes"):
        getattr(_native, name)(*arguments, [])


def test_groups_of_nothing():
    with pytest.raises(ValueError, match="do not fill"):
        _native.sum_products(
            zeros(2, 3, 1, N), zeros(1, 2, 1, N), zeros(1, 2, 1, N), indices(0), indices(0), [PRIME]
        )


def test_patches_without_pairs():
    with pytest.raises(ValueError, match="no pairs"):
        _native.linear_patches(
            zeros(1, 1, 1, N), [], indices(0, 2), indices(0, 2), [], [], [], zeros(1, 1), [PRIME]
        )


def test_nothing_to_add_to():
    """It wrote beyond the array."""
    with pytest.raises(ValueError, match="no first polynomial"):
        _native.add_to_first(zeros(2, 0, 1, N), zeros(2, 1, N), [PRIME])
