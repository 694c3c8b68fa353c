"""Evaluation keys as one message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks.keys import PublicKeys
from securefair.errors import EncryptionError


@given(st.binary(), st.binary(max_size=40), st.binary(max_size=40))
def test_keys_survive_being_one_message(encryption, relinearization, galois):
    keys = PublicKeys(encryption, relinearization, galois)
    assert PublicKeys.read(encryption, keys.evaluation) == keys
    size = len(relinearization) + len(galois)
    assert len(keys.evaluation) == (size + 8 if size else 0)


@given(st.binary(min_size=1, max_size=40))
def test_any_bytes_are_keys_or_refused(data):
    try:
        keys = PublicKeys.read(b"", data)
    except EncryptionError:
        return
    assert keys.evaluation == data


@pytest.mark.parametrize("data", [b"x", bytes(8), b"\x02" + bytes(7) + b"a", b"\xff" * 9])
def test_truncated_keys_are_refused(data):
    with pytest.raises(EncryptionError, match="truncated"):
        PublicKeys.read(b"", data)
