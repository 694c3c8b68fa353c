"""The kernels of `kernels.py` in torch operations: one code for CPU and CUDA.

Weights and indices are numpy arrays; residues decide where is computed (docs/decisions/0026).

Residues are widened to int64, where products of two residues fit; the linear layer is a float64
matrix product, exact as long as partial sums stay below 2^53. Results are the same
bits as the native kernels'; `encode` and `decode` differ from them by float rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.ckks.backends import packing
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.basis_torch import moduli, twiddles
from securefair.ckks.backends.embedding_torch import coefficients_to_slots, slots_to_coefficients
from securefair.ckks.backends.kernel_checks import Patch
from securefair.ckks.backends.seeds_torch import expand_seeds

__all__ = [
    "add",
    "add_",
    "add_to_first_",
    "all_below",
    "coefficients",
    "decode",
    "encode",
    "expand_seeds",
    "linear",
    "linear_patches",
    "multiply_plain",
    "ntt_forward_",
    "ntt_inverse_",
    "receive",
    "relinearize",
    "rescale",
    "rescaled_square_sums",
    "square",
    "square_patches",
    "subtract",
    "sum_products",
]

_RESIDUE_BITS = 31
_EXACT_BITS = 53
_COLUMNS = 1 << 16  # of a matrix product at once, to bound the float64 copy
_GATHERED = 1 << 26  # residues that are copied together at once
_WORD_BITS = 60  # of the high part of an encoded coefficient beyond 64 bits
_MAX_ENCODED_BITS = 120

Integers = NDArray[np.int64]


def _tensor(x: Integers, device: torch.device) -> torch.Tensor:
    """Copied where it is read-only, of which torch would warn."""
    return torch.as_tensor(np.require(x, requirements="W"), device=device)


def _residues(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.int32)


def _forward(x: torch.Tensor, basis: Basis) -> torch.Tensor:
    """int64 coefficients (..., limbs, N) -> values, in SEAL's order.

    Two stages let values grow to 3 p before they are reduced: 2 p^2 is below 2^63.
    """
    n, shape = basis.ring_degree, x.shape
    w = twiddles(basis, x.device, inverse=False)
    p = moduli(basis, x.device)[..., None]
    m = 1
    while m < n:
        pairs = x.reshape(-1, len(basis), m, 2, n // (2 * m))
        first = pairs[..., 0, :]
        second = pairs[..., 1, :] * w[:, m : 2 * m, None] % p
        x = torch.stack([first + second, first - second + p], dim=-2)
        m *= 2
        if m.bit_length() % 2 or m == n:
            x = x % p[..., None]
    return x.reshape(shape)


def _inverse(x: torch.Tensor, basis: Basis) -> torch.Tensor:
    """The inverse of `_forward`, N^-1 included."""
    n, shape = basis.ring_degree, x.shape
    w = twiddles(basis, x.device, inverse=True)
    p = moduli(basis, x.device)[..., None]
    m = n // 2
    while m >= 1:
        pairs = x.reshape(-1, len(basis), m, 2, n // (2 * m))
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        difference = (first - second + p) * w[:, m : 2 * m, None] % p
        x = torch.stack([(first + second) % p, difference], dim=-2)
        m //= 2
    shrink = _inverses([n] * len(basis), basis, x.device)
    return x.reshape(shape) * shrink % p[..., 0]


def _inverses(values: Sequence[int], basis: Basis, device: torch.device) -> torch.Tensor:
    """Inverse of one value per prime, int64 (limbs, 1)."""
    rows = [[pow(v, -1, p)] for v, p in zip(values, basis.primes, strict=True)]
    return torch.tensor(rows, dtype=torch.int64, device=device)


def ntt_forward_(x: torch.Tensor, basis: Basis) -> None:
    """See `kernels.ntt_forward_`."""
    x.copy_(_forward(x.long(), basis))


def ntt_inverse_(x: torch.Tensor, basis: Basis) -> None:
    """See `kernels.ntt_inverse_`."""
    x.copy_(_inverse(x.long(), basis))


def all_below(x: torch.Tensor, basis: Basis) -> bool:
    """See `kernels.all_below`."""
    return bool(((x >= 0) & (x < moduli(basis, x.device))).all())


def receive(
    first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis, device: torch.device
) -> torch.Tensor | None:
    """See `kernels.receive`; None if a residue is not below its prime."""
    residues = packing.unpack(first, basis.primes, basis.ring_degree)
    arrived = torch.from_numpy(residues.view(np.int32)).to(device)
    if not all_below(arrived, basis):
        return None
    expanded = expand_seeds(torch.from_numpy(seeds.copy()).to(device), basis)
    return torch.stack([arrived, expanded], dim=1)


def add(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.add`."""
    return _residues((x.long() + y) % moduli(basis, x.device))


