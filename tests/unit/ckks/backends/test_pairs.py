"""Pairs on residues: J by its definition, conjugates by SEAL, the same bits from every kernel."""

from functools import cache

import numpy as np
import pytest
import tenseal.sealapi as seal

from securefair.ckks.backends import kernel_choice, kernels, pairs, seal_keys
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.seal_bytes import Written
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import EncryptionError

SPECS = {
    4096: CkksSpec(ring_degree=4096, limb_bits=(26, 25, 25), special_bits=29),
    8192: CkksSpec(ring_degree=8192, limb_bits=(30, 26, 26, 26), special_bits=31),
}


@pytest.fixture(params=["native", "torch"])
def compute(request, monkeypatch):
    """All kernels by one implementation."""
    if request.param == "native" and not kernels.available():
        pytest.skip("the native module is not built")
    if request.param == "torch":
        monkeypatch.setattr(kernel_choice, "_native", None)
    return request.param


@cache
def context_of(degree):
    return seal_context(CkksParameters(SPECS[degree]))


@cache
def keys_of(degree):
    return seal_keys.generate(context_of(degree), relinearization=False, conjugation=True)


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
def test_products_are_joined_by_j(compute, degree, count):
    basis = bases(degree)[-1]
    first, second = np.split(residues(basis, 2 * count, 2), 2)
    plain = np.stack([j_of(basis)] * count)
    expected = kernels.subtract(first, kernels.multiply_plain(second, plain, basis), basis)
    assert np.array_equal(pairs.join(first, second, basis), expected)


@pytest.mark.parametrize("degree", SPECS)
def test_plaintexts_are_paired_by_j(compute, degree):
    basis = bases(degree)[0]
    encoded = residues(basis, 6)
    moved = kernels.multiply_plain(encoded[3:][:, None].copy(), np.stack([j_of(basis)] * 3), basis)
    expected = kernels.add(encoded[:3], moved[:, 0].copy(), basis)
    assert np.array_equal(pairs.pair(encoded, basis), expected)


@pytest.mark.parametrize("degree", SPECS)
def test_conjugates_are_seals_bit_for_bit_at_every_level(compute, degree):
    context = context_of(degree)
    _, public = keys_of(degree)
    whole = Basis(degree, (*context.params.primes, context.params.special_prime))
    first, seeds = seal_keys.seeded_conjugation_key(context, public.conjugation)
    key = kernels.receive(kernels.pack(first, whole.primes), seeds, whole, None)
    galois = seal_keys.load_conjugation_key(context, public.conjugation)
    for basis in bases(degree):
        x = residues(basis, 3, 2, seed=len(basis))
        found = pairs.add_conjugates(x, key, context.params.special_prime, basis)
        for i in range(len(x)):
            ciphertext = context.ciphertext(x[i].astype(np.uint64))
            context.evaluator.complex_conjugate_inplace(ciphertext, galois)
            conjugate = context.residues(ciphertext).astype(np.int64)
            primes = np.array(basis.primes)[:, None]
            assert ((conjugate + x[i]) % primes == found[i]).all()


def test_the_key_is_the_one_that_seal_made():
    """Read and written by us, SEAL has it where it looks for it."""
    context, (_, public) = context_of(4096), keys_of(4096)
    loaded = seal_keys.load_conjugation_key(context, public.conjugation)
    assert loaded.has_key(2 * 4096 - 1)
    assert loaded.size() == 1
    original = seal.GaloisKeys()
    original.load(context.seal, context.pipe.offer(Written(public.conjugation)))
    assert context.pipe.body(original) == context.pipe.body(loaded)


def test_a_key_for_squares_is_no_key_for_conjugates():
    context = context_of(4096)
    _, public = seal_keys.generate(context, relinearization=True, conjugation=True)
    with pytest.raises(EncryptionError, match=r"one switch alone|too large"):
        seal_keys.seeded_conjugation_key(context, public.relinearization)
    with pytest.raises(EncryptionError, match=r"one switch alone|too large"):
        seal_keys.seeded_relinearization_key(context, public.conjugation)
    assert seal_keys.seeded_conjugation_key(context, b"") is None
    assert seal_keys.load_conjugation_key(context, b"") is None
