"""A basis's primes and the factors of its transforms, on a device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.ckks.backends.basis import Basis, bit_reversal, powers, smallest_root

LARGEST_WORD = (1 << 64) - 1


def first_rejected(p: int) -> int:
    """The smallest word that SEAL's sampler does not use for the prime p."""
    return LARGEST_WORD - LARGEST_WORD % p - 1


@dataclass(frozen=True)
class Tables:
    """What kernels read beside residues; tensors of int32 and int64 whose bits are unsigned.

    Attributes:
        primes: (limbs,).
        moduli: (limbs, 4), see `device_arithmetic`.
        forward, inverse: psi^(+-bitreverse(i)) at i, (limbs, N), and their quotients.
        shrink: N^-1 and its quotient, (limbs, 2).
        widths, starts: of each limb's residues in a message, in bits and 32-bit words.
    """

    primes: torch.Tensor
    moduli: torch.Tensor
    forward: tuple[torch.Tensor, torch.Tensor]
    inverse: tuple[torch.Tensor, torch.Tensor]
    shrink: torch.Tensor
    widths: torch.Tensor
    starts: torch.Tensor


@lru_cache(maxsize=32)
def tables(basis: Basis, device: torch.device) -> Tables:
    """Those of a basis: about 16 N bytes a limb."""
    n, primes = basis.ring_degree, basis.primes
    widths = np.array([p.bit_length() for p in primes], dtype=np.int32)
    moduli = [(p, 4 ** p.bit_length() // p, p.bit_length(), first_rejected(p)) for p in primes]
    return Tables(
        primes=_tensor(np.array(primes), device),
        moduli=torch.from_numpy(np.array(moduli, dtype=np.uint64).view(np.int64)).to(device),
        forward=_factors(basis, device, inverse=False),
        inverse=_factors(basis, device, inverse=True),
        shrink=with_quotients([pow(n, -1, p) for p in primes], basis, device),
        widths=_tensor(widths, device),
        starts=_tensor(np.cumsum([0, *widths[:-1]]) * n // 32, device),
    )


@lru_cache(maxsize=64)
def dividing(dropped: int, basis: Basis, device: torch.device) -> torch.Tensor:
    """The inverse of a prime modulo those of a basis, with quotients (limbs, 2)."""
    return with_quotients([pow(dropped, -1, p) for p in basis.primes], basis, device)


def with_quotients(factors: list[int], basis: Basis, device: torch.device) -> torch.Tensor:
    """One factor a limb, and floor(2^32 factor / p): (limbs, 2)."""
    pairs = [(f, (f << 32) // p) for f, p in zip(factors, basis.primes, strict=True)]
    return _tensor(np.array(pairs), device)


def _factors(
    basis: Basis, device: torch.device, *, inverse: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    n, rows, quotients = basis.ring_degree, [], []
    for p in basis.primes:
        root = smallest_root(n, p)
        row = powers(pow(root, -1, p) if inverse else root, n, p)[bit_reversal(n)]
        rows.append(row)
        quotients.append((row << 32) // p)
    return _tensor(np.stack(rows), device), _tensor(np.stack(quotients), device)


def _tensor(values: NDArray[np.integer], device: torch.device) -> torch.Tensor:
    """Words of 32 bits."""
    return torch.from_numpy(values.astype(np.uint32).view(np.int32)).to(device)