def add_(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> None:
    """x + y into x."""
    x.copy_(add(x, y, basis))


def subtract(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.subtract`."""
    return _residues((x.long() - y) % moduli(basis, x.device))


def add_to_first_(x: torch.Tensor, plain: torch.Tensor, basis: Basis) -> None:
    """See `kernels.add_to_first_`."""
    x[:, 0] = add(x[:, 0], plain, basis)


def multiply_plain(x: torch.Tensor, plain: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.multiply_plain`."""
    return _residues(x.long() * plain[:, None] % moduli(basis, x.device))


def linear(
    weights: Integers, x: torch.Tensor, bias: torch.Tensor | None, basis: Basis
) -> torch.Tensor:
    """See `kernels.linear`."""
    outputs, inputs = weights.shape
    n, p = basis.ring_degree, moduli(basis, x.device)
    result = x.new_empty((outputs, *x.shape[1:]))
    exact = _tensor(weights, x.device).double()
    # Inputs that may be summed before a float64 could round.
    largest = max(1, int(exact.abs().max()))
    depth = max(1, (1 << (_EXACT_BITS - _RESIDUE_BITS)) // largest)
    rows = x.view(inputs, -1, n)
    count = max(1, _COLUMNS // n)
    for start in range(0, rows.shape[1], count):
        block = rows[:, start : start + count]
        total = x.new_zeros((outputs, *block.shape[1:]), dtype=torch.int64)
        modulus = p[torch.arange(start, start + block.shape[1], device=x.device) % len(basis)]
        for first in range(0, inputs, depth):
            part = block[first : first + depth].reshape(-1, block.shape[1] * n).double()
            product = exact[:, first : first + depth] @ part
            total = (total + product.long().view(total.shape)) % modulus
        result.view(outputs, -1, n)[:, start : start + count] = total
    if bias is not None:
        result[:, 0] = add(result[:, 0], bias[..., None].expand_as(result[:, 0]), basis)
    return result


def linear_patches(
    blocks: Sequence[torch.Tensor],
    rows: Integers,
    patches: Sequence[Patch],
    bias: torch.Tensor,
    basis: Basis,
) -> torch.Tensor:
    """See `kernels.linear_patches`."""
    shape, where = blocks[0].shape[1:], rows.tolist()
    result = blocks[0].new_empty((len(bias), *shape))
    for weights, reads, writes in patches:
        outputs, inputs = weights.shape
        together = max(1, _GATHERED // (inputs * blocks[0][0].numel()))
        for first in range(0, len(reads), together):
            index = reads[first : first + together].T
            x = torch.stack([blocks[b][r] for b, r in (where[i] for i in index.flatten().tolist())])
            # Places stand where polynomials do: the product is the same for all of them.
            stacked = x.view(inputs, -1, *shape[1:])
            out = linear(weights, stacked, None, basis).view(outputs, -1, *shape)
            places = _tensor(writes[first : first + together].T, result.device)
            result[places] = out
    result[:, 0] = add(result[:, 0], bias[..., None].expand_as(result[:, 0]), basis)
    return result


def square_patches(
    blocks: Sequence[torch.Tensor],
    rows: Integers,
    patches: Sequence[Patch],
    bias: torch.Tensor,
    groups: Integers,
    basis: Basis,
) -> torch.Tensor:
    """See `kernels.square_patches`."""
    values = linear_patches(blocks, rows, patches, bias, basis)
    return sum_products(values, values, groups, groups, basis)


def square(x: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.square`."""
    a, b = x.long().unbind(1)
    products = torch.stack([a * a, 2 * (a * b % moduli(basis, x.device)), b * b], dim=1)
    return _residues(products % moduli(basis, x.device))


def sum_products(
    x: torch.Tensor,
    y: torch.Tensor,
    left: Integers,
    right: Integers,
    basis: Basis,
) -> torch.Tensor:
    """See `kernels.sum_products`."""
    p = moduli(basis, x.device)
    total = x.new_zeros((len(left), 3, *x.shape[2:]), dtype=torch.int64)
    for chosen_left, chosen_right in zip(left.T, right.T, strict=True):
        a, b = x[_tensor(chosen_left, x.device)].long().unbind(1)
        c, d = y[_tensor(chosen_right, y.device)].long().unbind(1)
        cross = a * d % p + b * c % p
        total = (total + torch.stack([a * c % p, cross, b * d % p], dim=1)) % p
    return _residues(total)


def _divide_by_last(x: torch.Tensor, basis: Basis) -> torch.Tensor:
    """int64 (..., limbs, N) -> (..., limbs - 1, N), rounded as SEAL's rescale_to_next."""
    left, last = basis.prefix(len(basis) - 1), basis.primes[-1]
    half = last >> 1
    own = Basis(basis.ring_degree, (last,))
    digit = (_inverse(x[..., -1:, :].contiguous(), own) + half) % last
    p = moduli(left, x.device)
    correction = _forward((digit - half) % p, left)
    return (x[..., :-1, :] - correction) * _inverses([last] * len(left), left, x.device) % p


def rescale(x: torch.Tensor, limbs: int, basis: Basis) -> torch.Tensor:
    """See `kernels.rescale`."""
    wide = x.long()
    while len(basis) > limbs:
        wide = _divide_by_last(wide, basis)
        basis = basis.prefix(len(basis) - 1)
    return _residues(wide)


def rescaled_square_sums(
    x: torch.Tensor, groups: NDArray[np.int64], limbs: int, basis: Basis
) -> torch.Tensor:
    """See `kernels.rescaled_square_sums`."""
    left = rescale(x, limbs, basis)
    return sum_products(left, left, groups, groups, basis.prefix(limbs))


def relinearize(
    x: torch.Tensor, key: torch.Tensor, special: int, basis: Basis, limbs: int | None = None
) -> torch.Tensor:
    """See `kernels.relinearize`."""
    if limbs is not None:
        x, basis = rescale(x, limbs, basis), basis.prefix(limbs)
    digits = len(basis)
    raised = Basis(basis.ring_degree, (*basis.primes, special))
    p = moduli(raised, x.device)
    rows = [*range(digits), key.shape[2] - 1]
    target = _inverse(x[:, 2].long(), basis)
    total = x.new_zeros((len(x), 2, digits + 1, basis.ring_degree), dtype=torch.int64)
    for j in range(digits):
        digit = _forward(target[:, j : j + 1] % p, raised)
        total = (total + digit[:, None] * key[j, :, rows].long()) % p
    switched = _divide_by_last(total, raised)
    return _residues((switched + x[:, :2]) % moduli(basis, x.device))


def coefficients(x: torch.Tensor, which: Sequence[int], basis: Basis) -> torch.Tensor:
    """See `kernels.coefficients`."""
    chosen = torch.tensor(list(which), dtype=torch.int64, device=x.device)
    return _residues(_inverse(x.long(), basis)[..., chosen])


def encode(slots: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """See `kernels.encode`."""
    values = slots_to_coefficients(slots, basis.ring_degree) * scale
    if not bool((values.abs() < 2.0**_MAX_ENCODED_BITS).all()):
        raise ValueError(f"a scaled coefficient is not below 2^{_MAX_ENCODED_BITS}")
    p = moduli(basis, slots.device)
    unit = math.ldexp(1.0, _WORD_BITS)
    high = (values / unit).round()
    low = (values - high * unit).round().long()
    residues = (high.long()[:, None] % p) * ((1 << _WORD_BITS) % p) + low[:, None] % p
    return _residues(_forward(residues % p, basis))


def decode(x: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """See `kernels.decode`.

    Mixed-radix digits e_k, each centred: value = e_0 + p_0 (e_1 + p_1 (e_2 + ..)). The high
    digits of small values are zero, so that the sum in floats is accurate.
    """
    rows = _inverse(x.long(), basis)
    digits: list[torch.Tensor] = []
    for k, p in enumerate(basis.primes):
        row = rows[:, k]
        for digit, q in zip(digits, basis.primes, strict=False):
            row = (row - digit) * pow(q, -1, p) % p
        digits.append((row + (p >> 1)) % p - (p >> 1))
    value = digits[-1].double()
    for digit, p in zip(digits[-2::-1], basis.primes[-2::-1], strict=False):
        value = value * p + digit
    return coefficients_to_slots(value / scale)
