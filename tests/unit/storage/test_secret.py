"""Secrets do not print, pickle or stay."""

import copy
import pickle

import pytest

from securefair.storage import Secret


def test_it_prints_nothing_of_its_bytes():
    secret = Secret(b"canary")
    for text in (repr(secret), str(secret), f"{secret}", repr([secret]), repr({"a": secret})):
        assert "canary" not in text
        assert "redacted" in text


def test_it_cannot_be_pickled_or_copied():
    secret = Secret(b"canary")
    for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickled"):
            refuse(secret)


def test_it_takes_over_a_bytearray_and_is_overwritten():
    source = bytearray(b"canary")
    secret = Secret(source)
    assert source == bytes(6)
    inside = secret._value
    assert secret.reveal() == b"canary"
    assert secret
    secret.clear()
    assert not secret
    assert b"canary" not in inside


def test_it_is_overwritten_when_it_is_dropped():
    secret = Secret(b"canary")
    inside = secret._value
    del secret
    assert b"canary" not in inside


def test_it_compares_by_value_and_has_no_hash():
    assert Secret(b"a") == Secret(b"a")
    assert Secret(b"a") != Secret(b"b")
    assert Secret(b"a") != b"a"
    with pytest.raises(TypeError):
        hash(Secret(b"a"))


def test_fresh_ones_differ():
    assert len(Secret.random(16).reveal()) == 16
    assert Secret.random() != Secret.random()
