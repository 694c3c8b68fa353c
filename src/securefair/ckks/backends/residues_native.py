"""The kernels of `kernels.py` on the native module: CPU tensors, checked there.

Every function allocates its result and hands buffers over; the native code releases the
interpreter lock and uses the threads of `kernels.set_threads`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import securefair.ckks.backends._native as _native
from securefair.ckks.backends import packing
from securefair.ckks.backends.basis import Basis

INTERFACE = 3
"""Of the module that these functions call: an older build beside newer sources is not used."""

if getattr(_native, "INTERFACE", 1) != INTERFACE:
    raise ImportError("they were built from other sources")

Patch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Weights, reads and writes."""

_Array = NDArray[Any]
_PatchArguments = tuple[
    list[_Array], _Array, _Array, list[_Array], list[_Array], list[_Array], _Array
]


def _rows(x: torch.Tensor) -> NDArray[Any]:
    rows: NDArray[Any] = x.view(-1, x.shape[-1]).numpy()
    return rows


def instruction_set() -> str:
    """The instruction set in use."""
    return str(_native.isa())


def threads() -> int:
    """Threads that a call may use."""
    return int(_native.threads())


def set_threads(count: int) -> None:
    """See `kernels.set_threads`."""
    _native.set_threads(count)


def _new(*shape: int) -> torch.Tensor:
    # numpy asks the system for huge pages; with small ones their faults cost more than the kernels.
    return torch.from_numpy(np.empty(shape, dtype=np.int32))


def ntt_forward_(x: torch.Tensor, basis: Basis) -> None:
    """See `kernels.ntt_forward_`."""
    _native.ntt_forward(_rows(x), basis.prime_list)


def ntt_inverse_(x: torch.Tensor, basis: Basis) -> None:
    """See `kernels.ntt_inverse_`."""
    _native.ntt_inverse(_rows(x), basis.prime_list)


def all_below(x: torch.Tensor, basis: Basis) -> bool:
    """See `kernels.all_below`."""
    return bool(_native.below_primes(_rows(x), basis.prime_list))


