"""Pairs on residues: J by its definition, conjugates by SEAL, the same bits from every kernel."""

from functools import cache

import numpy as np
import pytest

from securefair.ckks.backends import kernels, pairs, seal_keys, wire
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import EncryptionError

SPECS = {
    4096: CkksSpec(ring_degree=4096, limb_bits=(26, 25, 25), special_bits=29),
    8192: CkksSpec(ring_degree=8192, limb_bits=(30, 26, 26, 26), special_bits=31),
}


@cache
def context_of(degree):
    return seal_context(CkksParameters(SPECS[degree]))


@cache
def keys_of(degree):
    return seal_keys.generate(context_of(degree), galois=len(SPECS[degree].limb_bits))


def residues(basis, *shape, seed=0):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, p, (*shape, basis.ring_degree)) for p in basis.primes]
    return np.stack(rows, axis=-2).astype(np.int32)


def bases(degree):
    params = context_of(degree).params
    whole = Basis(degree, params.primes)
    return [whole.prefix(limbs) for limbs in range(len(whole), 0, -1)]


def j_of(basis):
    """X^(N/2), transformed."""
    plain = np.zeros((len(basis), basis.ring_degree), dtype=np.int32)
    plain[:, basis.ring_degree // 2] = 1
    kernels.ntt_forward_(plain, basis)
    return plain


@pytest.mark.parametrize("degree", SPECS)
def test_j_is_the_transform_of_its_polynomial(degree):
    for basis in bases(degree):
        assert np.array_equal(pairs._j(basis, None), j_of(basis))


@pytest.mark.parametrize("degree", SPECS)
def test_reading_backwards_is_conjugation(degree):
    """X -> 1/X: coefficient k goes to place N - k, and changes its sign."""
    basis = bases(degree)[0]
    x = residues(basis, 1)
    p = np.array(basis.primes)[:, None]
    turned = (p - x[..., :0:-1]) % p
    mirrored = np.concatenate([x[..., :1], turned], axis=-1).astype(np.int32)
    kernels.ntt_forward_(x, basis)
    kernels.ntt_forward_(mirrored, basis)
    assert np.array_equal(mirrored, x[..., ::-1])


@pytest.mark.parametrize("degree", SPECS)
@pytest.mark.parametrize("count", [1, 5])
def test_products_are_joined_by_j(all_kernels, degree, count):
    basis = bases(degree)[-1]
    first, second = np.split(residues(basis, 2 * count, 2), 2)
    plain = np.stack([j_of(basis)] * count)
    expected = kernels.subtract(first, kernels.multiply_plain(second, plain, basis), basis)
    assert np.array_equal(pairs.join(first, second, basis), expected)


@pytest.mark.parametrize("degree", SPECS)
@pytest.mark.parametrize("used", [1, 17, None])
def test_pairs_are_encoded_as_x_and_j_times_y(all_kernels, degree, used):
    """In coefficients, J moves y by N/2 and changes the sign of what goes round. Each is rounded
    once: sums of two rounded ones may differ by one."""
    basis, half, scale = bases(degree)[0], degree // 2, 2.0**40
    values = np.random.default_rng(0).uniform(-1, 1, (2, half + (used or half)))
    second = np.zeros((2, half))
    second[:, : values.shape[1] - half] = values[:, half:]
    found = kernels.encode(values, scale, basis)
    x, y = (
        kernels.encode(values[:, :half].copy(), scale, basis),
        kernels.encode(second, scale, basis),
    )
    for rows in (found, x, y):
        kernels.ntt_inverse_(rows, basis)
    p = np.array(basis.primes)[:, None]
    moved = np.concatenate([-y[..., half:].astype(np.int64), y[..., :half]], axis=-1)
    difference = (found - x.astype(np.int64) - moved + 1) % p
    assert difference.max() <= 2
    assert (difference[:, :1] == difference).all()


@pytest.mark.parametrize("degree", SPECS)
def test_conjugates_are_seals_bit_for_bit_at_every_level(all_kernels, degree):
    context = context_of(degree)
    _, public = keys_of(degree)
    whole = Basis(degree, (*context.params.primes, context.params.special_prime))
    first, seeds, _ = wire.split_switching_key(public.galois, context.params)
    key = kernels.receive(first, seeds, whole, None)
    galois = seal_keys.load_galois_key(context, public.galois, seal_keys.conjugation(context)).key
    for basis in bases(degree):
        x = residues(basis, 3, 2, seed=len(basis))
        found = pairs.add_conjugates(x, key, context.params.special_prime, basis)
        for i in range(len(x)):
            ciphertext = context.ciphertext(x[i].astype(np.uint64))
            context.evaluator.complex_conjugate_inplace(ciphertext, galois)
            conjugate = context.residues(ciphertext).astype(np.int64)
            primes = np.array(basis.primes)[:, None]
            assert ((conjugate + x[i]) % primes == found[i]).all()


def test_seal_finds_the_key_where_it_looks_for_it():
    context, (_, public) = context_of(4096), keys_of(4096)
    loaded = seal_keys.load_galois_key(context, public.galois, seal_keys.conjugation(context))
    assert loaded.context is context
    assert loaded.key.has_key(2 * 4096 - 1)
    assert loaded.key.size() == 1
    assert seal_keys.load_galois_key(context, b"", seal_keys.conjugation(context)) is None


def test_a_key_for_fewer_limbs_conjugates_what_has_no_more():
    whole = context_of(8192)
    _, public = seal_keys.generate(whole, galois=2)
    assert len(public.galois) == wire.switching_key_bytes(whole.params, 2)
    loaded = seal_keys.load_galois_key(whole, public.galois, seal_keys.conjugation(whole))
    assert loaded.context.params == whole.params.prefix(2)
    assert loaded.key.has_key(2 * 8192 - 1)
    first, seeds, limbs = wire.split_switching_key(public.galois, whole.params)
    basis = Basis(8192, (*whole.params.primes[:limbs], whole.params.special_prime))
    key = kernels.receive(first, seeds, basis, None)
    for few in (1, 2):
        x = residues(basis.prefix(few), 1, 2)
        found = pairs.add_conjugates(x, key, whole.params.special_prime, basis.prefix(few))
        ciphertext = loaded.context.ciphertext(x[0].astype(np.uint64))
        loaded.context.evaluator.complex_conjugate_inplace(ciphertext, loaded.key)
        conjugate = loaded.context.residues(ciphertext).astype(np.int64)
        assert ((conjugate + x[0]) % np.array(basis.primes[:few])[:, None] == found[0]).all()
    three = residues(Basis(8192, whole.params.primes[:3]), 1, 2)
    with pytest.raises(EncryptionError, match="key does not fit"):
        pairs.add_conjugates(
            three, key, whole.params.special_prime, Basis(8192, whole.params.primes[:3])
        )
