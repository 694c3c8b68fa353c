"""What only the seal backend does: integer sums without SEAL, and rows that SEAL would refuse."""

import _sealapi_cpp as seal
import numpy as np
import pytest

from securefair.ckks import rules
from securefair.ckks.backends.seal import SealBackend
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys
from securefair.ckks.layers import AffineLayer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.specs import AffineSpec
from securefair.errors import EncryptionError

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(31, 31), special_bits=31))
CONTEXT = seal_context(PARAMS)
SPEC = AffineSpec(inputs=3, outputs=2, log2_scale=8, max_integer=1 << 9, l1=4.0, l2=3.0, bound=5.0)


@pytest.fixture(scope="module")
def keys():
    return SealBackend().generate_keys(PARAMS, relinearization=PARAMS.limbs)


@pytest.fixture(scope="module")
def evaluator(keys):
    return SealBackend().evaluator(PARAMS, keys.public)


@pytest.fixture(scope="module")
def tensor(keys, evaluator):
    meta = rules.fresh(PARAMS, count=3, limbs=2, log2_scale=20, bound=1.0)
    slots = np.random.default_rng(0).uniform(-1, 1, (3, 2048))
    return evaluator.load(keys.encryptor.encrypt(slots, meta), meta)


def test_a_layer_is_bit_for_bit_what_seal_adds_up(evaluator, tensor):
    weights = np.array([[200, -31, 7], [0, 255, -256]])
    layer = AffineLayer(weights, np.zeros(2))
    out = evaluator.linear(tensor, SPEC, layer).payload
    for row, expected in zip(out, weights, strict=True):
        total = None
        for weight, residues in zip(expected.tolist(), tensor.payload, strict=True):
            term = CONTEXT.ciphertext(residues)
            step = CONTEXT.ciphertext(residues)
            if weight == 0:
                continue
            for _ in range(abs(weight) - 1):
                CONTEXT.evaluator.add_inplace(term, step)
            if weight < 0:
                CONTEXT.evaluator.negate_inplace(term)
            if total is None:
                total = term
            else:
                CONTEXT.evaluator.add_inplace(total, term)
        assert (CONTEXT.residues(total) == row).all()


def test_a_bias_is_what_seal_adds_as_a_constant(evaluator, tensor):
    bias = np.array([0.7243, -1.25])
    identity = np.array([[1, 0, 0], [0, 1, 0]])
    out = evaluator.linear(tensor, SPEC, AffineLayer(identity, bias))
    encoder = seal.CKKSEncoder(CONTEXT.seal)
    for row, residues, value in zip(out.payload, tensor.payload[:2], bias, strict=True):
        plain = seal.Plaintext()
        encoder.encode(float(value), CONTEXT.parms_words(2), 2.0**out.meta.log2_scale, plain)
        ciphertext = CONTEXT.ciphertext(residues)
        ciphertext.scale = plain.scale
        CONTEXT.evaluator.add_plain_inplace(ciphertext, plain)
        assert (CONTEXT.residues(ciphertext) == row).all()


def test_rows_of_zero_weights_stay_usable_and_keep_their_bias(keys, evaluator, tensor):
    layer = AffineLayer(np.array([[0, 0, 0], [1, 2, 3]]), np.array([1.5, 0.0]))
    out = evaluator.linear(tensor, SPEC, layer)
    assert out.payload[0, 1].any()  # a mask, or SEAL would refuse to go on
    for value in (out, evaluator.rescale(out, 1), evaluator.relinearize(evaluator.square(out))):
        data = evaluator.extract(value, None).data
        opened = keys.decryptor.open(Released(value.meta, None, data))[0]
        expected = 1.5 if value.meta.log2_scale < 29 else 1.5**2
        np.testing.assert_allclose(opened, expected, atol=rules.slot_error(value.meta))


def test_a_layer_too_wide_for_float64_is_refused(evaluator, tensor):
    spec = AffineSpec(
        inputs=3, outputs=1, log2_scale=0, max_integer=1 << 21, l1=2.0**23, l2=3.0, bound=5.0
    )
    with pytest.raises(EncryptionError, match="too wide"):
        evaluator.linear(tensor, spec, AffineLayer(np.zeros((1, 3), np.int64), np.zeros(1)))


def test_an_operation_that_seal_refuses_is_an_encryption_error(evaluator, tensor):
    difference = evaluator.subtract(tensor, tensor)  # no mask is left
    with pytest.raises(EncryptionError, match="SEAL refuses an operation"):
        evaluator.square(difference)


def test_without_a_relinearisation_key_nothing_is_relinearised(keys, tensor):
    evaluator = SealBackend().evaluator(PARAMS, PublicKeys(keys.public.encryption, b""))
    product = evaluator.square(tensor)
    with pytest.raises(EncryptionError, match="no relinearisation key"):
        evaluator.relinearize(product)
