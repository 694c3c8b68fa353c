"""The first two maps of a network from the message on: the same bits as kernels one by one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from securefair.ckks.backends import kernels, packing
from securefair.ckks.backends.arrivals import Room, arrive
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.patched import PatchMap, Squares, linear_patches, whole
from securefair.ckks.primes import ntt_primes

N = 1024
BASIS = Basis(N, (*ntt_primes(N, 31, 2), *ntt_primes(N, 30, 1), *ntt_primes(N, 17, 1)))
COUNTS = (3, 1, 4)  # ciphertexts of each message

pytestmark = pytest.mark.skipif(not kernels.available(), reason="no native kernels are built")


def messages(basis=BASIS, seed=0):
    rng = np.random.default_rng(seed)
    for count in COUNTS:
        rows = [rng.integers(0, p, (count, N), dtype=np.uint32) for p in basis.primes]
        first = np.stack(rows, axis=1)
        yield packing.pack(first, basis.primes), rng.integers(0, 256, (count, 64), np.uint8)


def blocks_of(basis=BASIS):
    return [arrive(first, seeds, basis, None, Room()) for first, seeds in messages(basis)]


def a_map(rows, shapes, seed, basis=BASIS, largest=4000):
    """Patches (outputs, inputs, places) that read any rows and write every output once."""
    rng = np.random.default_rng(seed)
    outputs = rng.permutation(sum(o * places for o, _, places in shapes))
    patches, at = [], 0
    for o, k, places in shapes:
        weights = rng.integers(-largest, largest, (o, k), endpoint=True)
        reads = np.stack([rng.permutation(len(rows))[:k] for _ in range(places)])
        patches.append((weights, reads, outputs[at : at + o * places].reshape(places, o)))
        at += o * places
    bias = np.stack([rng.integers(0, p, len(outputs)) for p in basis.primes], axis=1)
    return PatchMap(rows, patches, bias.astype(np.int32))


def all_rows(counts):
    return np.array([(b, r) for b, count in enumerate(counts) for r in range(count)])


BANDS = {
    "one band of all": [((0, 1, 2), ((5, 7, 1), (2, 3, 2)), 3)],
    "bands that share messages": [((0, 2), ((3, 6, 2),), 1), ((2, 1), ((4, 2, 2), (1, 5, 4)), 4)],
}


def squares_of(blocks, bands, basis=BASIS):
    made = []
    for number, (chosen, shapes, terms) in enumerate(bands):
        read = [blocks[i] for i in chosen]
        rows = np.random.default_rng(number).permutation(all_rows([len(b) for b in read]))
        inner = a_map(rows, shapes, number, basis)
        groups = np.random.default_rng(number + 9).permutation(len(inner.bias)).reshape(-1, terms)
        made.append(Squares(read, inner, groups, basis))
    return made


def outer_of(squares, basis=BASIS, *, rows=None):
    rows = all_rows([len(one) for one in squares])[::-1].copy() if rows is None else rows
    return a_map(rows, ((9, len(rows), 1), (1, 2, 3)), 5, basis)


@cache  # all instruction sets compute the same bits: tests of the kernels show it
def one_by_one(name):
    made = squares_of(blocks_of(), BANDS[name])
    outer = outer_of(made)
    each = [one.expanded() for one in made]
    return kernels.linear_patches(each, outer.rows, outer.patches, BASIS, outer.bias)


@pytest.mark.parametrize("name", BANDS)
def test_maps_are_those_of_the_kernels_one_after_the_other(isa, name):
    made = squares_of(blocks_of(), BANDS[name])
    outer = outer_of(made)
    assert np.array_equal(linear_patches(made, outer, BASIS), one_by_one(name))
    assert all(one.used and one._whole is None for one in made)  # nothing was made as a whole
    assert np.array_equal(linear_patches(made, outer, BASIS), one_by_one(name))  # again: it is
    assert all(one._whole is not None for one in made)


def test_who_reads_some_of_the_squares_gets_them_made():
    made = squares_of(blocks_of(), BANDS["bands that share messages"])
    rows = all_rows([len(one) for one in made])[1:]
    outer = outer_of(made, rows=rows)
    found = linear_patches(made, outer, BASIS)
    each = [whole(one) for one in made]
    assert not any(one.used for one in made)
    expected = kernels.linear_patches(each, outer.rows, outer.patches, BASIS, outer.bias)
    assert np.array_equal(found, expected)


def test_squares_are_those_of_the_kernel_and_made_once():
    (one,) = squares_of(blocks_of(), BANDS["one band of all"])
    m, blocks = one.square_map, [kernels.receive(*part, BASIS, None) for part in messages()]
    expected = kernels.square_patches(blocks, m.rows, m.patches, BASIS, m.bias, one.groups)
    assert len(one) == len(expected)
    assert np.array_equal(one.expanded(), expected)
    assert one.expanded() is one.expanded()
    assert not one.blocks  # let go


def test_words_that_seal_draws_again(isa):
    """The seed is that of test_arrivals: one of its words of the third prime is rejected."""
    seed = (2503660).to_bytes(64, "little")
    primes = tuple(ntt_primes(N, 31, 3)[i] for i in (0, 2, 1))
    basis = Basis(N, primes)
    rng = np.random.default_rng(0)
    first = np.stack([rng.integers(0, p, (2, N), dtype=np.uint32) for p in primes], axis=1)
    seeds = np.stack([rng.integers(0, 256, 64, np.uint8), np.frombuffer(seed, np.uint8)])

    def squares():
        block = arrive(packing.pack(first, primes), seeds, basis, None, Room())
        inner = a_map(all_rows([2]), ((3, 2, 1),), 1, basis)
        return [Squares([block], inner, np.array([[0, 1, 2]]), basis)]

    made, apart = squares(), squares()
    outer = a_map(all_rows([1]), ((2, 1, 1),), 2, basis)
    each = [one.expanded() for one in apart]
    expected = kernels.linear_patches(each, outer.rows, outer.patches, basis, outer.bias)
    assert np.array_equal(linear_patches(made, outer, basis), expected)
