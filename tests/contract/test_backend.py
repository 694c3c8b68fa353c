"""Keys, uploads and answers: what goes out comes in, and nothing else does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.ckks import rules
from securefair.ckks.backends import get_backend, wire
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import BackendUnavailableError, EncryptionError
from support.examples import examples

CHOSEN = np.array([0, 1, 77])


@pytest.fixture
def narrow(ring):
    return ring("narrow")


def slots(count, used=50, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, used))


def meta_of(ring, count=2, limbs=3):
    return rules.fresh(ring.params, count=count, limbs=limbs, log2_scale=25.0, bound=1.0)


@pytest.mark.parametrize("used", [1, 50, 2048])
@pytest.mark.parametrize("limbs", [1, 3])
def test_slots_beyond_those_given_hold_zero(narrow, used, limbs):
    meta = meta_of(narrow, limbs=limbs)
    given = slots(2, used)
    tensor = narrow.evaluator.load(narrow.keys.encryptor.encrypt(given, meta), meta)
    opened = narrow.open(tensor)
    assert opened.shape == (2, 2048)
    np.testing.assert_allclose(opened[:, :used], given, atol=rules.slot_error(meta))
    np.testing.assert_allclose(opened[:, used:], 0, atol=rules.slot_error(meta))


@pytest.mark.parametrize("scale", [16.0, 25.5, 53.125, 70.0, 85.875])
def test_scales_need_not_be_whole_nor_fit_a_word(narrow, scale):
    meta = rules.fresh(narrow.params, count=2, limbs=3, log2_scale=scale, bound=1.0)
    given = slots(2)
    tensor = narrow.evaluator.load(narrow.keys.encryptor.encrypt(given, meta), meta)
    np.testing.assert_allclose(narrow.open(tensor)[:, :50], given, atol=rules.slot_error(meta))


def test_uploads_and_answers_have_the_planned_length(narrow, planned):
    if not planned:
        pytest.skip("it has bytes of its own")
    meta = meta_of(narrow)
    upload = narrow.keys.encryptor.encrypt(slots(2), meta)
    assert len(upload) == wire.upload_bytes(meta)
    tensor = narrow.evaluator.load(upload, meta)
    assert len(narrow.evaluator.extract(tensor, None).data) == wire.answer_bytes(meta, None)
    assert len(narrow.evaluator.extract(tensor, CHOSEN).data) == wire.answer_bytes(meta, 3)
    assert len(narrow.keys.public.encryption) == wire.public_key_bytes(narrow.params)


def test_what_was_uploaded_can_be_read_back_from_a_tensor(narrow, planned):
    """Loading expands seeds and changes nothing: the first polynomials are the uploaded ones."""
    if not planned:
        pytest.skip("it shows no polynomials")
    meta = meta_of(narrow)
    upload = narrow.keys.encryptor.encrypt(slots(2), meta)
    first, _ = wire.read_upload(upload, meta)
    data = narrow.evaluator.extract(narrow.evaluator.load(upload, meta), None).data
    assert (wire.read_whole(data, meta)[:, 0] == first).all()


@given(cut=st.integers(1, 1000), grow=st.booleans())
@settings(max_examples=examples(15))
def test_uploads_and_answers_of_another_length_are_refused(ring, cut, grow):
    narrow = ring("narrow")
    meta = meta_of(narrow)
    upload = narrow.keys.encryptor.encrypt(slots(2), meta)
    tensor = narrow.evaluator.load(upload, meta)

    def other(data):
        return data + bytes(cut) if grow else data[:-cut]

    with pytest.raises(EncryptionError, match=r"wrong length|damaged"):
        narrow.evaluator.load(other(upload), meta)
    for coefficients in (None, CHOSEN):
        data = narrow.evaluator.extract(tensor, coefficients).data
        with pytest.raises(EncryptionError, match=r"wrong length|damaged"):
            narrow.keys.decryptor.open(Released(meta, coefficients, other(data)))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(10))
def test_damaged_bytes_give_encryption_errors_or_wrong_numbers_and_nothing_else(ring, seed):
    narrow = ring("narrow")
    rng = np.random.default_rng(seed)
    meta = meta_of(narrow)
    upload = bytearray(narrow.keys.encryptor.encrypt(slots(2), meta))
    for place in rng.integers(0, len(upload), 4):
        upload[place] ^= int(rng.integers(1, 256))
    try:
        tensor = narrow.evaluator.load(bytes(upload), meta)
    except EncryptionError:
        return
    data = bytearray(narrow.evaluator.extract(tensor, CHOSEN).data)
    data[rng.integers(0, len(data))] ^= int(rng.integers(1, 256))
    try:
        opened = narrow.keys.decryptor.open(Released(meta, CHOSEN, bytes(data)))
    except EncryptionError:
        return
    assert opened.shape == (2, 3)


@pytest.mark.parametrize("make", [bytes, lambda size: b"\xff" * size])
def test_constant_bytes_of_the_right_length_do_no_harm(narrow, encrypts, make):
    if not encrypts:
        pytest.skip("any float64 is an upload of the clear backend")
    meta = meta_of(narrow)
    try:
        tensor = narrow.evaluator.load(make(wire.upload_bytes(meta)), meta)
    except EncryptionError:
        return
    narrow.evaluator.rescale(narrow.evaluator.sanitize(tensor, 5), 1)


@pytest.mark.parametrize("data", [b"", b"x", bytes(1000)])
def test_keys_that_are_none_are_refused(backend, narrow, encrypts, data):
    if not encrypts:
        pytest.skip("the clear backend has no keys")
    with pytest.raises(EncryptionError):
        backend.evaluator(narrow.params, PublicKeys(data, b""))
    with pytest.raises(EncryptionError):
        backend.evaluator(narrow.params, PublicKeys(narrow.keys.public.encryption, b"x" + data))


def test_keys_of_other_parameters_are_refused(backend, ring, encrypts):
    if not encrypts:
        pytest.skip("the clear backend has no keys")
    narrow, switching = ring("narrow"), ring("switching")
    with pytest.raises(EncryptionError):
        backend.evaluator(narrow.params, switching.keys.public)
    mixed = PublicKeys(narrow.keys.public.encryption, switching.keys.public.relinearization)
    with pytest.raises(EncryptionError):
        backend.evaluator(narrow.params, mixed)


def test_a_missing_relinearisation_key_is_missed_when_it_is_needed(backend, ring, encrypts):
    if not encrypts:
        pytest.skip("the clear backend switches no keys")
    switching = ring("switching")
    without = PublicKeys(switching.keys.public.encryption, b"")
    evaluator = backend.evaluator(switching.params, without)
    product = evaluator.square(switching.upload(slots(1), log2_scale=25.0))
    with pytest.raises(EncryptionError, match="no relinearisation key"):
        evaluator.relinearize(product)


def test_another_students_key_opens_nothing(backend, narrow, encrypts, planned):
    if not encrypts:
        pytest.skip("the clear backend hides nothing")
    stranger = backend.generate_keys(narrow.params)
    tensor = narrow.upload(slots(2), log2_scale=40.0)
    released = narrow.evaluator.extract(tensor, None)
    if not planned:  # such answers name their keys
        with pytest.raises(EncryptionError, match="other keys"):
            stranger.decryptor.open(released)
        return
    opened = stranger.decryptor.open(released)[:, :50]
    # Uniform modulo a 90-bit modulus at scale 2^40: nowhere near a value in [-1, 1].
    assert np.abs(opened).min() > 1e3
    assert abs(np.corrcoef(opened.ravel(), slots(2).ravel())[0, 1]) < 0.65


def test_keys_and_their_holders_never_print_what_they_hold(narrow):
    assert "redacted" in repr(narrow.keys)
    for holder in (narrow.keys.encryptor, narrow.keys.decryptor, narrow.evaluator):
        assert len(repr(holder)) < 200  # a name and an address, no arrays


SHARED_WIRE = ("rns", "seal")


@pytest.mark.parametrize("student", SHARED_WIRE)
@pytest.mark.parametrize("teacher", SHARED_WIRE)
def test_students_and_teachers_of_different_backends_understand_each_other(student, teacher):
    spec = CkksSpec(ring_degree=4096, limb_bits=(30, 30, 30), special_bits=16)
    params = CkksParameters(spec)
    try:
        home, away = get_backend(student), get_backend(teacher)
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    keys = home.generate_keys(params)
    evaluator = away.evaluator(params, keys.public)
    meta = rules.fresh(params, count=2, limbs=3, log2_scale=25.0, bound=1.0)
    tensor = evaluator.load(keys.encryptor.encrypt(slots(2), meta), meta)
    value = evaluator.rescale(evaluator.sanitize(tensor, 8), 2)
    opened = keys.decryptor.open(evaluator.extract(value, None))
    np.testing.assert_allclose(opened[:, :50], slots(2), atol=rules.slot_error(value.meta))
    some = keys.decryptor.open(evaluator.extract(value, CHOSEN))
    assert some.shape == (2, 3)
