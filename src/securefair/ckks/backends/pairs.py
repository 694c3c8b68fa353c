"""Pairs of values in one ciphertext, on residues: x + J y with J = X^(N/2).

J^2 = -1, so J is +i and -i alternately along the slots. Conjugation, X -> 1/X, keeps x and negates
J y. In SEAL's transformed order place i holds the value at psi^(2 bitreverse(i) + 1). There J is a
square root of -1 in the first half of a row and its negative in the second, and conjugation reads a
row backwards.

All of it is made of the kernels, so it gives the same bits wherever they run.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from securefair.ckks.backends import kernels
from securefair.ckks.backends.basis import Basis, smallest_root
from securefair.ckks.backends.kernel_checks import check
from securefair.ckks.backends.residues import (
    Device,
    Residues,
    backwards,
    contiguous,
    device_of,
    placed,
    stack,
)


def join(first: Residues, second: Residues, basis: Basis) -> Residues:
    """Ciphertexts (d, 2, limbs, N) of w z and of v z -> those of (w - J v) z."""
    return kernels.subtract(first, _times_j(second, basis), basis)


def add_conjugates(x: Residues, key: Residues, special: int, basis: Basis) -> Residues:
    """x + conj(x) for ciphertexts (d, 2, limbs, N): SEAL's complex_conjugate, and a sum.

    Args:
        x: ciphertexts.
        key: SEAL's Galois key for 2N - 1, laid out as of `kernels.relinearize`.
        special, basis: as there.
    """
    check("x", x, (None, 2, len(basis), basis.ring_degree))
    mirrored = backwards(x)
    # The conjugate's mask belongs to the conjugate of s: it is switched as that of s^2 would be.
    masks = stack([x[:, 0], x[:, 1], mirrored[:, 1]], 1)
    kernels.add_to_first_(masks, contiguous(mirrored[:, 0]), basis)
    return kernels.relinearize(masks, key, special, basis)


def _times_j(x: Residues, basis: Basis) -> Residues:
    """Polynomials (..., limbs, N) times J."""
    polynomials = x.reshape(1, -1, *x.shape[-2:])
    factor = _j(basis, device_of(x))[None]
    result: Residues = kernels.multiply_plain(polynomials, factor, basis).reshape(x.shape)
    return result


@lru_cache(maxsize=16)
def _j(basis: Basis, device: Device) -> Residues:
    """J as residues int32 (limbs, N), transformed."""
    n, rows = basis.ring_degree, []
    for p in basis.primes:
        root = pow(smallest_root(n, p), n // 2, p)
        rows.append(np.repeat([root, p - root], n // 2))
    return placed(np.stack(rows), device)
