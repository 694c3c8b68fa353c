"""Integer weights times ciphertexts: the dense and the sparse kernels of `kernels`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.kernel_checks import (
    Patch,
    check,
    check_dense,
    check_device,
    check_indices,
    check_patches,
)
from securefair.ckks.backends.kernel_choice import implementation
from securefair.ckks.backends.residues import Residues, device_of
from securefair.errors import EncryptionError


def linear(
    weights: NDArray[np.int64], x: Residues, basis: Basis, bias: Residues | None = None
) -> Residues:
    """sum_i weights[o, i] x[i] + bias[o], exactly: (inputs, polys, limbs, N) -> (outputs, ...).

    Args:
        weights: integers (outputs, inputs), at most MAX_WEIGHT in magnitude.
        x: ciphertexts (inputs, polys, limbs, N).
        basis: primes of the limbs.
        bias: residues int32 (outputs, limbs), added to every value of the first polynomial,
            which adds the constant to every slot.
    """
    check("x", x, (None, None, len(basis), basis.ring_degree))
    check_dense(weights, len(x))
    if bias is not None:
        check("bias", bias, (len(weights), len(basis)))
        check_device("bias", bias, x)
    result: Residues = implementation(device_of(x)).linear(weights, x, bias, basis)
    return result


def linear_patches(
    blocks: Sequence[Residues],
    rows: NDArray[np.int64],
    patches: Sequence[Patch],
    basis: Basis,
    bias: Residues,
) -> Residues:
    """A sparse `linear` whose inputs lie in several arrays: convolutions and the like.

    Input i is ciphertext rows[i, 1] of blocks[rows[i, 0]]. A patch is one small matrix at several
    places: out[writes[p, o]] = sum_k weights[o, k] in[reads[p, k]] + bias[writes[p, o]].

    Args:
        blocks: ciphertexts (any, polys, limbs, N) each.
        rows: int64 (inputs, 2).
        patches: weights (o, k), reads (places, k) and writes (places, o), integers,
            weights at most MAX_WEIGHT in magnitude; every output is written once.
        basis: primes of the limbs.
        bias: residues int32 (outputs, limbs), as of `linear`.

    Returns:
        Ciphertexts (outputs, polys, limbs, N).
    """
    check_patches(blocks, None, rows, patches, basis, bias)
    result: Residues = implementation(device_of(blocks[0])).linear_patches(
        blocks, rows, patches, bias, basis
    )
    return result


def square_patches(
    blocks: Sequence[Residues],
    rows: NDArray[np.int64],
    patches: Sequence[Patch],
    basis: Basis,
    bias: Residues,
    groups: NDArray[np.int64],
) -> Residues:
    """Sums of squares of what `linear_patches` would return, which need not exist as a whole.

    Args:
        blocks, rows, patches, basis, bias: as there, with two polynomials.
        groups: int64 (groups, terms); out[g] = sum_t y[groups[g, t]]^2.

    Returns:
        Ciphertexts (groups, 3, limbs, N).
    """
    check_patches(blocks, 2, rows, patches, basis, bias)
    if groups.ndim != 2 or groups.size == 0:
        raise EncryptionError(
            "indices must be (groups, terms), not empty", where="groups", found=groups.shape
        )
    check_indices("groups", groups, len(bias))
    result: Residues = implementation(device_of(blocks[0])).square_patches(
        blocks, rows, patches, bias, groups, basis
    )
    return result
