"""A basis's primes and the factors of its transforms as tensors."""

from __future__ import annotations

from functools import cache

import torch

from securefair.ckks.backends.basis import Basis, bit_reversal, powers, smallest_root


def moduli(basis: Basis, device: torch.device) -> torch.Tensor:
    """The primes as int64 (limbs, 1), to broadcast against (..., limbs, N)."""
    return torch.tensor(basis.primes, dtype=torch.int64, device=device)[:, None]


@cache
def _row(ring_degree: int, p: int, device: torch.device, *, inverse: bool) -> torch.Tensor:
    root = smallest_root(ring_degree, p)
    found = powers(pow(root, -1, p) if inverse else root, ring_degree, p)
    return torch.from_numpy(found[bit_reversal(ring_degree)]).to(device)


def twiddles(basis: Basis, device: torch.device, *, inverse: bool) -> torch.Tensor:
    """Factors of the butterflies, int64 (limbs, N): psi^(+-bitreverse(i)) at i.

    Block i of a stage of m blocks uses the factor at m + i.
    """
    rows = [_row(basis.ring_degree, p, device, inverse=inverse) for p in basis.primes]
    return torch.stack(rows)
