"""NTT-friendly primes that fit 31 bits, so that residues are 32-bit words."""

from __future__ import annotations

from functools import cache

MAX_LIMB_BITS = 31


def is_prime(n: int) -> bool:
    """Deterministic Miller-Rabin, correct for every n below 3.3e24 (Sorenson, Webster 2015)."""
    if n < 2:
        return False
    small = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    for p in small:
        if n % p == 0:
            return n == p
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in small:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


@cache
def ntt_primes(ring_degree: int, bits: int, count: int) -> tuple[int, ...]:
    """The `count` largest primes of exactly `bits` bits that are 1 modulo 2 N, descending.

    Raises:
        ValueError: there are fewer such primes.
    """
    step = 2 * ring_degree
    found: list[int] = []
    candidate = ((1 << bits) - 1) // step * step + 1
    while len(found) < count and candidate > 1 << (bits - 1):
        if candidate < 1 << bits and is_prime(candidate):
            found.append(candidate)
        candidate -= step
    if len(found) < count:
        raise ValueError(f"only {len(found)} primes of {bits} bits are 1 mod {step}, not {count}")
    return tuple(found)


@cache
def smallest_prime_bits(ring_degree: int) -> int:
    """Size of the smallest such primes: of the reserved one where nothing is key-switched."""
    for bits in range(ring_degree.bit_length() + 1, MAX_LIMB_BITS):
        try:
            ntt_primes(ring_degree, bits, 1)
        except ValueError:
            continue
        return bits
    return MAX_LIMB_BITS
