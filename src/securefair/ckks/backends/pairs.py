"""Pairs of values in one ciphertext, on residues: x + J y with J = X^(N/2).

J^2 = -1, so J is +i and -i alternately along the slots. Conjugation, X -> 1/X, keeps x and negates
J y. In SEAL's transformed order place i holds the value at psi^(2 bitreverse(i) + 1). There J is a
square root of -1 in the first half of a row and its negative in the second, and conjugation reads a
row backwards.

All of it is made of the kernels, so it gives the same bits wherever they run.
"""

from __future__ import annotations

from functools import lru_cache

import torch

from securefair.ckks.backends import kernels
from securefair.ckks.backends.basis import Basis, smallest_root
from securefair.ckks.backends.kernel_checks import check


def pair(encoded: torch.Tensor, basis: Basis) -> torch.Tensor:
    """Plaintexts (2 d, limbs, N) of all x, then of all y -> those of x + J y, (d, limbs, N)."""
    check("encoded", encoded, (None, len(basis), basis.ring_degree))
    first, second = encoded.chunk(2)
    return kernels.add(first, _times_j(second, basis), basis)


def join(first: torch.Tensor, second: torch.Tensor, basis: Basis) -> torch.Tensor:
    """Ciphertexts (d, 2, limbs, N) of w z and of v z -> those of (w - J v) z."""
    return kernels.subtract(first, _times_j(second, basis), basis)


def add_conjugates(x: torch.Tensor, key: torch.Tensor, special: int, basis: Basis) -> torch.Tensor:
    """x + conj(x) for ciphertexts (d, 2, limbs, N): SEAL's complex_conjugate, and a sum.

    Args:
        x: ciphertexts.
        key: SEAL's Galois key for 2N - 1, laid out as of `kernels.relinearize`.
        special, basis: as there.
    """
    check("x", x, (None, 2, len(basis), basis.ring_degree))
    mirrored = x.flip(-1)
    # The conjugate's mask belongs to the conjugate of s: it is switched as that of s^2 would be.
    masks = torch.stack([x[:, 0], x[:, 1], mirrored[:, 1]], dim=1)
    kernels.add_to_first_(masks, mirrored[:, 0].contiguous(), basis)
    return kernels.relinearize(masks, key, special, basis)


def _times_j(x: torch.Tensor, basis: Basis) -> torch.Tensor:
    """Polynomials (..., limbs, N) times J."""
    polynomials = x.reshape(1, -1, *x.shape[-2:])
    return kernels.multiply_plain(polynomials, _j(basis, x.device)[None], basis).view(x.shape)


@lru_cache(maxsize=16)
def _j(basis: Basis, device: torch.device) -> torch.Tensor:
    """J as residues int32 (limbs, N), transformed."""
    n, rows = basis.ring_degree, []
    for p in basis.primes:
        root = pow(smallest_root(n, p), n // 2, p)
        rows.append(torch.tensor([root, p - root], dtype=torch.int32).repeat_interleave(n // 2))
    return torch.stack(rows).to(device)
