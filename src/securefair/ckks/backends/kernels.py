"""Public arithmetic on residue arrays: the one place that chooses who computes it.

Tensors on the CPU go to the native module where it is built, everything else (CUDA, or no
compiler at installation) to torch operations. Both give the same bits, and SEAL's.

Residues are int32 in [0, p), one NTT prime p < 2^31 for each limb, N values a row in SEAL's
transformed order unless said otherwise. A ciphertext tensor is (d, polys, limbs, N). Functions
ending in an underscore write into their argument; the others return a new tensor.

Raises everywhere: EncryptionError, when shapes, types or devices do not fit. That residues are
below their primes is the caller's promise (`all_below` checks it once, on arrival).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.ckks.backends import packing
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.kernel_checks import (
    MAX_WEIGHT,
    SEED_BYTES,
    check,
    check_dense,
    check_device,
    check_indices,
    check_key,
    check_message,
    check_pair,
    check_patches,
    check_with_plain,
    not_below,
)
from securefair.ckks.backends.kernel_choice import (
    KernelInfo,
    available,
    describe,
    implementation,
    set_threads,
)
from securefair.errors import EncryptionError

__all__ = [
    "Basis",
    "KernelInfo",
    "MAX_WEIGHT",
    "SEED_BYTES",
    "add",
    "add_",
    "add_to_first_",
    "all_below",
    "available",
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
    "set_threads",
    "square",
    "square_patches",
    "subtract",
    "sum_products",
]


def ntt_forward_(x: torch.Tensor, basis: Basis) -> None:
    """Coefficients (..., limbs, N) -> values, in place; SEAL's roots and order."""
    check("x", x, (..., len(basis), basis.ring_degree))
    implementation(x.device).ntt_forward_(x, basis)


def ntt_inverse_(x: torch.Tensor, basis: Basis) -> None:
    """Values (..., limbs, N) -> coefficients, in place."""
    check("x", x, (..., len(basis), basis.ring_degree))
    implementation(x.device).ntt_inverse_(x, basis)


def all_below(x: torch.Tensor, basis: Basis) -> bool:
    """Whether every residue (..., limbs, N) is in [0, p)."""
    check("x", x, (..., len(basis), basis.ring_degree))
    return bool(implementation(x.device).all_below(x, basis))


