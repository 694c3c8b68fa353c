import numpy as np
import pytest

from securefair.ckks.keys import PublicKeys, StudentKeys
from securefair.ckks.layers import AffineLayer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.rules import fresh

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30, 30), special_bits=16))


def test_level_counts_the_rescalings_that_are_left():
    meta = fresh(PARAMS, count=5, limbs=3, log2_scale=30, bound=1.0)
    assert meta.level == 2
    assert meta.residue_shape == (5, 2, 3, 4096)


def test_facts_cannot_be_changed_in_place():
    meta = fresh(PARAMS, count=1, limbs=3, log2_scale=30, bound=1.0)
    with pytest.raises(AttributeError):
        meta.noise = 0.0


class Tell:
    """Stands for a secret key; whoever prints it is caught."""

    def __repr__(self):
        raise AssertionError("a secret was printed")


def test_secrets_never_print():
    keys = StudentKeys(PublicKeys(b"", b""), Tell(), Tell())
    assert repr(keys) == str(keys) == f"{keys}" == "StudentKeys(redacted)"
    assert "redacted" in repr([keys])
    layer = AffineLayer(np.array([[31337]]), np.array([0.27182]))
    for text in (repr(layer), str(layer), f"{layer}", repr({"layer": layer})):
        assert "redacted" in text
        assert "31337" not in text
        assert "27182" not in text
