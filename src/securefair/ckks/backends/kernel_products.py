"""Products of ciphertexts before relinearisation: kernels of `kernels`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.kernel_checks import check, check_device, check_indices, check_pair
from securefair.ckks.backends.kernel_choice import implementation
from securefair.ckks.backends.residues import Residues, device_of
from securefair.errors import EncryptionError


def square(x: Residues, basis: Basis) -> Residues:
    """(d, 2, limbs, N) -> (d, 3, limbs, N): c0^2, 2 c0 c1, c1^2."""
    check("x", x, (None, 2, len(basis), basis.ring_degree))
    result: Residues = implementation(device_of(x)).square(x, basis)
    return result


def sum_products(
    x: Residues,
    y: Residues,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    basis: Basis,
) -> Residues:
    """sum_t x[left[g, t]] y[right[g, t]] for every group g, without relinearisation.

    Args:
        x, y: ciphertexts (d, 2, limbs, N) and (e, 2, limbs, N).
        left, right: int64 (groups, terms), indices into x and y.
        basis: primes of the limbs.

    Returns:
        Ciphertexts (groups, 3, limbs, N).
    """
    for name, factor in (("x", x), ("y", y)):
        check(name, factor, (None, 2, len(basis), basis.ring_degree))
    check_device("y", y, x)
    if left.shape != right.shape or left.ndim != 2 or left.size == 0:
        raise EncryptionError(
            "indices must be (groups, terms), not empty and alike",
            where="left, right",
            found=f"{left.shape} and {right.shape}",
        )
    check_indices("left", left, len(x))
    check_indices("right", right, len(y))
    result: Residues = implementation(device_of(x)).sum_products(
        x, y, np.ascontiguousarray(left), np.ascontiguousarray(right), basis
    )
    return result


def multiply(x: Residues, y: Residues, basis: Basis) -> Residues:
    """x_c y_c for equal counts: (d, 2, limbs, N) each -> (d, 3, limbs, N)."""
    check_pair(x, y, basis)
    each = np.arange(len(x))[:, None]
    return sum_products(x, y, each, each, basis)


def inner(x: Residues, y: Residues, basis: Basis, groups: int = 1) -> Residues:
    """Sums of x_c y_c over `groups` equal runs of c -> (groups, 3, limbs, N)."""
    check_pair(x, y, basis)
    if groups < 1 or len(x) % groups:
        raise EncryptionError(
            "the factors do not divide into groups", where="groups", found=f"{len(x)} / {groups}"
        )
    each = np.arange(len(x)).reshape(groups, -1)
    return sum_products(x, y, each, each, basis)


def outer(x: Residues, y: Residues, basis: Basis) -> Residues:
    """All products x_i y_c, row-major in (i, c) -> (d e, 3, limbs, N)."""
    left = np.arange(len(x)).repeat(len(y))[:, None]
    right = np.tile(np.arange(len(y)), len(x))[:, None]
    return sum_products(x, y, left, right, basis)
