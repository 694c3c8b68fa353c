"""Hidden units out of features beside each other, on residues (`ckks.interleaving`).

All of it is made of the kernels, so it gives the same bits wherever they run.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from securefair.ckks import memory
from securefair.ckks.backends import kernels
from securefair.ckks.backends.basis import Basis, bit_reversal
from securefair.ckks.backends.residues import (
    Device,
    Residues,
    contiguous,
    device_of,
    gathered,
    overwrite_,
    placed,
    repeated,
    spread,
    stack,
    zeros_like,
)
from securefair.ckks.interleaving import SHIFTED_AT_ONCE, element, places_under


def hidden_units(
    weights: NDArray[np.int64],
    x: Residues,
    bias: Residues,
    parts: int,
    key: Residues,
    special: int,
    basis: Basis,
) -> Residues:
    """Ciphertexts (ceil(d / parts), 2, limbs, N) of features beside each other -> those of hidden
    units (units, 2, limbs, N), as polynomials in X^parts, times `parts`.

    Args:
        weights: (units, d).
        x: ciphertexts.
        bias: residues (units, limbs), at the scale of the result.
        parts: features in a ciphertext.
        key: SEAL's Galois key for `interleaving.element`, laid out as of `kernels.relinearize`.
        special, basis: as there.
    """
    turn = _Turn(parts, key, special, basis)
    with memory.used_again():
        order = _in_groups(len(weights), parts)
        own = order[order < len(weights)]
        products = _products(weights[own], x, parts, basis)
        if len(own) < len(order):
            products = spread(products, np.flatnonzero(order < len(weights)), len(order))
        units = contiguous(_separated(products, turn)[: len(weights)])
    constants = contiguous(bias[..., None] + zeros_like(units[:, 0]))
    kernels.add_to_first_(units, constants, basis)
    return units


def _in_groups(units: int, parts: int) -> NDArray[np.int64]:
    """Units of whole groups of `parts`, the first one of every group before all second ones; from
    `units` on there are none."""
    groups = -(-units // parts)
    return np.arange(groups * parts).reshape(groups, parts).T.ravel()


def _products(weights: NDArray[np.int64], x: Residues, parts: int, basis: Basis) -> Residues:
    """y_u (units, 2, limbs, N), whose parts without X are the hidden units.

    Some ciphertexts after the others: their features come to the part without X, and are weighed
    there. Both polynomials do so by themselves, so that none is copied for each of its features.
    """
    at_once = min(len(x), max(1, SHIFTED_AT_ONCE // parts))
    shifts = _monomials(basis, tuple(-f for f in range(parts)), 1, device_of(x))
    shifts = repeated(shifts[None], at_once)
    halves = []
    for half in range(2):
        polynomials, total = contiguous(x[:, half]), None
        for start in range(0, len(x), at_once):
            some = polynomials[start : start + at_once]
            shifted = kernels.multiply_plain(shifts[: len(some)], some, basis)
            own = np.ascontiguousarray(weights[:, start * parts : (start + at_once) * parts])
            features = shifted.reshape(-1, 1, *shifted.shape[2:])[: own.shape[1]]
            share = kernels.linear(own, features, basis)
            if total is None:
                total = share
            else:
                kernels.add_(total, share, basis)
        assert total is not None
        halves.append(total[:, 0])
    return stack(halves, 1)


def _separated(products: Residues, turn: _Turn) -> Residues:
    """Products y_u (units, 2, limbs, N) of `_in_groups` -> h_u(Y) times `parts`, in their order.

    All groups of `parts` units go the same way at once: (parts, 2 groups, limbs, N), both
    polynomials of a group one after the other.
    """
    basis, parts, units = turn.basis, turn.parts, len(products)
    groups, rest = units // parts, products.shape[2:]
    up = _monomials(basis, tuple(range(parts)), parts, device_of(products))
    own = products.reshape(parts, 2 * groups, *rest)
    shifted = kernels.multiply_plain(own, up, basis)
    sums = _transformed(shifted, basis).reshape(parts, groups, 2, *rest)
    z = sums[parts - 1]
    for at in range(parts - 2, -1, -1):
        z = turn.once(z)
        kernels.add_(z, sums[at], basis)
    powers = [z]
    for _ in range(1, parts):
        powers.append(turn.once(powers[-1]))
    sums = _transformed(stack(powers).reshape(parts, 2 * groups, *rest), basis)
    down = _monomials(basis, tuple(-u for u in range(parts)), 1, device_of(products))
    parted = kernels.multiply_plain(sums, down, basis).reshape(parts, groups, 2, *rest)
    return contiguous(parted.swapaxes(0, 1)).reshape(units, 2, *rest)


class _Turn:
    """g with its key switch."""

    def __init__(self, parts: int, key: Residues, special: int, basis: Basis) -> None:
        self.parts, self.basis = parts, basis
        self._key, self._special = key, special
        self._places = places_under(basis.ring_degree, element(basis.ring_degree, parts))

    def once(self, x: Residues) -> Residues:
        """g(x), under the key s again, for ciphertexts (d, 2, limbs, N)."""
        moved = gathered(x, self._places)
        # g(c1) belongs to g(s): it is switched as the polynomial that belongs to s^2 would be.
        masks = stack([moved[:, 0], zeros_like(moved[:, 0]), moved[:, 1]], 1)
        return kernels.relinearize(masks, self._key, self._special, self.basis)


def _transformed(x: Residues, basis: Basis) -> Residues:
    """sum_u w^(-ju) x_u for polynomials (k, .., limbs, N), k a power of two and w = X^(2N / k).

    By halves, as any fast Fourier transform, in one array: w^(k / 2) is X^N = -1.
    """
    count = len(x)
    result = contiguous(x[bit_reversal(count).tolist()])
    half = 1
    while half < count:
        step = basis.ring_degree // half
        exponents = tuple(-step * u for u in range(half))
        twiddles = None if half == 1 else _monomials(basis, exponents, 1, device_of(x))
        for start in range(0, count, 2 * half):
            even, odd = result[start : start + half], result[start + half : start + 2 * half]
            turned = odd if twiddles is None else kernels.multiply_plain(odd, twiddles, basis)
            difference = kernels.subtract(even, turned, basis)
            kernels.add_(even, turned, basis)
            overwrite_(odd, difference)
        half *= 2
    return result


# Of one plan 2, and one for each stage of a transform: 38 MB of k = 64 at N = 8192 and six limbs.
@lru_cache(maxsize=16)
def _monomials(basis: Basis, exponents: tuple[int, ...], divisor: int, device: Device) -> Residues:
    """X^e / divisor modulo each prime, transformed, (len(exponents), limbs, N)."""
    n = basis.ring_degree
    rows = np.zeros((len(exponents), len(basis), n), dtype=np.int32)
    for row, exponent in zip(rows, exponents, strict=True):
        place = exponent % (2 * n)
        for limb, prime in enumerate(basis.primes):
            value = pow(divisor, -1, prime)
            row[limb, place % n] = value if place < n else prime - value
    residues = placed(rows, device)
    kernels.ntt_forward_(residues, basis)
    return residues
