import math
import os

import _sealapi_cpp as seal
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from securefair.ckks import noise, rules
from securefair.ckks.backends import get_backend, kernels, packing, seal_bytes, seal_keys, wire
from securefair.ckks.backends import seal_context as seal_context_module
from securefair.ckks.backends.public_zeros import PublicZeros
from securefair.ckks.backends.seal_bytes import SEED_BYTES, own_pipe
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.encoding import to_coefficients, to_slots
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import EncryptionError

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(31, 31), special_bits=31))
OTHER = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30), special_bits=31))
CONTEXT = seal_context(PARAMS)


@pytest.fixture(scope="module")
def keys():
    return seal_keys.generate(CONTEXT, relinearization=CONTEXT.params.limbs)


def signed(residues, limbs):
    meta = rules.fresh(PARAMS, count=1, limbs=limbs, log2_scale=10, bound=1.0)
    return seal_keys.centred(residues, meta)


@pytest.mark.parametrize("limbs", [1, 2])
def test_residues_become_the_signed_integers_they_stand_for(limbs):
    primes = np.array(PARAMS.primes[:limbs], dtype=np.uint64)
    half = int(np.prod(primes.astype(object))) // 2
    values = [0, 1, -1, half, -half, 12345678, -87654321]
    residues = np.array([[v % int(p) for v in values] for p in primes], dtype=np.uint64)
    assert signed(residues, limbs).tolist() == [float(v) for v in values]


def test_three_limbs_need_no_64_bit_luck():
    params = CkksParameters(CkksSpec(ring_degree=8192, limb_bits=(31,) * 4, special_bits=31))
    meta = rules.fresh(params, count=1, limbs=4, log2_scale=10, bound=1.0)
    values = [2**120, -(2**120), 2**62 + 1, -(2**90) - 1]
    residues = np.array([[v % p for v in values] for p in params.primes], dtype=np.uint64)
    assert seal_keys.centred(residues, meta).tolist() == [float(v) for v in values]


