"""What a student uploads: parts and keys that were not planned are refused before any work."""

from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.keys import PublicKeys
from securefair.data.dataset import Samples
from securefair.errors import DataError, EncryptionError
from securefair.exchange.request import decode_request, encode_request
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.exchange.upload import check_lengths
from securefair.model.heads import build_head
from support.examples import examples
from support.parties import SAMPLES, altered, run, spec_of


def test_an_upload_says_what_it_is_without_its_residues(linear):
    plan, keys = linear.plan, linear.student.public_keys
    upload = linear.teacher.receive(
        plan.spec,
        linear.asked.seed,
        keys,
        bytes(linear.asked.features),
        b"",
        schedule=linear.asked.schedule,
    )
    assert repr(upload).startswith(f"Upload({SAMPLES} samples of ")
    assert len(repr(upload)) < 100


@pytest.mark.parametrize("part", ["public_key", "features", "basis", "predictions"])
def test_a_part_is_as_long_as_planned(linear, part):
    check_lengths(linear.plan, linear.asked)
    longer = bytes(getattr(linear.asked, part)) + b"x"
    changed = msgspec.structs.replace(linear.asked, **{part: longer})
    with pytest.raises(EncryptionError, match="wrong length") as error:
        check_lengths(linear.plan, changed)
    assert error.value.where == part


@pytest.mark.parametrize("field", ["public_key", "evaluation_keys", "features"])
@given(data=st.binary(max_size=100))
@settings(max_examples=examples(10))
def test_fields_of_another_length_are_refused(linear, field, data):
    if field == "evaluation_keys" and not data:
        return
    with pytest.raises((EncryptionError, DataError)):
        linear.teacher.answer(altered(linear.asked, **{field: data}))


def test_more_keys_than_the_plan_lists_are_refused_unread():
    linear, loss = run(spec_of("public")), run(spec_of("loss"))
    with pytest.raises(EncryptionError, match="larger than the plan lists"):
        linear.teacher.answer(altered(linear.asked, evaluation_keys=b"x"))
    keys = loss.asked.evaluation_keys
    with pytest.raises(EncryptionError, match="larger than the plan lists"):
        loss.teacher.answer(altered(loss.asked, evaluation_keys=bytes(keys) + bytes(10**6)))
    with pytest.raises(EncryptionError, match="relinearisation key is missing"):
        loss.teacher.answer(altered(loss.asked, evaluation_keys=b""))


@cache
def asked_in_pairs():
    """Spec and request of a student whose plan lists both kinds of keys."""
    spec = ExchangeSpec(features=26, classes=2, samples=8, hidden=2, release="logits")
    student = Student(spec, backend="rns")
    assert student.plan.relinearization_limbs
    assert student.plan.galois_limbs
    samples = Samples(np.zeros((8, 26)), np.arange(8) % 2, 2)
    return spec, student.request(samples)


@pytest.mark.parametrize("kept", ["", "relinearization", "galois"])
def test_keys_that_the_plan_lists_must_be_there_before_any_work(kept, samples_in_slots):
    """Else a student would have the whole first layer computed, and no answer to blame."""
    spec, request = asked_in_pairs()
    whole = decode_request(request)
    keys = PublicKeys.read(bytes(whole.public_key), bytes(whole.evaluation_keys))
    both = {"relinearization": keys.relinearization, "galois": keys.galois}
    fewer = {name: key if name == kept else b"" for name, key in both.items()}
    evaluation_keys = memoryview(PublicKeys(keys.encryption, **fewer).evaluation)
    altered = msgspec.structs.replace(whole, evaluation_keys=evaluation_keys)
    teacher = Teacher(build_head("quadratic", 26, 2, 2, seed=0), spec, backend="rns")
    with pytest.raises(EncryptionError, match="key is missing"):
        teacher.answer(encode_request(altered))
