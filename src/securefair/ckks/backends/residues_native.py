"""The kernels of `kernels.py` on the native module: numpy arrays, checked there.

Every function allocates its result and hands buffers over; the native code releases the
interpreter lock and uses the threads of `kernels.set_threads`. What is only read may be read-only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import securefair.ckks.backends._native as _native
from securefair.ckks import memory
from securefair.ckks.backends import packing
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.kernel_checks import Patch

INTERFACE = 6
"""Of the module that these functions call: an older build beside newer sources is not used."""

if getattr(_native, "INTERFACE", 1) != INTERFACE:
    raise ImportError("they were built from other sources")

_Array = NDArray[Any]
_Map = tuple[NDArray[np.int64], _Array]  # weights and bias
_NumberedMap = tuple[NDArray[np.int64], Sequence[Patch], _Array]  # inputs, patches, bias
_PatchArguments = tuple[
    list[_Array], _Array, _Array, list[_Array], list[_Array], list[_Array], _Array
]


def _rows(x: _Array) -> _Array:
    return x.reshape(-1, x.shape[-1])


def _read(x: _Array, dtype: type[np.integer[Any]] | None = None) -> _Array:
    """The module takes only memory that it could write: what is read-only is copied."""
    return np.require(x, dtype, ["C", "W"])


def instruction_set() -> str:
    """The instruction set in use."""
    return str(_native.isa())


def threads() -> int:
    """Threads that a call may use."""
    return int(_native.threads())


def set_threads(count: int) -> None:
    """See `kernels.set_threads`."""
    _native.set_threads(count)


def ntt_forward_(x: _Array, basis: Basis) -> None:
    """See `kernels.ntt_forward_`."""
    _native.ntt_forward(_rows(x), basis.prime_list)


def ntt_inverse_(x: _Array, basis: Basis) -> None:
    """See `kernels.ntt_inverse_`."""
    _native.ntt_inverse(_rows(x), basis.prime_list)


def add(x: _Array, y: _Array, basis: Basis) -> _Array:
    """See `kernels.add`."""
    result = memory.empty(*x.shape)
    _native.add(_rows(result), _rows(_read(x)), _rows(_read(y)), basis.prime_list)
    return result


def add_(x: _Array, y: _Array, basis: Basis) -> None:
    """x + y into x."""
    _native.add(_rows(x), _rows(x), _rows(_read(y)), basis.prime_list)


def subtract(x: _Array, y: _Array, basis: Basis) -> _Array:
    """See `kernels.subtract`."""
    result = memory.empty(*x.shape)
    _native.subtract(_rows(result), _rows(_read(x)), _rows(_read(y)), basis.prime_list)
    return result


def add_to_first_(x: _Array, plain: _Array, basis: Basis) -> None:
    """See `kernels.add_to_first_`."""
    _native.add_to_first(x, _read(plain), basis.prime_list)


def multiply_plain(x: _Array, plain: _Array, basis: Basis) -> _Array:
    """See `kernels.multiply_plain`."""
    result = memory.empty(*x.shape)
    _native.multiply_plain(result, _read(x), _read(plain), basis.prime_list)
    return result


def linear(weights: NDArray[np.int64], x: _Array, bias: _Array | None, basis: Basis) -> _Array:
    """See `kernels.linear`."""
    result = memory.empty(len(weights), *x.shape[1:])
    offsets = None if bias is None else _read(bias)
    _native.linear(result, _read(weights, np.int32), _read(x), offsets, basis.prime_list)
    return result


def linear_patches(
    blocks: Sequence[_Array],
    rows: NDArray[np.int64],
    patches: Sequence[Patch],
    bias: _Array,
    basis: Basis,
) -> _Array:
    """See `kernels.linear_patches`."""
    result = memory.empty(len(bias), *blocks[0].shape[1:])
    arguments = _patch_arguments(blocks, rows, patches, bias)
    _native.linear_patches(result, *arguments, basis.prime_list)
    return result


def square_patches(
    blocks: Sequence[_Array],
    rows: NDArray[np.int64],
    patches: Sequence[Patch],
    bias: _Array,
    groups: NDArray[np.int64],
    basis: Basis,
) -> _Array:
    """See `kernels.square_patches`."""
    result = memory.empty(len(groups), 3, *blocks[0].shape[2:])
    arguments = _patch_arguments(blocks, rows, patches, bias)
    _native.square_patches(result, *arguments, _read(groups), basis.prime_list)
    return result


def _patch_arguments(
    blocks: Sequence[_Array],
    rows: NDArray[np.int64],
    patches: Sequence[Patch],
    bias: _Array,
) -> _PatchArguments:
    """In the order in which the native module takes them."""
    read = [_read(block) for block in blocks]
    return (read, _read(rows), *_patch_arrays(patches, len(rows)), _read(bias))


def _patch_arrays(
    patches: Sequence[Patch], inputs: int
) -> tuple[_Array, list[_Array], list[_Array], list[_Array]]:
    """Pairs; weights, the pairs that places read, and what they write, of every patch."""
    pairs, paired = _pairs([reads for _, reads, _ in patches], inputs)
    weights = [_read(w, np.int32) for w, _, _ in patches]
    return pairs, weights, paired, [_read(writes) for _, _, writes in patches]


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


def square(x: _Array, basis: Basis) -> _Array:
    """See `kernels.square`."""
    result = memory.empty(len(x), 3, *x.shape[2:])
    _native.square(result, _read(x), basis.prime_list)
    return result


def sum_products(
    x: _Array,
    y: _Array,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    basis: Basis,
) -> _Array:
    """See `kernels.sum_products`."""
    result = memory.empty(len(left), 3, *x.shape[2:])
    _native.sum_products(
        result,
        _read(x),
        _read(y),
        _read(left).reshape(-1),
        _read(right).reshape(-1),
        basis.prime_list,
    )
    return result


def rescale(x: _Array, limbs: int, basis: Basis) -> _Array:
    """See `kernels.rescale`."""
    result = memory.empty(*x.shape[:2], limbs, x.shape[3])
    _native.rescale(result, _read(x), basis.prime_list)
    return result


def rescaled_square_sums(x: _Array, groups: NDArray[np.int64], limbs: int, basis: Basis) -> _Array:
    """See `kernels.rescaled_square_sums`."""
    result = memory.empty(len(groups), 3, limbs, x.shape[3])
    _native.rescaled_square_sums(result, _read(x), _read(groups), basis.prime_list)
    return result


def relinearize(
    x: _Array, key: _Array, special: int, basis: Basis, limbs: int | None = None
) -> _Array:
    """See `kernels.relinearize`."""
    result = memory.empty(len(x), 2, limbs or len(basis), x.shape[3])
    _native.relinearize(result, _read(x), _read(key), [*basis.primes, special])
    return result


def coefficients(x: _Array, which: Sequence[int], basis: Basis) -> _Array:
    """See `kernels.coefficients`."""
    result = memory.empty(*x.shape[:-1], len(which))
    indices = np.array(which, dtype=np.int64)
    _native.coefficients(_rows(result), _rows(_read(x)), indices, basis.prime_list)
    return result


def expand_seeds(seeds: _Array, basis: Basis) -> _Array:
    """See `kernels.expand_seeds`."""
    result = memory.empty(len(seeds), len(basis), basis.ring_degree)
    _native.expand_seeds(result, _read(seeds), basis.prime_list)
    return result


def pack(residues: NDArray[np.uint32], primes: Sequence[int]) -> NDArray[np.uint8]:
    """See `packing.pack`."""
    count, _, n = residues.shape
    result = np.empty((count, packing.packed_bytes(primes, n)), dtype=np.uint8)
    _native.pack(result, _read(residues).view(np.int32), list(primes))
    return result


def receive(first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis) -> _Array | None:
    """See `kernels.receive`; None if a residue is not below its prime."""
    result = memory.empty(len(seeds), 2, len(basis), basis.ring_degree)
    below = _native.receive(result, first, seeds, basis.prime_list)
    return result if below else None


def message_below(first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis) -> bool:
    """Whether the first polynomials of a message are below their primes; it is only read."""
    n = basis.ring_degree
    return bool(_native.message_below_primes(first, seeds, n, basis.prime_list))


def arrived_maps(
    first: NDArray[np.uint8],
    seeds: NDArray[np.uint8],
    second: tuple[NDArray[np.int32], bool] | None,
    maps: Sequence[_Map],
    basis: Basis,
) -> _Array:
    """See `arrivals.Arrivals.apply`.

    Args:
        first, seeds: a message, its first polynomials packed.
        second: None, or second polynomials (d, limbs, N) and whether they are known already; if
            not they are written.
        maps: weights and bias of one map, or of two with a square between them.
        basis: primes of the limbs.
    """
    (weights, bias), *later = ((_read(w, np.int32), _read(b)) for w, b in maps)
    outer_weights, outer_bias = later[0] if later else (None, None)
    outputs = weights if outer_weights is None else outer_weights
    result = memory.empty(len(outputs), 3 if later else 2, len(basis), basis.ring_degree)
    polynomials, known = second or (None, False)
    _native.arrived_maps(
        result,
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


def patched_quadratic(
    messages: Sequence[tuple[NDArray[np.uint8], NDArray[np.uint8]]],
    bands: Sequence[tuple[_NumberedMap, NDArray[np.int64]]],
    outer: _NumberedMap,
    basis: Basis,
) -> _Array:
    """See `patched.linear_patches`.

    Args:
        messages: packed first polynomials and seeds.
        bands: maps of their ciphertexts, by number over all messages, and groups of outputs whose
            squares are added up.
        outer: a map of these sums, by number over all bands.
        basis: primes of the limbs.
    """

    def arguments(one: _NumberedMap) -> tuple[Any, ...]:
        numbers, patches, bias = one
        return (_read(numbers), *_patch_arrays(patches, len(numbers)), _read(bias))

    result = memory.empty(len(outer[2]), 3, len(basis), basis.ring_degree)
    _native.patched_quadratic(
        result,
        [first for first, _ in messages],
        [seeds for _, seeds in messages],
        [(arguments(one), _read(groups)) for one, groups in bands],
        arguments(outer),
        basis.prime_list,
    )
    return result


def paired_maps(
    first: NDArray[np.uint8],
    seeds: NDArray[np.uint8],
    second: tuple[NDArray[np.int32], bool] | None,
    maps: Sequence[_Map],
    key: _Array,
    special: int,
    basis: Basis,
) -> _Array:
    """See `arrivals.Arrivals.apply_paired`; otherwise as `arrived_maps`."""
    (weights, bias), (outer_weights, outer_bias) = ((_read(w, np.int32), _read(b)) for w, b in maps)
    shape = (len(basis), basis.ring_degree)
    result = memory.empty(len(outer_weights), 3, *shape)
    polynomials, known = second or (None, False)
    _native.paired_maps(
        result,
        memory.empty(outer_weights.shape[1], 2, *shape),
        first,
        seeds,
        polynomials,
        known,
        weights,
        bias,
        outer_weights,
        outer_bias,
        _read(key),
        [*basis.primes, special],
    )
    return result


def encode(slots: _Array, scale: float, basis: Basis) -> _Array:
    """See `kernels.encode`."""
    result = memory.empty(len(slots), len(basis), basis.ring_degree)
    _native.encode(result, _read(slots), scale, basis.prime_list)
    return result


def decode(x: _Array, scale: float, basis: Basis) -> _Array:
    """See `kernels.decode`."""
    result = np.empty((len(x), basis.ring_degree // 2))
    _native.decode(result, _read(x), scale, basis.prime_list)
    return result
