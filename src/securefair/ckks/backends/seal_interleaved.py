"""Hidden units out of features beside each other, by products with polynomials (`seal` backend).

Slower than `interleaved`, and written otherwise: sums T_j are products with whole polynomials, and
both Fourier transforms are sums of all their terms. So each checks the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.seal_context import SealContext

Residues = NDArray[np.uint64]


def hidden_units(
    weights: NDArray[np.int64],
    x: Residues,
    parts: int,
    turned: Callable[[Residues], Residues],
    context: SealContext,
) -> Residues:
    """Ciphertexts (count, 2, limbs, N) -> at most `parts` hidden units, times `parts`,
    without their biases.

    Args:
        weights: rows of these units, (units, d).
        x: features beside each other.
        parts: in a ciphertext.
        turned: the automorphism of `ckks.interleaving`, with its key switch.
        context: context of the ciphertexts.
    """
    limbs, n = x.shape[2:]
    primes = np.array(context.params.primes[:limbs], dtype=np.uint64)[:, None]
    sums = _sums(weights, x, parts, context)
    z = sums[-1:]
    for each in sums[-2::-1]:
        z = (turned(z) + each) % primes
    powers = [z]
    for _ in range(1, parts):
        powers.append(turned(powers[-1]))
    units = []
    for u in range(len(weights)):
        total = np.zeros_like(z)
        for j, power in enumerate(powers):
            shift = _monomial(-u - 2 * n // parts * j * u, limbs, context)
            total = (total + power * shift % primes) % primes
        units.append(total)
    return np.concatenate(units)


def _sums(weights: NDArray[np.int64], x: Residues, parts: int, context: SealContext) -> Residues:
    """T_j = sum_u w^(-ju) X^u y_u / parts for each j < parts."""
    count, _, limbs, n = x.shape
    primes = np.array(context.params.primes[:limbs], dtype=np.int64)[:, None]
    padded = np.zeros((len(weights), count * parts), dtype=np.int64)
    padded[:, : weights.shape[1]] = weights
    inverse = np.array([[pow(parts, -1, p)] for p in primes.ravel().tolist()])
    u, f = np.arange(len(weights))[:, None], np.arange(parts)
    sums = []
    for j in range(parts):
        places = (u - f - 2 * n // parts * j * u) % (2 * n)
        signs = np.where(places < n, 1, -1)
        polynomials = np.zeros((count, n), dtype=np.int64)
        for i, polynomial in enumerate(polynomials):
            np.add.at(polynomial, places % n, signs * padded[:, i * parts : (i + 1) * parts])
        residues = polynomials[:, None] % primes * inverse % primes
        factors = context.to_ntt(residues.astype(np.uint64))
        products = x * factors[:, None] % primes.astype(np.uint64)
        sums.append(products.sum(axis=0) % primes.astype(np.uint64))
    return np.stack(sums)


def _monomial(exponent: int, limbs: int, context: SealContext) -> Residues:
    """X^exponent as residues (limbs, N), transformed."""
    n = context.params.ring_degree
    primes = np.array(context.params.primes[:limbs], dtype=np.int64)[:, None]
    place = exponent % (2 * n)
    polynomial = np.zeros(n, dtype=np.int64)
    polynomial[place % n] = 1 if place < n else -1
    shift: Residues = context.to_ntt((polynomial % primes)[None].astype(np.uint64))[0]
    return shift
