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
    concatenate,
    contiguous,
    copied,
    device_of,
    gathered,
    overwrite_,
    placed,
    repeated,
    spread,
    unset,
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
        sums = _shifted_sums(products, turn)
        del products  # as large as all units
        units = contiguous(_separated(sums, turn)[: len(weights)])
        del sums
        constants = unset(units, (len(units), *units.shape[2:]))
        overwrite_(constants, bias[..., None])
        kernels.add_to_first_(units, constants, basis)
    return units


def _in_groups(units: int, parts: int) -> NDArray[np.int64]:
    """Units of whole groups of `parts`: the first one of every group, then another one of every
    group, in the order that `_transform_` wants; from `units` on there are none."""
    groups = -(-units // parts)
    members = np.arange(groups * parts).reshape(groups, parts).T
    return members[bit_reversal(parts)].ravel()


def _products(weights: NDArray[np.int64], x: Residues, parts: int, basis: Basis) -> Residues:
    """y_u (units, 2, limbs, N), whose parts without X are the hidden units.

    Some ciphertexts after the others: their features come to the part without X, and are weighed
    there. Both polynomials do so by themselves, so that none is copied for each of its features.
    """
    at_once = min(len(x), max(1, SHIFTED_AT_ONCE // parts))
    shifts = _monomials(basis, tuple(-f for f in range(parts)), 1, device_of(x))
    shifts = repeated(shifts[None], at_once)
    products = unset(x, (len(weights), 2, *x.shape[2:]))
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
        overwrite_(products[:, half], total[:, 0])
    return products


def _shifted_sums(products: Residues, turn: _Turn) -> Residues:
    """Products y_u (units, 2, limbs, N) of `_in_groups` -> T_j (parts, 2 groups, limbs, N).

    All groups of `parts` units go the same way at once, both polynomials of a group one after the
    other.
    """
    basis, parts, (units, _, *rest) = turn.basis, turn.parts, products.shape
    exponents = tuple(bit_reversal(parts).tolist())
    up = _monomials(basis, exponents, parts, device_of(products))
    own = products.reshape(parts, 2 * units // parts, *rest)
    sums = kernels.multiply_plain(own, up, basis)
    _transform_(sums, basis)
    return sums


def _separated(sums: Residues, turn: _Turn) -> Residues:
    """T_j of `_shifted_sums`, which are overwritten -> h_u(Y) (units, 2, limbs, N) times `parts`,
    one group after the other."""
    basis, parts, (_, polys, *rest) = turn.basis, turn.parts, sums.shape
    groups = polys // 2
    z = copied(sums[parts - 1]).reshape(groups, 2, *rest)
    for at in range(parts - 2, -1, -1):
        z = turn.once(z)
        kernels.add_(z, sums[at].reshape(groups, 2, *rest), basis)
    for number, place in enumerate(bit_reversal(parts).tolist()):
        z = turn.once(z) if number else z
        overwrite_(sums[place], z.reshape(polys, *rest))
    _transform_(sums, basis)
    down = _monomials(basis, tuple(-u for u in range(parts)), 1, device_of(sums))
    units = unset(sums, (groups, parts, 2, *rest))
    for u in range(parts):
        unit = kernels.multiply_plain(sums[u : u + 1], down[u : u + 1], basis)
        overwrite_(units[:, u], unit.reshape(groups, 2, *rest))
    return units.reshape(groups * parts, 2, *rest)


class _Turn:
    """g with its key switch."""

    def __init__(self, parts: int, key: Residues, special: int, basis: Basis) -> None:
        self.parts, self.basis = parts, basis
        self._key, self._special = key, special
        self._places = places_under(basis.ring_degree, element(basis.ring_degree, parts))
        self._masks: Residues | None = None

    def once(self, x: Residues) -> Residues:
        """g(x), under the key s again, for ciphertexts (d, 2, limbs, N), always as many."""
        moved = gathered(x, self._places)
        # g(c1) belongs to g(s): it is switched as the polynomial that belongs to s^2 would be.
        if self._masks is None:
            self._masks = zeros_like(concatenate([moved, moved[:, :1]], 1))
        overwrite_(self._masks[:, 0], moved[:, 0])
        overwrite_(self._masks[:, 2], moved[:, 1])
        return kernels.relinearize(self._masks, self._key, self._special, self.basis)


def _transform_(x: Residues, basis: Basis) -> None:
    """sum_u w^(-ju) x_u for polynomials (k, .., limbs, N), k a power of two and w = X^(2N / k), in
    place: x_u stands where u's bits backwards say.

    By halves, as any fast Fourier transform: w^(k / 2) is X^N = -1. Two polynomials at a time, so
    that what is between stays in the processor's caches.
    """
    half = 1
    while half < len(x):
        step = basis.ring_degree // half
        exponents = tuple(-step * u for u in range(half))
        twiddles = None if half == 1 else _monomials(basis, exponents, 1, device_of(x))
        for at in range(len(x)):
            if at & half:
                continue
            even, odd = x[at : at + 1], x[at + half : at + half + 1]
            turned, own = odd, at % half
            if twiddles is not None and own:
                turned = kernels.multiply_plain(odd, twiddles[own : own + 1], basis)
            difference = kernels.subtract(even, turned, basis)
            kernels.add_(even, turned, basis)
            overwrite_(odd, difference)
        half *= 2


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
