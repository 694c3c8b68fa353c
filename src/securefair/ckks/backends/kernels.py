"""Public arithmetic on residue arrays: the one place that chooses who computes it.

numpy arrays go to the native module where it is built. Tensors, and arrays where no compiler was
there at installation, go to the kernels of devices (`residues_device`). All give the same bits, and
SEAL's. Weights and indices are numpy arrays for either.

Residues are int32 in [0, p), one NTT prime p < 2^31 for each limb, N values a row in SEAL's
transformed order unless said otherwise. A ciphertext array is (d, polys, limbs, N). Functions
ending in an underscore write into their argument; the others return a new array of its kind.

Raises everywhere: EncryptionError, when shapes, types or devices do not fit. That residues are
below their primes is the caller's promise; what unpacks a message checks it, once, on arrival.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.kernel_checks import (
    MAX_WEIGHT,
    SEED_BYTES,
    check,
    check_device,
    check_indices,
    check_key,
    check_pair,
    check_with_plain,
    check_written,
)
from securefair.ckks.backends.kernel_choice import (
    KernelInfo,
    available,
    describe,
    implementation,
    set_threads,
)
from securefair.ckks.backends.kernel_maps import linear, linear_patches, square_patches
from securefair.ckks.backends.kernel_messages import (
    check_below,
    decode,
    encode,
    expand_seeds,
    pack,
    receive,
)
from securefair.ckks.backends.kernel_products import inner, multiply, outer, square, sum_products
from securefair.ckks.backends.residues import Residues, device_of
from securefair.errors import EncryptionError

__all__ = [
    "Basis",
    "KernelInfo",
    "MAX_WEIGHT",
    "SEED_BYTES",
    "add",
    "add_",
    "add_to_first_",
    "available",
    "check_below",
    "coefficients",
    "decode",
    "describe",
    "encode",
    "expand_seeds",
    "implementation",
    "inner",
    "linear",
    "linear_patches",
    "multiply",
    "multiply_plain",
    "ntt_forward_",
    "ntt_inverse_",
    "outer",
    "pack",
    "receive",
    "relinearize",
    "rescale",
    "rescaled_square_sums",
    "set_threads",
    "square",
    "square_patches",
    "subtract",
    "sum_products",
]


def ntt_forward_(x: Residues, basis: Basis) -> None:
    """Coefficients (..., limbs, N) -> values, in place; SEAL's roots and order."""
    check("x", x, (..., len(basis), basis.ring_degree))
    check_written("x", x)
    implementation(device_of(x)).ntt_forward_(x, basis)


def ntt_inverse_(x: Residues, basis: Basis) -> None:
    """Values (..., limbs, N) -> coefficients, in place."""
    check("x", x, (..., len(basis), basis.ring_degree))
    check_written("x", x)
    implementation(device_of(x)).ntt_inverse_(x, basis)


def add(x: Residues, y: Residues, basis: Basis) -> Residues:
    """x + y for equal shapes (..., limbs, N)."""
    check_pair(x, y, basis)
    result: Residues = implementation(device_of(x)).add(x, y, basis)
    return result


def add_(x: Residues, y: Residues, basis: Basis) -> None:
    """x + y into x, for equal shapes (..., limbs, N)."""
    check_pair(x, y, basis)
    check_written("x", x)
    implementation(device_of(x)).add_(x, y, basis)


def subtract(x: Residues, y: Residues, basis: Basis) -> Residues:
    """x - y for equal shapes (..., limbs, N)."""
    check_pair(x, y, basis)
    result: Residues = implementation(device_of(x)).subtract(x, y, basis)
    return result


def add_to_first_(x: Residues, plain: Residues, basis: Basis) -> None:
    """Add plaintexts (d, limbs, N) to the first polynomials of x (d, polys, limbs, N), in place."""
    check_with_plain(x, plain, basis)
    check_written("x", x)
    implementation(device_of(x)).add_to_first_(x, plain, basis)


def multiply_plain(x: Residues, plain: Residues, basis: Basis) -> Residues:
    """Every polynomial of x (d, polys, limbs, N) times a plaintext (d, limbs, N)."""
    check_with_plain(x, plain, basis)
    result: Residues = implementation(device_of(x)).multiply_plain(x, plain, basis)
    return result


def rescale(x: Residues, limbs: int, basis: Basis) -> Residues:
    """Divide by the last primes, one after the other with rounding, until `limbs` are left.

    Bit for bit SEAL's rescale_to: (d, polys, len(basis), N) -> (d, polys, limbs, N).
    """
    check("x", x, (None, None, len(basis), basis.ring_degree))
    _check_limbs(limbs, len(basis) - 1)
    result: Residues = implementation(device_of(x)).rescale(x, limbs, basis)
    return result


def _check_limbs(limbs: int, most: int) -> None:
    if not 1 <= limbs <= most:
        raise EncryptionError(
            "cannot rescale to that many limbs",
            where="limbs",
            found=limbs,
            expected=f"1 to {most}",
        )


def rescaled_square_sums(
    x: Residues, groups: NDArray[np.int64], limbs: int, basis: Basis
) -> Residues:
    """sum_t y[groups[g, t]]^2 of y = `rescale` of x, which need not exist as a whole.

    Args:
        x: ciphertexts (d, 2, len(basis), N).
        groups: int64 (groups, terms), indices into x.
        limbs: limbs of y, fewer than x has.
        basis: primes of x.

    Returns:
        Ciphertexts (groups, 3, limbs, N).
    """
    check("x", x, (None, 2, len(basis), basis.ring_degree))
    _check_limbs(limbs, len(basis) - 1)
    if groups.ndim != 2 or groups.size == 0:
        raise EncryptionError(
            "indices must be (groups, terms), not empty", where="groups", found=groups.shape
        )
    check_indices("groups", groups, len(x))
    result: Residues = implementation(device_of(x)).rescaled_square_sums(
        x, np.ascontiguousarray(groups), limbs, basis
    )
    return result


def relinearize(
    x: Residues, key: Residues, special: int, basis: Basis, limbs: int | None = None
) -> Residues:
    """(d, 3, len(basis), N) -> (d, 2, limbs, N), bit for bit SEAL's rescale_to and relinearize.

    Args:
        x: products of ciphertexts.
        key: SEAL's key for s^2, int32 (digits, 2, key limbs, N): one digit for each data prime,
            the special prime last of the key limbs.
        special: the special prime.
        basis: the data primes left in x, a prefix of the key's at least as far as `limbs`.
        limbs: x is rescaled to so many first; None leaves it as it is.
    """
    check("x", x, (None, 3, len(basis), basis.ring_degree))
    check_device("key", key, x)
    left = len(basis) if limbs is None else limbs
    _check_limbs(left, len(basis))
    check_key(key, special, basis.prefix(left))
    result: Residues = implementation(device_of(x)).relinearize(x, key, special, basis, left)
    return result


def coefficients(x: Residues, which: Sequence[int], basis: Basis) -> Residues:
    """Selected coefficients of every polynomial: (..., limbs, N) -> (..., limbs, len(which)).

    With c0's coefficient i and the mask polynomials this is an LWE sample of the message's.
    """
    check("x", x, (..., len(basis), basis.ring_degree))
    if not which or min(which) < 0 or max(which) >= basis.ring_degree:
        raise EncryptionError(
            "no such coefficients",
            where="which",
            found=f"{min(which)} to {max(which)}" if which else "none",
            expected=f"0 to {basis.ring_degree - 1}",
        )
    result: Residues = implementation(device_of(x)).coefficients(x, which, basis)
    return result
