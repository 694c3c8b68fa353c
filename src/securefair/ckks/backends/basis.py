"""The primes that the limbs of a residue array belong to, and their roots of unity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.primes import MAX_LIMB_BITS, is_prime
from securefair.errors import EncryptionError

MIN_RING_DEGREE, MAX_RING_DEGREE = 1 << 10, 1 << 17


@dataclass(frozen=True)
class Basis:
    """A ring degree N and one NTT prime for each limb, in the order of the limbs.

    Raises:
        EncryptionError: N is not a power of two from 1024 to 131072, or a modulus is not a prime
            below 2^31 that is 1 modulo 2N, or appears twice.
    """

    ring_degree: int
    primes: tuple[int, ...]

    def __post_init__(self) -> None:
        n = self.ring_degree
        if not MIN_RING_DEGREE <= n <= MAX_RING_DEGREE or n & (n - 1):
            raise EncryptionError(
                "unsupported ring degree",
                where="ring_degree",
                found=n,
                expected=f"a power of two from {MIN_RING_DEGREE} to {MAX_RING_DEGREE}",
            )
        for p in self.primes:
            if not _is_ntt_prime(n, p):
                raise EncryptionError(
                    "residues need NTT primes",
                    where="primes",
                    found=p,
                    expected=f"a prime below 2^{MAX_LIMB_BITS} that is 1 modulo {2 * n}",
                )
        if not self.primes or len(set(self.primes)) != len(self.primes):
            raise EncryptionError(
                "a basis needs distinct primes", where="primes", found=self.primes
            )

    def __len__(self) -> int:
        return len(self.primes)

    @cached_property
    def prime_list(self) -> list[int]:
        """The primes as the native kernels take them."""
        return list(self.primes)

    def prefix(self, limbs: int) -> Basis:
        """The first `limbs` primes: what is left after dropping the others."""
        return Basis(self.ring_degree, self.primes[:limbs])


@cache
def _is_ntt_prime(ring_degree: int, p: int) -> bool:
    return p < 1 << MAX_LIMB_BITS and p % (2 * ring_degree) == 1 and is_prime(p)


def powers(base: int, count: int, p: int) -> NDArray[np.int64]:
    """base^0 .. base^(count - 1) modulo p, for a power of two `count`."""
    found = np.ones(1, dtype=np.int64)
    while len(found) < count:
        found = np.concatenate([found, found * pow(base, len(found), p) % p])
    return found


@cache
def smallest_root(ring_degree: int, p: int) -> int:
    """The smallest primitive 2N-th root of unity modulo p, SEAL's choice."""
    exponent = (p - 1) // (2 * ring_degree)
    candidate = 2
    while pow(candidate, exponent * ring_degree, p) != p - 1:
        candidate += 1
    root = pow(candidate, exponent, p)
    return int((powers(root * root % p, ring_degree, p) * root % p).min())


@cache
def bit_reversal(size: int) -> NDArray[np.int64]:
    """Positions 0 .. size - 1 with their bits reversed."""
    order = np.zeros(1, dtype=np.int64)
    while len(order) < size:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order
