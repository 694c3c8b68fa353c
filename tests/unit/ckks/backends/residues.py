"""Residues to run kernels on, and what they are compared with: Python integers and numpy."""

from __future__ import annotations

from functools import cache

import numpy as np

from securefair.ckks.backends.basis import Basis
from securefair.ckks.primes import ntt_primes

N = 1024
BASIS = Basis(N, (*ntt_primes(N, 31, 3), *ntt_primes(N, 30, 1), *ntt_primes(N, 17, 1)))
SPECIAL = ntt_primes(N, 31, 4)[-1]
ISAS = ["scalar", "avx2", "avx512", "amx"]


def random_residues(seed: int, *lead: int, basis: Basis = BASIS) -> np.ndarray:
    """Uniform residues (*lead, limbs, N) that start with the corners 0, 1, p - 1, p // 2."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, p, (*lead, basis.ring_degree)) for p in basis.primes]
    x = np.stack(rows, axis=-2)
    for limb, p in enumerate(basis.primes):
        x[..., limb, :4] = [0, 1, p - 1, p // 2]
    return x.astype(np.int32)


def corners(*lead: int, value: int, basis: Basis = BASIS) -> np.ndarray:
    """Every residue 0, 1 or (-1) p - 1."""
    column = np.array(basis.primes, dtype=np.int32)[:, None] * (value < 0) + np.int32(value)
    return np.broadcast_to(column, (*lead, len(basis), basis.ring_degree)).copy()


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(object)


def moduli(basis: Basis = BASIS) -> np.ndarray:
    return np.array(basis.primes, dtype=object)[:, None]


def all_below(x: np.ndarray, basis: Basis) -> bool:
    """Whether every residue (..., limbs, N) is in [0, p)."""
    return bool((x.view(np.uint32) < np.array(basis.primes, dtype=np.uint32)[:, None]).all())


def equals(x: np.ndarray, reference: np.ndarray) -> bool:
    return x.dtype == np.int32 and (x == reference.astype(np.int64)).all()


@cache
def transform(row: tuple[int, ...], p: int) -> list[int]:
    """The definition: value at psi^(2 bitreverse(i) + 1), psi the smallest 2N-th root."""
    n = len(row)
    generator = next(g for g in range(2, p) if pow(g, (p - 1) // 2, p) == p - 1)
    any_root = pow(generator, (p - 1) // (2 * n), p)
    psi = min(pow(any_root, k, p) for k in range(1, 2 * n, 2))
    bits = n.bit_length() - 1
    at = np.array([pow(psi, 2 * int(f"{i:0{bits}b}"[::-1], 2) + 1, p) for i in range(n)])
    values = np.zeros(n, dtype=np.int64)  # products of two residues have 62 bits
    for coefficient in reversed(row):
        values = (values * at + coefficient) % p
    return values.tolist()
