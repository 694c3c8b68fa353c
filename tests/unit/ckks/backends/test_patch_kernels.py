"""The sparse matrix product: every instruction set and torch against 64-bit integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.ckks.backends import kernels, residues_fallback
from securefair.ckks.backends.basis import Basis
from securefair.ckks.primes import ntt_primes
from securefair.errors import EncryptionError
from support.examples import examples

N = 1024
BASIS = Basis(N, (*ntt_primes(N, 31, 2), *ntt_primes(N, 30, 1), *ntt_primes(N, 17, 1)))


def residues(rng, *lead, basis=BASIS):
    rows = [rng.integers(0, p, (*lead, basis.ring_degree)) for p in basis.primes]
    x = np.stack(rows, axis=-2)
    for limb, p in enumerate(basis.primes):
        x[..., limb, :3] = [0, 1, p - 1]
    return x.astype(np.int32)


def random_case(seed, *, counts=(3, 4), polys=2, shapes=((3, 5, 2), (9, 4, 1)), bits=12):
    """Blocks, rows that pick from them, patches (outputs, inputs, places) and a bias."""
    rng = np.random.default_rng(seed)
    blocks = [residues(rng, count, polys) for count in counts]
    rows = np.array([(b, r) for b, count in enumerate(counts) for r in range(count)])
    rng.shuffle(rows)
    outputs = rng.permutation(sum(o * places for o, _, places in shapes))
    patches, at = [], 0
    for o, k, places in shapes:
        weights = rng.integers(-(1 << bits), 1 << bits, (o, k), endpoint=True)
        reads = np.stack([rng.permutation(len(rows))[:k] for _ in range(places)])
        writes = outputs[at : at + o * places].reshape(places, o)
        at += o * places
        patches.append((weights, reads, writes))
    bias = np.stack([rng.integers(0, p, len(outputs)) for p in BASIS.primes], axis=1)
    return blocks, rows, patches, bias.astype(np.int32)


def reference(blocks, rows, patches, bias):
    """In 64-bit words: some hundred weights of 14 bits times residues of 31 fit them."""
    primes = np.array(BASIS.primes)[:, None]
    inputs = np.stack([blocks[b][r] for b, r in rows.tolist()]).astype(np.int64)
    result = np.zeros((len(bias), *inputs.shape[1:]), dtype=np.int64)
    for weights, reads, writes in patches:
        assert np.abs(weights).max() * len(weights[0]) < 2**32
        for place, targets in zip(reads, writes, strict=True):
            result[targets] = np.tensordot(weights, inputs[place], axes=1) % primes
    result[:, 0] = (result[:, 0] + bias[..., None]) % primes
    return result


CASES = {
    "two matrices": {},
    "odd widths": {"shapes": ((1, 7, 3), (8, 3, 2), (5, 1, 1))},
    "three polynomials": {"polys": 3, "shapes": ((17, 6, 1),)},
    "wide": {"counts": (150, 151), "shapes": ((3, 301, 1),)},
    "largest weights": {"counts": (40,), "shapes": ((2, 40, 2),), "bits": 14},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_patches_are_the_integer_product_at_every_place(compute, case):
    blocks, rows, patches, bias = random_case(3, **case)
    found = compute.linear_patches(blocks, rows, patches, bias, BASIS)
    assert (found == reference(blocks, rows, patches, bias)).all()


@pytest.mark.parametrize("weight", [kernels.MAX_WEIGHT, -kernels.MAX_WEIGHT])
def test_the_largest_sums_stay_exact(compute, weight):
    """Every residue p - 1 and every weight at its limit, beyond what 32-bit sums hold."""
    primes = np.array(BASIS.primes)[:, None]
    block = np.broadcast_to(primes - 1, (300, 2, len(BASIS), N)).astype(np.int32, order="C")
    rows = np.stack([np.zeros(300, dtype=np.int64), np.arange(300)], axis=1)
    patch = np.full((9, 300), weight), np.arange(300)[None], np.arange(9)[None]
    bias = np.zeros((9, len(BASIS)), dtype=np.int32)
    found = compute.linear_patches([block], rows, [patch], bias, BASIS)
    expected = (-300 * weight) % primes
    assert np.array_equal(found, np.broadcast_to(expected, found.shape))


@pytest.mark.parametrize("terms", [1, 3])
def test_squares_of_patches_are_summed_by_groups(compute, terms):
    blocks, rows, patches, bias = random_case(4)
    groups = np.random.default_rng(0).permutation(12).reshape(-1, terms)
    found = compute.square_patches(blocks, rows, patches, bias, groups, BASIS)
    primes = np.array(BASIS.primes)[:, None]
    a, b = reference(blocks, rows, patches, bias)[groups].swapaxes(0, 2)
    squares = np.stack([(p * q % primes).sum(axis=0) for p, q in ((a, a), (2 * a, b), (b, b))], 1)
    assert (found == squares % primes).all()


@given(
    seed=st.integers(0, 2**20),
    polys=st.integers(2, 3),
    shapes=st.lists(
        st.tuples(st.integers(1, 20), st.integers(1, 12), st.integers(1, 4)), min_size=1, max_size=3
    ),
)
@settings(max_examples=examples(25))
def test_native_and_torch_agree_bit_for_bit(seed, polys, shapes):
    if not kernels.available():
        pytest.skip("the native module is not built")
    blocks, rows, patches, bias = random_case(seed, counts=(5, 1, 7), polys=polys, shapes=shapes)
    native = kernels.linear_patches(blocks, rows, patches, BASIS, bias)
    assert np.array_equal(
        native, residues_fallback.linear_patches(blocks, rows, patches, bias, BASIS)
    )
    if polys == 2:
        groups = np.arange(len(bias) // 2 * 2).reshape(2, -1).T.copy()
        if len(groups):
            native = kernels.square_patches(blocks, rows, patches, BASIS, bias, groups)
            plain = residues_fallback.square_patches(blocks, rows, patches, bias, groups, BASIS)
            assert np.array_equal(native, plain)


def test_one_patch_at_one_place_is_the_dense_layer():
    rng = np.random.default_rng(1)
    x = residues(rng, 6, 2)
    weights = rng.integers(-500, 500, (11, 6))
    bias = rng.integers(0, 1 << 16, (11, len(BASIS))).astype(np.int32)
    rows = np.stack([np.zeros(6, dtype=np.int64), np.arange(6)], axis=1)
    patch = weights, np.arange(6)[None], np.arange(11)[None]
    found = kernels.linear_patches([x], rows, [patch], BASIS, bias)
    assert np.array_equal(found, kernels.linear(weights, x, BASIS, bias))


def _changed(**changes):
    blocks, rows, patches, bias = random_case(0, shapes=((2, 3, 2),))
    arguments = {"blocks": blocks, "rows": rows, "bias": bias}
    weights, reads, writes = patches[0]
    patch = {"weights": weights, "reads": reads, "writes": writes}
    for name, change in changes.items():
        (patch if name in patch else arguments)[name] = change(patch.get(name, arguments.get(name)))
    return {**arguments, "patches": [tuple(patch.values())]}


REFUSED = {
    "block": {"rows": lambda x: x + np.array([2, 0])},
    "row": {"rows": lambda x: x + np.array([0, 4])},
    "read": {"reads": lambda x: x + 7},
    "negative": {"reads": lambda x: x - 7},
    "write": {"writes": lambda x: x + 4},
    "twice": {"writes": lambda x: np.zeros_like(x)},
    "places": {"writes": lambda x: x[:1]},
    "weight": {"weights": lambda x: x * 0 + kernels.MAX_WEIGHT + 1},
    "bias": {"bias": lambda x: x[:, :2].copy()},
    "kind": {"blocks": lambda x: [x[0], x[1][:, :1].copy()]},
}


def test_squares_take_two_polynomials_and_groups_that_exist():
    blocks, rows, patches, bias = random_case(0, polys=3)
    with pytest.raises(EncryptionError, match="does not fit"):
        kernels.square_patches(blocks, rows, patches, BASIS, bias, np.zeros((1, 1), dtype=int))
    blocks, rows, patches, bias = random_case(0)
    for groups in (np.zeros((0, 2), dtype=int), np.array([[len(bias)]])):
        with pytest.raises(EncryptionError):
            kernels.square_patches(blocks, rows, patches, BASIS, bias, groups)


@pytest.mark.parametrize("changes", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(changes):
    with pytest.raises(EncryptionError):
        kernels.linear_patches(basis=BASIS, **_changed(**changes))
