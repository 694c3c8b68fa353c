"""What openfhe refuses, and that it goes on afterwards."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.ckks import rules
from securefair.ckks.backends.openfhe import OpenfheBackend
from securefair.ckks.backends.openfhe_child.frames import (
    Op,
    pack_array,
)
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import EncryptionError
from support.examples import examples
from unit.ckks.backends.openfhe.ring import META, PARAMS, VALUES, uploaded


def test_products_beyond_its_depth_are_refused_and_harm_nothing():
    backend = OpenfheBackend(products=1)
    keys = backend.generate_keys(PARAMS, relinearization=PARAMS.limbs)
    evaluator = backend.evaluator(PARAMS, keys.public)
    x = uploaded(keys, evaluator)

    def power(times):  # below the rules, which would refuse it before
        payload = x.payload
        for _ in range(times):
            payload = evaluator.keys.tensor(Op.MULTIPLY, payload.handle, x.payload.handle)
        return payload

    assert power(1)
    with pytest.raises(EncryptionError, match=r"refuses to multiply.*depth") as error:
        power(4)
    assert "openfhe-development" not in str(error.value)
    opened = keys.decryptor.open(evaluator.extract(x, None))
    np.testing.assert_allclose(opened, VALUES, atol=1e-9)


@given(place=st.integers(0, 2**30), bit=st.integers(0, 7), answered=st.booleans())
@settings(max_examples=examples(25))
def test_damaged_bytes_are_refused_before_openfhe_reads_them(
    upload_and_answer, place, bit, answered
):
    keys, evaluator, upload, released = upload_and_answer
    data = bytearray(released.data if answered else upload)
    data[place % len(data)] ^= 1 << bit
    read = {
        True: lambda: keys.decryptor.open(Released(META, None, bytes(data))),
        False: lambda: evaluator.load(bytes(data), META),
    }[answered]
    with pytest.raises(EncryptionError, match="damaged"):
        read()


@pytest.fixture(scope="module")
def upload_and_answer(backend):
    keys = backend.generate_keys(PARAMS)
    evaluator = backend.evaluator(PARAMS, keys.public)
    upload = keys.encryptor.encrypt(VALUES, META)
    return keys, evaluator, upload, evaluator.extract(evaluator.load(upload, META), None)


OTHER_LENGTHS = {
    "shorter": lambda data: data[:-1],
    "longer": lambda data: data + bytes(1),
    "nothing": lambda _: b"",
    "no tag": lambda data: data[32:],
}


@pytest.mark.parametrize("name", OTHER_LENGTHS)
def test_bytes_of_another_length_are_refused(upload_and_answer, name):
    keys, evaluator, upload, released = upload_and_answer
    change = OTHER_LENGTHS[name]
    with pytest.raises(EncryptionError, match="damaged"):
        evaluator.load(change(upload), META)
    with pytest.raises(EncryptionError, match="damaged"):
        keys.decryptor.open(Released(META, None, change(released.data)))


def test_bytes_are_good_for_one_purpose_one_count_and_one_student(backend, upload_and_answer):
    keys, evaluator, upload, released = upload_and_answer
    stranger = backend.generate_keys(PARAMS)
    three = rules.fresh(PARAMS, count=3, limbs=2, log2_scale=25.0, bound=1.0)
    for wrong in (
        lambda: evaluator.load(released.data, META),
        lambda: evaluator.load(upload, three),
        lambda: keys.decryptor.open(Released(META, None, upload)),
        lambda: stranger.decryptor.open(released),
        lambda: backend.evaluator(PARAMS, stranger.public).load(upload, META),
    ):
        with pytest.raises(EncryptionError, match="of other keys, another kind or another count"):
            wrong()


def test_ciphertexts_of_two_students_do_not_mix(backend, keys, evaluator):
    other = backend.generate_keys(PARAMS, relinearization=PARAMS.limbs)
    theirs = uploaded(other, backend.evaluator(PARAMS, other.public))
    with pytest.raises(EncryptionError, match="differ in keys"):
        evaluator.add(uploaded(keys, evaluator), theirs)


def test_keys_are_known_by_name_where_they_were_made(backend, keys):
    for public in (
        PublicKeys(b"", b""),
        PublicKeys(bytes(16), b""),
        PublicKeys(keys.public.encryption, bytes(16)),
    ):
        with pytest.raises(EncryptionError, match="no keys of that name"):
            backend.evaluator(PARAMS, public)
    others = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30,), special_bits=31))
    with pytest.raises(EncryptionError, match="no keys of that name"):
        backend.evaluator(others, keys.public)


@pytest.mark.parametrize("parts", [[], [b""], [b"", b""], [b"x" * 8, b"y" * 8, b"z"]])
@pytest.mark.parametrize("op", list(Op))
def test_nonsense_is_refused_and_the_process_goes_on(keys, evaluator, op, parts):
    held = evaluator.keys
    if op in (Op.FORGET, Op.FORGET_KEYS) and parts == [b""]:
        assert held.call(op, b"") == []  # nothing is no nonsense there
    else:
        with pytest.raises(EncryptionError, match="openfhe refuses"):
            held.call(op, *parts)
    assert held.call(Op.ENCRYPT, held.id, pack_array(VALUES[:1]))


def test_arrays_of_wrong_shapes_never_reach_openfhe(evaluator):
    held = evaluator.keys
    with pytest.raises(EncryptionError, match="refuses"):
        held.call(Op.ENCRYPT, held.id, struct.pack("<II", 1, 2048) + bytes(8))