def add(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """x + y for equal shapes (..., limbs, N)."""
    check_pair(x, y, basis)
    result: torch.Tensor = implementation(x.device).add(x, y, basis)
    return result


def add_(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> None:
    """x + y into x, for equal shapes (..., limbs, N)."""
    check_pair(x, y, basis)
    implementation(x.device).add_(x, y, basis)


def subtract(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """x - y for equal shapes (..., limbs, N)."""
    check_pair(x, y, basis)
    result: torch.Tensor = implementation(x.device).subtract(x, y, basis)
    return result


def add_to_first_(x: torch.Tensor, plain: torch.Tensor, basis: Basis) -> None:
    """Add plaintexts (d, limbs, N) to the first polynomials of x (d, polys, limbs, N), in place."""
    check_with_plain(x, plain, basis)
    implementation(x.device).add_to_first_(x, plain, basis)


def multiply_plain(x: torch.Tensor, plain: torch.Tensor, basis: Basis) -> torch.Tensor:
    """Every polynomial of x (d, polys, limbs, N) times a plaintext (d, limbs, N)."""
    check_with_plain(x, plain, basis)
    result: torch.Tensor = implementation(x.device).multiply_plain(x, plain, basis)
    return result


def linear(
    weights: torch.Tensor, x: torch.Tensor, basis: Basis, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """sum_i weights[o, i] x[i] + bias[o], exactly: (inputs, polys, limbs, N) -> (outputs, ...).

    Args:
        weights: integers (outputs, inputs) on the CPU, at most MAX_WEIGHT in magnitude.
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
    result: torch.Tensor = implementation(x.device).linear(weights, x, bias, basis)
    return result


def linear_patches(
    blocks: Sequence[torch.Tensor],
    rows: torch.Tensor,
    patches: Sequence[tuple[torch.Tensor, torch.Tensor, torch.Tensor]],
    basis: Basis,
    bias: torch.Tensor,
) -> torch.Tensor:
    """A sparse `linear` whose inputs lie in several tensors: convolutions and the like.

    Input i is ciphertext rows[i, 1] of blocks[rows[i, 0]]. A patch is one small matrix at several
    places: out[writes[p, o]] = sum_k weights[o, k] in[reads[p, k]] + bias[writes[p, o]].

    Args:
        blocks: ciphertexts (any, polys, limbs, N) each.
        rows: int64 (inputs, 2) on the CPU.
        patches: weights (o, k), reads (places, k) and writes (places, o), integers on the CPU,
            weights at most MAX_WEIGHT in magnitude; every output is written once.
        basis: primes of the limbs.
        bias: residues int32 (outputs, limbs), as of `linear`.

    Returns:
        Ciphertexts (outputs, polys, limbs, N).
    """
    check_patches(blocks, None, rows, patches, basis, bias)
    result: torch.Tensor = implementation(blocks[0].device).linear_patches(
        blocks, rows, patches, bias, basis
    )
    return result


def square_patches(
    blocks: Sequence[torch.Tensor],
    rows: torch.Tensor,
    patches: Sequence[tuple[torch.Tensor, torch.Tensor, torch.Tensor]],
    basis: Basis,
    bias: torch.Tensor,
    groups: torch.Tensor,
) -> torch.Tensor:
    """Sums of squares of what `linear_patches` would return, which need not exist as a whole.

    Args:
        blocks, rows, patches, basis, bias: as there, with two polynomials.
        groups: int64 (groups, terms) on the CPU; out[g] = sum_t y[groups[g, t]]^2.

    Returns:
        Ciphertexts (groups, 3, limbs, N).
    """
    check_patches(blocks, 2, rows, patches, basis, bias)
    if groups.dim() != 2 or groups.numel() == 0:
        raise EncryptionError(
            "indices must be (groups, terms), not empty", where="groups", found=tuple(groups.shape)
        )
    check_indices("groups", groups, len(bias))
    result: torch.Tensor = implementation(blocks[0].device).square_patches(
        blocks, rows, patches, bias, groups, basis
    )
    return result


def square(x: torch.Tensor, basis: Basis) -> torch.Tensor:
    """(d, 2, limbs, N) -> (d, 3, limbs, N): c0^2, 2 c0 c1, c1^2."""
    check("x", x, (None, 2, len(basis), basis.ring_degree))
    result: torch.Tensor = implementation(x.device).square(x, basis)
    return result


def sum_products(
    x: torch.Tensor,
    y: torch.Tensor,
    left: torch.Tensor,
    right: torch.Tensor,
    basis: Basis,
) -> torch.Tensor:
    """sum_t x[left[g, t]] y[right[g, t]] for every group g, without relinearisation.

    Args:
        x, y: ciphertexts (d, 2, limbs, N) and (e, 2, limbs, N).
        left, right: int64 (groups, terms) on the CPU, indices into x and y.
        basis: primes of the limbs.

    Returns:
        Ciphertexts (groups, 3, limbs, N).
    """
    for name, factor in (("x", x), ("y", y)):
        check(name, factor, (None, 2, len(basis), basis.ring_degree))
    check_device("y", y, x)
    if left.shape != right.shape or left.dim() != 2 or left.numel() == 0:
        raise EncryptionError(
            "indices must be (groups, terms), not empty and alike",
            where="left, right",
            found=f"{tuple(left.shape)} and {tuple(right.shape)}",
        )
    check_indices("left", left, len(x))
    check_indices("right", right, len(y))
    result: torch.Tensor = implementation(x.device).sum_products(
        x, y, left.contiguous(), right.contiguous(), basis
    )
    return result


def multiply(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """x_c y_c for equal counts: (d, 2, limbs, N) each -> (d, 3, limbs, N)."""
    check_pair(x, y, basis)
    each = torch.arange(len(x))[:, None]
    return sum_products(x, y, each, each, basis)


def inner(x: torch.Tensor, y: torch.Tensor, basis: Basis, groups: int = 1) -> torch.Tensor:
    """Sums of x_c y_c over `groups` equal runs of c -> (groups, 3, limbs, N)."""
    check_pair(x, y, basis)
    if groups < 1 or len(x) % groups:
        raise EncryptionError(
            "the factors do not divide into groups", where="groups", found=f"{len(x)} / {groups}"
        )
    each = torch.arange(len(x)).view(groups, -1)
    return sum_products(x, y, each, each, basis)


def outer(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """All products x_i y_c, row-major in (i, c) -> (d e, 3, limbs, N)."""
    left = torch.arange(len(x)).repeat_interleave(len(y))[:, None]
    right = torch.arange(len(y)).repeat(len(x))[:, None]
    return sum_products(x, y, left, right, basis)


def rescale(x: torch.Tensor, limbs: int, basis: Basis) -> torch.Tensor:
    """Divide by the last primes, one after the other with rounding, until `limbs` are left.

    Bit for bit SEAL's rescale_to: (d, polys, len(basis), N) -> (d, polys, limbs, N).
    """
    check("x", x, (None, None, len(basis), basis.ring_degree))
    if not 1 <= limbs < len(basis):
        raise EncryptionError(
            "cannot rescale to that many limbs",
            where="limbs",
            found=limbs,
            expected=f"1 to {len(basis) - 1}",
        )
    result: torch.Tensor = implementation(x.device).rescale(x, limbs, basis)
    return result


def relinearize(x: torch.Tensor, key: torch.Tensor, special: int, basis: Basis) -> torch.Tensor:
    """(d, 3, limbs, N) -> (d, 2, limbs, N), bit for bit SEAL's relinearize at any level.

    Args:
        x: products of ciphertexts.
        key: SEAL's key for s^2, int32 (digits, 2, key limbs, N): one digit for each data prime,
            the special prime last of the key limbs.
        special: the special prime.
        basis: the data primes left in x, a prefix of the key's.
    """
    check("x", x, (None, 3, len(basis), basis.ring_degree))
    check_device("key", key, x)
    check_key(key, special, basis)
    result: torch.Tensor = implementation(x.device).relinearize(x, key, special, basis)
    return result


def coefficients(x: torch.Tensor, which: Sequence[int], basis: Basis) -> torch.Tensor:
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
    result: torch.Tensor = implementation(x.device).coefficients(x, which, basis)
    return result


def expand_seeds(seeds: torch.Tensor, basis: Basis) -> torch.Tensor:
    """Seeds uint8 (d, 64) -> the second polynomials (d, limbs, N) that SEAL makes of them."""
    check("seeds", seeds, (None, SEED_BYTES), torch.uint8)
    result: torch.Tensor = implementation(seeds.device).expand_seeds(seeds, basis)
    return result


def pack(residues: NDArray[np.uint32], primes: Sequence[int]) -> NDArray[np.uint8]:
    """See `packing.pack`."""
    if not available():
        return packing.pack(residues, primes)
    from securefair.ckks.backends import residues_native

    return residues_native.pack(residues, primes)


def receive(
    first: NDArray[np.uint8],
    seeds: NDArray[np.uint8],
    basis: Basis,
    device: torch.device,
) -> torch.Tensor:
    """Ciphertexts as they arrive, in one pass -> (d, 2, limbs, N), checked and expanded.

    Args:
        first: packed first polynomials (d, bytes), a view of the message: read once, never written.
        seeds: (d, 64), a view of the message; each expands to a second polynomial.
        basis: primes of the limbs.
        device: where the ciphertexts are wanted.

    Raises:
        EncryptionError: a residue is not below its prime, or the shapes do not fit.
    """
    check_message(first, seeds, basis)
    received: torch.Tensor | None = implementation(device).receive(first, seeds, basis, device)
    if received is None:
        raise not_below()
    return received


def encode(slots: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """Real slots float64 (d, n <= N/2), the rest zero -> plaintexts (d, limbs, N).

    Slot j is the value at zeta^(3^j), as in SEAL; coefficients are rounded to nearest.

    Raises:
        EncryptionError: a slot is not finite, or a scaled coefficient is not below 2^120.
    """
    check("slots", slots, (None, None), torch.float64)
    if slots.shape[1] > basis.ring_degree // 2:
        raise EncryptionError(
            "too many slots",
            where="slots",
            found=slots.shape[1],
            expected=f"at most {basis.ring_degree // 2}",
        )
    try:
        result: torch.Tensor = implementation(slots.device).encode(slots, scale, basis)
    except ValueError as error:
        raise EncryptionError(
            "slots cannot be encoded", where="slots", found=str(error), hint="Lower the scale"
        ) from error
    return result


def decode(x: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """Plaintexts (d, limbs, N) -> real parts of their slots, float64 (d, N/2).

    Exact to float rounding for any message with coefficients below half the product of primes.
    """
    check("x", x, (None, len(basis), basis.ring_degree))
    result: torch.Tensor = implementation(x.device).decode(x, scale, basis)
    return result
