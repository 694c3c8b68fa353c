"""Residues modulo one prime, for the kernels of every device: functions that kernels call.

Values are below their primes, which are below 2^31, so sums of two fit 32 bits and products 62.
No division: a fixed factor comes with its quotient (Shoup), any other product with the prime's
reciprocal (Barrett; Handbook of Applied Cryptography, algorithm 14.42).
"""

from __future__ import annotations

import warp as wp

wp.config.log_level = wp.LOG_WARNING  # what it compiles and finds is nobody's output
wp.config.enable_backward = False  # nothing is differentiated
wp.init()

Eight = wp.types.vector(length=8, dtype=wp.uint32)
"""What one thread transforms."""

PRIME, RECIPROCAL, BITS, LIMIT = 0, 1, 2, 3
"""Columns of `moduli`: p, floor(4^b / p), b = bits of p, and SEAL's first rejected word."""


@wp.func
def plus(a: wp.uint32, b: wp.uint32, p: wp.uint32) -> wp.uint32:
    """The sum modulo p."""
    total = a + b
    if total >= p:
        total -= p
    return total


@wp.func
def minus(a: wp.uint32, b: wp.uint32, p: wp.uint32) -> wp.uint32:
    """The difference modulo p."""
    total = a + p - b
    if total >= p:
        total -= p
    return total


@wp.func
def scaled(a: wp.uint32, factor: wp.uint32, quotient: wp.uint32, p: wp.uint32) -> wp.uint32:
    """a times a factor with quotient = floor(2^32 factor / p); a is any word."""
    high = wp.uint32((wp.uint64(a) * wp.uint64(quotient)) >> wp.uint64(32))
    rest = a * factor - high * p
    if rest >= p:
        rest -= p
    return rest


@wp.func
def product(a: wp.uint32, b: wp.uint32, moduli: wp.array2d[wp.uint64], limb: wp.int32) -> wp.uint32:
    """The product modulo the limb's prime, which has b bits: it is below 4^b."""
    p = moduli[limb, wp.static(PRIME)]
    bits = moduli[limb, wp.static(BITS)]
    z = wp.uint64(a) * wp.uint64(b)
    high = (z >> (bits - wp.uint64(1))) * moduli[limb, wp.static(RECIPROCAL)]
    rest = z - (high >> (bits + wp.uint64(1))) * p
    if rest >= p:
        rest -= p
    if rest >= p:
        rest -= p
    return wp.uint32(rest)
