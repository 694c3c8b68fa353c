"""Products of ciphertexts with turned ones, on residues (`ckks.turning`).

All of it is made of the kernels, so it gives the same bits wherever they run.
"""

from __future__ import annotations

from securefair.ckks.backends import kernels
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.residues import (
    Residues,
    contiguous,
    copied,
    gathered,
    repeated,
)
from securefair.ckks.turning import turned_places


def turned(x: Residues, basis: Basis) -> Residues:
    """x(X^t) of transformed polynomials (..., N)."""
    return gathered(x, turned_places(basis.ring_degree))


def quadratic(x: Residues, images: Residues, factors: Residues, basis: Basis) -> Residues:
    """sum_(k <= l) x_k(X) x_l(X^t) p_kl(X), four polynomials.

    Args:
        x: ciphertexts (d, 2, limbs, N).
        images: `turned` of them.
        factors: polynomials (d (d + 1) / 2, limbs, N), row by row of k <= l.
        basis: primes of the limbs.

    Returns:
        One ciphertext (1, 4, limbs, N).
    """
    parts, start = [], 0
    for k in range(len(x)):
        stop = start + len(x) - k
        row = total(kernels.multiply_plain(images[k:], factors[start:stop], basis), basis)
        plain = contiguous(row[0])  # its two polynomials, each times both of x_k
        parts.append(kernels.multiply_plain(repeated(x[k : k + 1], 2), plain, basis))
        start = stop
    products = parts[0]
    for part in parts[1:]:
        kernels.add_(products, part, basis)
    return products.reshape(1, 4, *x.shape[2:])


def total(x: Residues, basis: Basis) -> Residues:
    """The sum (1, polys, limbs, N) of ciphertexts (d, polys, limbs, N)."""
    result = copied(x[:1])
    for at in range(1, len(x)):
        kernels.add_(result, x[at : at + 1], basis)
    return result
