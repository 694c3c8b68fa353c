"""The kernels of `kernels.py` on tensors, by one source for every device.

`device_*` holds the kernels, in warp's Python: compiled for a card or for this processor when they
are first used, and kept. torch holds the memory; weights and indices are numpy arrays. Results are
the same bits as the native kernels'.

What is written goes into new tensors, but for functions ending in an underscore.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import warp as wp
from numpy.typing import NDArray

from securefair.ckks.backends import device_products as products
from securefair.ckks.backends import device_seeds as seeding
from securefair.ckks.backends import device_transforms as transforms
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.device_launch import launch, transferred
from securefair.ckks.backends.device_tables import dividing, first_rejected, tables
from securefair.ckks.backends.embedding_torch import integers_to_slots, slots_to_integers
from securefair.ckks.backends.kernel_checks import Patch

Integers = NDArray[np.int64]

_RAISED_AT_ONCE = 1 << 28
"""Bytes of digits that a key multiplies: they exist as a whole."""

_WORDS_AT_ONCE = 1 << 27
"""Bytes of a generator's words that exist as a whole."""


def _rows(x: torch.Tensor) -> torch.Tensor:
    """All polynomials, (rows, N)."""
    return x.reshape(-1, x.shape[-1])


def _indices(x: Integers, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.array(x, dtype=np.int64)).to(device)


def ntt_forward_(x: torch.Tensor, basis: Basis) -> None:
    """See `kernels.ntt_forward_`."""
    table, rows = tables(basis, x.device), x.view(-1, basis.ring_degree)
    arguments = (rows, *table.forward, table.primes)
    for blocks, stages in _passes(basis.ring_degree):
        size = len(rows), basis.ring_degree // 8
        launch(transforms.forward_pass, size, *arguments, blocks, stages, on=x.device)


def ntt_inverse_(x: torch.Tensor, basis: Basis) -> None:
    """See `kernels.ntt_inverse_`."""
    table, rows = tables(basis, x.device), x.view(-1, basis.ring_degree)
    factors = (*table.inverse, table.shrink, table.primes)
    for blocks, stages in reversed(list(_passes(basis.ring_degree))):
        size = len(rows), basis.ring_degree // 8
        arguments = (rows, *factors, blocks, stages)
        launch(transforms.inverse_pass, size, *arguments, on=x.device)


def _passes(n: int) -> Iterator[tuple[int, int]]:
    """Blocks and stages of each pass; the first one has what is left over."""
    left, blocks = n.bit_length() - 1, 1
    stages = left % transforms.RADIX_BITS or transforms.RADIX_BITS
    while left:
        yield blocks, stages
        left, blocks, stages = left - stages, blocks << stages, transforms.RADIX_BITS