@given(limbs=st.integers(1, 7), bits=st.integers(0, 216), data=st.data())
def test_integers_of_any_size_are_accurate_to_float_rounding(limbs, bits, data):
    params = CkksParameters(CkksSpec(ring_degree=16384, limb_bits=(31,) * 7, special_bits=31))
    meta = rules.fresh(params, count=1, limbs=limbs, log2_scale=10, bound=1.0)
    half = min(math.prod(params.primes[:limbs]) // 2, 1 << bits)
    values = data.draw(st.lists(st.integers(-half, half), min_size=1, max_size=5))
    residues = [[v % p for v in values] for p in params.primes[:limbs]]
    found = seal_keys.centred(np.array(residues, dtype=np.uint64), meta)
    assert found.tolist() == pytest.approx([float(v) for v in values], rel=2.0**-51, abs=0)


def test_fresh_keys_differ_in_secret_b_and_seed(keys):
    _, first = keys
    _, second = seal_keys.generate(CONTEXT)
    assert second.relinearization == b""
    b, seed = wire.read_public_key(first.encryption, PARAMS)
    other_b, other_seed = wire.read_public_key(second.encryption, PARAMS)
    assert seed != other_seed
    assert (b != other_b).mean() > 0.99


@pytest.mark.parametrize("limbs", [1, 2])
@pytest.mark.parametrize("polys", [2, 3])
def test_masks_of_zero_decrypt_to_as_little_as_the_rules_say(keys, limbs, polys):
    secret, public = keys
    zeros = PublicZeros(PARAMS, public.encryption)
    meta = replace(rules.fresh(PARAMS, count=4, limbs=limbs, log2_scale=10, bound=1.0), polys=polys)
    masks = np.zeros(meta.residue_shape, dtype=np.uint64)
    primes = np.array(PARAMS.primes[:limbs], dtype=np.uint64)[:, None]
    for shift in range(polys - 1):
        masks[:, shift : shift + 2] += zeros.take(limbs, 4)
        masks %= primes
    messages = CONTEXT.from_ntt(seal_keys.decrypt_residues(CONTEXT, secret, masks))
    errors = np.array([signed(row, limbs) for row in messages])
    stated = noise.zero_noise(meta)
    # 4 x 4096 coefficients: their deviation is known to 1 %. Stated is that of the worst slot,
    # by a factor of TAIL_OF_S or TAIL_OF_S2 above.
    assert stated / (1.1 * noise.TAIL_OF_S2) <= errors.std() <= stated / 2
    assert np.abs(to_slots(errors)).max() <= rules.TAIL * stated * math.sqrt(4096)


@pytest.mark.parametrize("change", [-1, 1, 64, -64, -(10**6)])
def test_public_keys_of_another_length_are_refused(keys, change):
    data = keys[1].encryption
    with pytest.raises(EncryptionError, match="wrong length"):
        PublicZeros(PARAMS, data[:change] if change < 0 else data + bytes(change))


def test_public_keys_with_residues_at_their_prime_are_refused(keys):
    words = np.frombuffer(keys[1].encryption[:-SEED_BYTES], dtype="<u4").copy()
    for limb, prime in enumerate((*PARAMS.primes, PARAMS.special_prime)):
        tampered = words.copy()
        tampered[limb * 4096 + 7] = prime
        with pytest.raises(EncryptionError, match="not below its prime"):
            PublicZeros(PARAMS, tampered.tobytes() + bytes(SEED_BYTES))


def test_switching_keys_of_other_parameters_are_refused(keys):
    _, other = seal_keys.generate(seal_context(OTHER), relinearization=OTHER.limbs)
    with pytest.raises(EncryptionError, match="wrong length"):
        seal_keys.load_relinearization_key(CONTEXT, other.relinearization)
    assert seal_keys.load_relinearization_key(CONTEXT, b"") is None


def expanded(data, context):
    """(digits, 2, limbs with the special prime, N) by our kernels."""
    first, seeds, limbs = wire.split_switching_key(data, context.params)
    primes = (*context.params.primes[:limbs], context.params.special_prime)
    return kernels.receive(first, seeds, kernels.Basis(context.params.ring_degree, primes), None)


@pytest.mark.parametrize("limbs", [1, 2])
def test_a_key_expands_to_what_seal_makes_of_it(limbs, read_relinearization_key):
    _, public = seal_keys.generate(CONTEXT, relinearization=limbs)
    assert len(public.relinearization) == wire.switching_key_bytes(PARAMS, limbs)
    loaded = seal_keys.load_relinearization_key(CONTEXT, public.relinearization)
    assert loaded.context.params == PARAMS.prefix(limbs)
    body = own_pipe().body(loaded.key)
    assert (expanded(public.relinearization, CONTEXT) == read_relinearization_key(body)).all()


@pytest.mark.parametrize("limbs", [1, 2])
def test_a_key_switches_squares_of_no_more_limbs_than_it_is_for(limbs):
    """What it makes of a third polynomial opens to the same but for the error of a switch."""
    secret, public = seal_keys.generate(CONTEXT, relinearization=limbs)
    key = expanded(public.relinearization, CONTEXT)
    product = np.zeros((1, 3, limbs, 4096), dtype=np.int32)
    primes = np.array(PARAMS.primes[:limbs])[:, None]
    product[0, 2] = np.random.default_rng(0).integers(0, primes, (limbs, 4096))
    basis = kernels.Basis(4096, PARAMS.primes[:limbs])
    switched = kernels.relinearize(product, key, PARAMS.special_prime, basis)
    three, two = (
        CONTEXT.from_ntt(seal_keys.decrypt_residues(CONTEXT, secret, x.astype(np.uint64)))[0]
        for x in (product, switched)
    )
    meta = rules.fresh(PARAMS, count=1, limbs=limbs, log2_scale=10, bound=1.0)
    difference = (two.astype(np.int64) - three.astype(np.int64)) % primes
    error = signed(difference.astype(np.uint64), limbs)
    assert 0 < np.abs(error).max() <= rules.TAIL * noise.switching_noise(meta) * 2
    if limbs < PARAMS.limbs:
        whole = np.zeros((1, 3, PARAMS.limbs, 4096), dtype=np.int32)
        every = kernels.Basis(4096, PARAMS.primes)
        with pytest.raises(EncryptionError, match="key does not fit"):
            kernels.relinearize(whole, key, PARAMS.special_prime, every)


@pytest.mark.parametrize("backend", ["rns", "seal"])
def test_switching_keys_with_residues_at_their_prime_are_refused(keys, backend):
    first, seeds = wire.read_switching_key(keys[1].relinearization, PARAMS)
    first[-1, -1, -1] = PARAMS.special_prime
    primes = (*PARAMS.primes, PARAMS.special_prime)
    data = wire.join_upload(packing.pack(first, primes), seeds)
    with pytest.raises(EncryptionError, match="not below its prime"):
        get_backend(backend).evaluator(PARAMS, PublicKeys(keys[1].encryption, data))


@pytest.mark.parametrize("backend", ["rns", "seal"])
@pytest.mark.parametrize("change", [-1, 1, 64, -(10**4)])
def test_switching_keys_of_another_length_are_refused(keys, backend, change):
    data = keys[1].relinearization
    data = data[:change] if change < 0 else data + bytes(change)
    with pytest.raises(EncryptionError, match="wrong length"):
        get_backend(backend).evaluator(PARAMS, PublicKeys(keys[1].encryption, data))


def test_an_opened_answer_is_decryption_coefficient_by_coefficient(keys):
    secret, _ = keys
    meta = rules.fresh(PARAMS, count=2, limbs=2, log2_scale=40, bound=1.0)
    slots = np.random.default_rng(0).uniform(-1, 1, (2, 2048))
    upload = seal_keys.SealEncryptor(CONTEXT, secret).encrypt(slots, meta)
    first, seeds = wire.read_upload(upload, meta)
    whole = np.stack(
        [
            CONTEXT.residues(CONTEXT.ciphertext(row[None].astype(np.uint64), seed=seed))
            for row, seed in zip(first, seeds, strict=True)
        ]
    )
    decryptor = seal_keys.SealDecryptor(CONTEXT, secret)
    opened = decryptor.open(Released(meta, None, whole.astype("<u4").tobytes()))
    np.testing.assert_allclose(opened, slots, atol=rules.slot_error(meta))

    chosen = np.array([0, 5, 4095])
    kept = CONTEXT.from_ntt(whole[:, 0])[:, :, chosen].swapaxes(1, 2)
    data = wire.write_answer(whole[:, 1:].astype(np.uint32), kept.astype(np.uint32))
    opened = decryptor.open(Released(meta, chosen, data))
    expected = to_coefficients(slots, 4096)[:, chosen]
    np.testing.assert_allclose(opened, expected, atol=rules.coefficient_error(meta))


def test_a_secret_key_comes_back_and_opens_what_it_opened(keys):
    secret, _ = keys
    data = seal_keys.export_secret_key(CONTEXT, secret)
    again = seal_keys.import_secret_key(CONTEXT, data)
    assert seal_keys.export_secret_key(CONTEXT, again) == data
    meta = rules.fresh(PARAMS, count=1, limbs=2, log2_scale=40, bound=1.0)
    slots = np.random.default_rng(0).uniform(-1, 1, (1, 2048))
    upload = seal_keys.SealEncryptor(CONTEXT, secret).encrypt(slots, meta)
    first, seeds = wire.read_upload(upload, meta)
    whole = CONTEXT.residues(CONTEXT.ciphertext(first.astype(np.uint64), seed=seeds[0]))[None]
    plain = seal_keys.decrypt_residues(CONTEXT, again, whole)
    assert (plain == seal_keys.decrypt_residues(CONTEXT, secret, whole)).all()


@pytest.mark.parametrize(("relinearization", "galois"), [(1, 1), (1, 2), (0, 1)])
def test_no_secret_stays_in_the_files_it_passed(relinearization, galois, monkeypatch):
    """SEAL reads and writes files, in memory; what a key leaves there any reader of ours finds."""
    loads, plain = [], seal_context_module.SealContext.load

    def counted(context, target, written):
        loads.append(context)
        plain(context, target, written)
        assert os.stat(own_pipe().path).st_size == 0

    monkeypatch.setattr(seal_context_module.SealContext, "load", counted)
    secret, _ = seal_keys.generate(CONTEXT, relinearization=relinearization, galois=galois)
    short = seal_keys.shortened(CONTEXT, 1)
    assert loads == [short]  # shortened once, however many keys need it
    sizes = {os.stat(own_pipe().path).st_size}
    data = seal_keys.export_secret_key(CONTEXT, secret)
    seal_keys.import_secret_key(CONTEXT, data)
    sizes.add(os.stat(own_pipe().path).st_size)
    assert sizes == {0}


def test_what_seal_refuses_does_not_stay_either():
    other = seal_context(OTHER)
    zeros = np.zeros((3, 4096), dtype=np.uint64)
    key = seal_bytes.write_plaintext(zeros, bytes(32), CONTEXT.key_primes)
    with pytest.raises(EncryptionError, match="SEAL refuses"):
        other.load(seal.SecretKey(), key)
    assert os.stat(own_pipe().path).st_size == 0


@pytest.mark.parametrize("backend", ["rns", "seal"])
@pytest.mark.parametrize("packing", ["slots", "feature pairs", "coefficients"])
def test_more_values_than_a_packing_holds_are_refused(backend, packing):
    meta = rules.fresh(PARAMS, count=1, limbs=2, log2_scale=20, bound=1.0, packing=packing)
    assert meta.width == (2048 if packing == "slots" else 4096)
    encryptor = get_backend(backend).generate_keys(PARAMS).encryptor
    assert encryptor.encrypt(np.zeros((1, meta.width)), meta)
    with pytest.raises(EncryptionError, match="too many values") as refused:
        encryptor.encrypt(np.zeros((1, meta.width + 1)), meta)
    assert f"at most {meta.width} packed in {packing}" in str(refused.value)


def test_secret_keys_of_other_parameters_are_refused(keys):
    data = seal_keys.export_secret_key(CONTEXT, keys[0])
    with pytest.raises(EncryptionError, match=r"wrong length|not below its prime"):
        seal_keys.import_secret_key(seal_context(OTHER), data)
    with pytest.raises(EncryptionError, match="not below its prime"):
        seal_keys.import_secret_key(CONTEXT, b"\xff" * len(data))