def add(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.add`."""
    result = _new(*x.shape)
    _native.add(_rows(result), _rows(x), _rows(y), basis.prime_list)
    return result


def add_(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> None:
    """x + y into x."""
    _native.add(_rows(x), _rows(x), _rows(y), basis.prime_list)


def subtract(x: torch.Tensor, y: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.subtract`."""
    result = _new(*x.shape)
    _native.subtract(_rows(result), _rows(x), _rows(y), basis.prime_list)
    return result


def add_to_first_(x: torch.Tensor, plain: torch.Tensor, basis: Basis) -> None:
    """See `kernels.add_to_first_`."""
    _native.add_to_first(x.numpy(), plain.numpy(), basis.prime_list)


def multiply_plain(x: torch.Tensor, plain: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.multiply_plain`."""
    result = _new(*x.shape)
    _native.multiply_plain(result.numpy(), x.numpy(), plain.numpy(), basis.prime_list)
    return result


def linear(
    weights: torch.Tensor, x: torch.Tensor, bias: torch.Tensor | None, basis: Basis
) -> torch.Tensor:
    """See `kernels.linear`."""
    result = _new(len(weights), *x.shape[1:])
    small = np.ascontiguousarray(weights.numpy(), dtype=np.int32)
    offsets = None if bias is None else bias.numpy()
    _native.linear(result.numpy(), small, x.numpy(), offsets, basis.prime_list)
    return result


def linear_patches(
    blocks: Sequence[torch.Tensor],
    rows: torch.Tensor,
    patches: Sequence[Patch],
    bias: torch.Tensor,
    basis: Basis,
) -> torch.Tensor:
    """See `kernels.linear_patches`."""
    result = _new(len(bias), *blocks[0].shape[1:])
    arguments = _patch_arguments(blocks, rows, patches, bias)
    _native.linear_patches(result.numpy(), *arguments, basis.prime_list)
    return result


def square_patches(
    blocks: Sequence[torch.Tensor],
    rows: torch.Tensor,
    patches: Sequence[Patch],
    bias: torch.Tensor,
    groups: torch.Tensor,
    basis: Basis,
) -> torch.Tensor:
    """See `kernels.square_patches`."""
    result = _new(len(groups), 3, *blocks[0].shape[2:])
    arguments = _patch_arguments(blocks, rows, patches, bias)
    table = np.ascontiguousarray(groups.numpy())
    _native.square_patches(result.numpy(), *arguments, table, basis.prime_list)
    return result


def _patch_arguments(
    blocks: Sequence[torch.Tensor],
    rows: torch.Tensor,
    patches: Sequence[Patch],
    bias: torch.Tensor,
) -> _PatchArguments:
    """In the order in which the native module takes them."""
    pairs, paired = _pairs([reads.numpy() for _, reads, _ in patches], len(rows))
    return (
        [block.numpy() for block in blocks],
        np.ascontiguousarray(rows.numpy()),
        pairs,
        [np.ascontiguousarray(weights.numpy(), dtype=np.int32) for weights, _, _ in patches],
        paired,
        [np.ascontiguousarray(writes.numpy()) for _, _, writes in patches],
        bias.numpy(),
    )


def _pairs(
    reads: Sequence[NDArray[np.int64]], inputs: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """The distinct pairs of neighbouring inputs that all places read, (pairs, 2) with -1 for none,
    and for each patch which pairs its places read, (places, ceil(k / 2)).

    The kernel works on pairs; it prepares each of them once, however many places share it.
    """
    codes = []
    for index in reads:
        even = np.pad(index, ((0, 0), (0, index.shape[1] % 2)), constant_values=-1)
        codes.append(even[:, ::2] * (inputs + 1) + even[:, 1::2] + 1)
    distinct, where = np.unique(np.concatenate([c.ravel() for c in codes]), return_inverse=True)
    pairs = np.stack([distinct // (inputs + 1), distinct % (inputs + 1) - 1], axis=1)
    bounds = np.cumsum([c.size for c in codes])[:-1]
    split = np.split(where.astype(np.int64).ravel(), bounds)
    return pairs, [
        np.ascontiguousarray(part.reshape(c.shape)) for part, c in zip(split, codes, strict=True)
    ]


def square(x: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.square`."""
    result = _new(len(x), 3, *x.shape[2:])
    _native.square(result.numpy(), x.numpy(), basis.prime_list)
    return result


def sum_products(
    x: torch.Tensor,
    y: torch.Tensor,
    left: torch.Tensor,
    right: torch.Tensor,
    basis: Basis,
) -> torch.Tensor:
    """See `kernels.sum_products`."""
    result = _new(len(left), 3, *x.shape[2:])
    _native.sum_products(
        result.numpy(),
        x.numpy(),
        y.numpy(),
        left.reshape(-1).numpy(),
        right.reshape(-1).numpy(),
        basis.prime_list,
    )
    return result


def rescale(x: torch.Tensor, limbs: int, basis: Basis) -> torch.Tensor:
    """See `kernels.rescale`."""
    result = _new(*x.shape[:2], limbs, x.shape[3])
    _native.rescale(result.numpy(), x.numpy(), basis.prime_list)
    return result


def relinearize(x: torch.Tensor, key: torch.Tensor, special: int, basis: Basis) -> torch.Tensor:
    """See `kernels.relinearize`."""
    result = _new(len(x), 2, *x.shape[2:])
    _native.relinearize(result.numpy(), x.numpy(), key.numpy(), [*basis.primes, special])
    return result


def coefficients(x: torch.Tensor, which: Sequence[int], basis: Basis) -> torch.Tensor:
    """See `kernels.coefficients`."""
    result = _new(*x.shape[:-1], len(which))
    indices = np.array(which, dtype=np.int64)
    _native.coefficients(_rows(result), _rows(x), indices, basis.prime_list)
    return result


def expand_seeds(seeds: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.expand_seeds`."""
    result = _new(len(seeds), len(basis), basis.ring_degree)
    _native.expand_seeds(result.numpy(), seeds.numpy(), basis.prime_list)
    return result


def pack(residues: NDArray[np.uint32], primes: Sequence[int]) -> NDArray[np.uint8]:
    """See `packing.pack`."""
    count, _, n = residues.shape
    result = np.empty((count, packing.packed_bytes(primes, n)), dtype=np.uint8)
    _native.pack(result, residues.view(np.int32), list(primes))
    return result


def receive(
    first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis, device: torch.device
) -> torch.Tensor | None:
    """See `kernels.receive`; None if a residue is not below its prime."""
    del device  # the CPU: nothing else comes here
    result = _new(len(seeds), 2, len(basis), basis.ring_degree)
    below = _native.receive(result.numpy(), first, seeds, basis.prime_list)
    return result if below else None


def message_below(first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis) -> bool:
    """Whether the first polynomials of a message are below their primes; it is only read."""
    n = basis.ring_degree
    return bool(_native.message_below_primes(first, seeds, n, basis.prime_list))


def arrived_maps(
    first: NDArray[np.uint8],
    seeds: NDArray[np.uint8],
    second: tuple[NDArray[np.int32], bool] | None,
    maps: Sequence[tuple[torch.Tensor, torch.Tensor]],
    basis: Basis,
) -> torch.Tensor:
    """See `arrivals.Arrivals.apply`.

    Args:
        first, seeds: a message, its first polynomials packed.
        second: None, or second polynomials (d, limbs, N) and whether they are known already; if
            not they are written.
        maps: weights and bias of one map, or of two with a square between them.
        basis: primes of the limbs.
    """
    (weights, bias), *later = (
        (np.ascontiguousarray(w.numpy(), dtype=np.int32), b.numpy()) for w, b in maps
    )
    outer_weights, outer_bias = later[0] if later else (None, None)
    outputs = weights if outer_weights is None else outer_weights
    result = _new(len(outputs), 3 if later else 2, len(basis), basis.ring_degree)
    polynomials, known = second or (None, False)
    _native.arrived_maps(
        result.numpy(),
        first,
        seeds,
        polynomials,
        known,
        weights,
        bias,
        outer_weights,
        outer_bias,
        basis.prime_list,
    )
    return result


def paired_maps(
    first: NDArray[np.uint8],
    seeds: NDArray[np.uint8],
    second: tuple[NDArray[np.int32], bool] | None,
    maps: Sequence[tuple[torch.Tensor, torch.Tensor]],
    key: torch.Tensor,
    special: int,
    basis: Basis,
) -> torch.Tensor:
    """See `arrivals.Arrivals.apply_paired`; otherwise as `arrived_maps`."""
    (weights, bias), (outer_weights, outer_bias) = (
        (np.ascontiguousarray(w.numpy(), dtype=np.int32), b.numpy()) for w, b in maps
    )
    shape = len(basis), basis.ring_degree
    result = _new(len(outer_weights), 3, *shape)
    polynomials, known = second or (None, False)
    _native.paired_maps(
        result.numpy(),
        _new(outer_weights.shape[1], 2, *shape).numpy(),
        first,
        seeds,
        polynomials,
        known,
        weights,
        bias,
        outer_weights,
        outer_bias,
        key.numpy(),
        [*basis.primes, special],
    )
    return result


def encode(slots: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """See `kernels.encode`."""
    result = _new(len(slots), len(basis), basis.ring_degree)
    _native.encode(result.numpy(), slots.numpy(), scale, basis.prime_list)
    return result


def decode(x: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """See `kernels.decode`."""
    result = torch.from_numpy(np.empty((len(x), basis.ring_degree // 2)))
    _native.decode(result.numpy(), x.numpy(), scale, basis.prime_list)
    return result