def _combined(kernel: Any, x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    out = torch.empty_like(x)
    _combine_(kernel, out, x, y, basis)
    return out


def _combine_(
    kernel: Any, out: torch.Tensor, x: torch.Tensor, y: torch.Tensor, basis: Basis
) -> None:
    rows = _rows(out)
    primes = tables(basis, x.device).primes
    launch(kernel, rows.shape, rows, _rows(x), _rows(y), primes, on=x.device)


def add(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.add`."""
    return _combined(products.add, x, y, basis)


def add_(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> None:
    """x + y into x."""
    _combine_(products.add, x, x, y, basis)


def subtract(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.subtract`."""
    return _combined(products.subtract, x, y, basis)


def add_to_first_(x: torch.Tensor, plain: torch.Tensor, basis: Basis) -> None:
    """See `kernels.add_to_first_`."""
    primes = tables(basis, x.device).primes
    launch(products.add_to_first, plain.shape, x, plain, primes, on=x.device)


def multiply_plain(x: torch.Tensor, plain: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.multiply_plain`."""
    out, moduli = torch.empty_like(x), tables(basis, x.device).moduli
    arguments = out, x, plain, moduli
    launch(products.multiply_plain, plain.shape, *arguments, on=x.device)
    return out


def linear(
    weights: Integers, x: torch.Tensor, bias: torch.Tensor | None, basis: Basis
) -> torch.Tensor:
    """See `kernels.linear`."""
    out = x.new_empty((len(weights), *x.shape[1:]))
    reads, writes = np.arange(len(x))[None], np.arange(len(weights))[None]
    _weigh_(out, x, (weights, reads, writes), basis)
    if bias is not None:
        _add_constants_(out, bias, basis)
    return out


def _weigh_(out: torch.Tensor, x: torch.Tensor, patch: Patch, basis: Basis) -> None:
    weights, reads, writes = patch
    groups = -(-len(weights) // products.OUTPUTS)
    n = basis.ring_degree
    rows, inputs = out.view(len(out), -1, n), x.view(len(x), -1, n)
    small = torch.as_tensor(np.require(weights, requirements="W"), dtype=torch.int32)
    launch(
        products.weighted,
        (len(reads) * groups, *rows.shape[1:]),
        rows,
        inputs,
        small.to(x.device),
        _indices(reads, x.device),
        _indices(writes, x.device),
        groups,
        tables(basis, x.device).primes,
        on=x.device,
    )


def _add_constants_(out: torch.Tensor, bias: torch.Tensor, basis: Basis) -> None:
    size = (len(out), *out.shape[2:])
    primes = tables(basis, out.device).primes
    launch(products.add_constants, size, out, bias, primes, on=out.device)


def linear_patches(
    blocks: Sequence[torch.Tensor],
    rows: Integers,
    patches: Sequence[Patch],
    bias: torch.Tensor,
    basis: Basis,
) -> torch.Tensor:
    """See `kernels.linear_patches`; blocks are joined, where there are several."""
    x = blocks[0] if len(blocks) == 1 else torch.cat(list(blocks))
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    number = starts[rows[:, 0]] + rows[:, 1]
    out = x.new_empty((len(bias), *x.shape[1:]))
    for weights, reads, writes in patches:
        _weigh_(out, x, (weights, number[reads], writes), basis)
    _add_constants_(out, bias, basis)
    return out


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
    each = np.arange(len(x))[:, None]
    return sum_products(x, x, each, each, basis)


def sum_products(
    x: torch.Tensor, y: torch.Tensor, left: Integers, right: Integers, basis: Basis
) -> torch.Tensor:
    """See `kernels.sum_products`."""
    out = x.new_empty((len(left), 3, *x.shape[2:]))
    launch(
        products.sum_products,
        (len(left), *x.shape[2:]),
        out,
        x,
        y,
        _indices(left, x.device),
        _indices(right, x.device),
        tables(basis, x.device).moduli,
        on=x.device,
    )
    return out


def _divide_by_last(x: torch.Tensor, basis: Basis) -> torch.Tensor:
    """(..., limbs, N) -> (..., limbs - 1, N), rounded as SEAL's rescale_to_next."""
    n, limbs = basis.ring_degree, len(basis) - 1
    left, dropped = basis.prefix(limbs), basis.primes[-1]
    primes = tables(left, x.device).primes
    rows = x.reshape(-1, limbs + 1, n)
    last = rows[:, limbs].clone(memory_format=torch.contiguous_format)
    ntt_inverse_(last[:, None], Basis(n, (dropped,)))
    taken = x.new_empty((len(rows), limbs, n))
    arguments = taken, last, wp.uint32(dropped), primes
    launch(products.round_last, taken.shape, *arguments, on=x.device)
    ntt_forward_(taken, left)
    inverses = dividing(dropped, left, x.device)
    shares = taken, rows, taken, inverses, primes
    launch(products.divide, taken.shape, *shares, on=x.device)
    return taken.view(*x.shape[:-2], limbs, n)


def rescale(x: torch.Tensor, limbs: int, basis: Basis) -> torch.Tensor:
    """See `kernels.rescale`."""
    while len(basis) > limbs:
        x = _divide_by_last(x, basis)
        basis = basis.prefix(len(basis) - 1)
    return x


def rescaled_square_sums(
    x: torch.Tensor, groups: Integers, limbs: int, basis: Basis
) -> torch.Tensor:
    """See `kernels.rescaled_square_sums`."""
    left = rescale(x, limbs, basis)
    return sum_products(left, left, groups, groups, basis.prefix(limbs))


def relinearize(
    x: torch.Tensor, key: torch.Tensor, special: int, basis: Basis, limbs: int | None = None
) -> torch.Tensor:
    """See `kernels.relinearize`; some ciphertexts at a time."""
    if limbs is not None and limbs < len(basis):
        x, basis = rescale(x, limbs, basis), basis.prefix(limbs)
    n, digits = basis.ring_degree, len(basis)
    raised = Basis(n, (*basis.primes, special))
    table = tables(raised, x.device)
    out = x.new_empty((len(x), 2, digits, n))
    at_once = max(1, _RAISED_AT_ONCE // (4 * digits * (digits + 1) * n))
    for first in range(0, len(x), at_once):
        part = x[first : first + at_once]
        target = part[:, 2].clone(memory_format=torch.contiguous_format)
        ntt_inverse_(target, basis)
        spread = x.new_empty((len(part), digits, digits + 1, n))
        size = len(part) * digits, digits + 1, n
        arguments = spread.view(size), _rows(target), table.primes
        launch(products.raise_digits, size, *arguments, on=x.device)
        ntt_forward_(spread, raised)
        total = x.new_empty((len(part), 2, digits + 1, n))
        factors = total, spread, key, table.moduli
        launch(products.key_product, (len(part), digits + 1, n), *factors, on=x.device)
        switched = _divide_by_last(total, raised)
        out[first : first + at_once] = add(switched, part[:, :2].contiguous(), basis)
    return out


def coefficients(x: torch.Tensor, which: Sequence[int], basis: Basis) -> torch.Tensor:
    """See `kernels.coefficients`."""
    whole = x.clone()
    ntt_inverse_(whole, basis)
    return whole[..., torch.tensor(list(which), device=x.device)].contiguous()


def expand_seeds(seeds: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.expand_seeds`."""
    out = torch.empty(
        (len(seeds), 1, len(basis), basis.ring_degree), dtype=torch.int32, device=seeds.device
    )
    _expand_(out, seeds, basis)
    return out[:, 0]


def _expand_(out: torch.Tensor, seeds: torch.Tensor, basis: Basis) -> None:
    """Into the last polynomials of out (d, polys, limbs, N), some seeds at a time."""
    keys = seeds.contiguous().view(torch.int64)
    values = len(basis) * basis.ring_degree
    at_once = max(1, _WORDS_AT_ONCE // (8 * values))
    for first in range(0, len(keys), at_once):
        part = keys[first : first + at_once]
        words = _stream(part, 0, values // seeding.BUFFER_WORDS)
        rest = [_rest(key, values // seeding.BUFFER_WORDS) for key in part]
        uniform_(out[first : first + at_once], words.view(len(part), len(basis), -1), basis, rest)


def _stream(keys: torch.Tensor, first: int, buffers: int) -> torch.Tensor:
    """Words (keys times buffers, 512) of the buffers from `first` on."""
    root = keys.new_empty((len(keys) * buffers, seeding.SEED_WORDS))
    size, on = (len(keys), buffers), keys.device
    launch(seeding.roots, size, root, keys, first, on=on)
    words = keys.new_empty((len(root), seeding.BUFFER_WORDS))
    launch(seeding.stream, (len(root), seeding.NODES), words, root, on=on)
    return words


def _rest(key: torch.Tensor, used: int) -> Iterator[int]:
    """The words of one stream after so many buffers."""
    while True:
        yield from _stream(key[None], used, 1)[0].tolist()
        used += 1


def uniform_(
    out: torch.Tensor, words: torch.Tensor, basis: Basis, rest: Sequence[Iterator[int]]
) -> None:
    """Words (d, limbs, N) of streams -> residues, as SEAL's sample_poly_uniform.

    Into the last polynomials of out. Words that SEAL does not use are drawn again, from what
    follows in the stream (`rest`, for each of d). That happens once in 2^33 words.
    """
    rejected = torch.zeros(1, dtype=torch.int32, device=words.device)
    moduli = tables(basis, words.device).moduli
    arguments = out, rejected, words, moduli
    launch(seeding.uniform, words.shape, *arguments, on=words.device)
    if not int(rejected):
        return
    limits = [first_rejected(p) for p in basis.primes]
    least = torch.tensor([limit - (1 << 64) for limit in limits], device=words.device)
    for i, limb, at in ((words < 0) & (words >= least[:, None])).nonzero().tolist():
        word = next(rest[i]) % (1 << 64)
        while word >= limits[limb]:
            word = next(rest[i]) % (1 << 64)
        out[i, -1, limb, at] = word % basis.primes[limb]


def receive(
    first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis, device: torch.device
) -> torch.Tensor | None:
    """See `kernels.receive`; None if a residue is not below its prime."""
    table, packed = tables(basis, device), transferred(first, device)
    shape = (len(seeds), 2, len(basis), basis.ring_degree)
    out = torch.empty(shape, dtype=torch.int32, device=device)
    large = torch.zeros(1, dtype=torch.int32, device=device)
    arguments = out, large, packed, table.starts, table.widths, table.primes
    launch(products.unpack, (len(seeds), *shape[2:]), *arguments, on=device)
    if int(large):
        return None
    _expand_(out, torch.from_numpy(seeds.copy()).to(device), basis)
    return out


def encode(slots: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """See `kernels.encode`: by floats of torch, so its bits may differ from the native kernels'."""
    residues = slots_to_integers(slots, scale, basis)
    ntt_forward_(residues, basis)
    return residues


def decode(x: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """See `kernels.decode`; floats as in `encode`."""
    rows = x.clone()
    ntt_inverse_(rows, basis)
    return integers_to_slots(rows, scale, basis)
