"""Decryption with noise flooding, as openfhe offers it."""

import math

import pytest

from securefair.ckks.backends.openfhe import OpenfheBackend
from securefair.errors import ConfigError, EncryptionError
from unit.ckks.backends.openfhe.ring import PARAMS, VALUES, uploaded


def squared(backend):
    """A small circuit whose last product is not rescaled yet: keys, answer, its error."""
    keys = backend.generate_keys(PARAMS, relinearization=PARAMS.limbs)
    evaluator = backend.evaluator(PARAMS, keys.public)
    product = evaluator.relinearize(evaluator.square(uploaded(keys, evaluator)))
    return keys, evaluator.extract(product, None), evaluator.keys


def test_flooded_decryption_hides_the_measured_noise():
    measuring, circuit, _ = squared(OpenfheBackend(products=1, measure_noise=True))
    bits = measuring.decryptor.noise_bits(circuit)
    plain, answer_, held = squared(OpenfheBackend(products=1))
    unflooded = (plain.decryptor.open(answer_) - VALUES**2).std()
    flooding, answer_, _ = squared(OpenfheBackend(products=1, noise_bits=bits))
    flooded = (flooding.decryptor.open(answer_) - VALUES**2).std()
    # In integer units: slots carry sqrt(N) times the deviation of a coefficient.
    unit = 59 - math.log2(held.ring_degree) / 2
    assert math.log2(unflooded) + unit == pytest.approx(bits, abs=1.5)
    assert math.log2(flooded) + unit == pytest.approx(bits + 15 + math.log2(12) / 2, abs=1.5)


def test_more_noise_is_flooded_with_more():
    errors = []
    for bits in (5.0, 15.0):
        keys, answer_, _ = squared(OpenfheBackend(products=1, noise_bits=bits))
        errors.append((keys.decryptor.open(answer_) - VALUES**2).std())
    assert math.log2(errors[1] / errors[0]) == pytest.approx(10, abs=0.5)


def test_keys_that_measure_do_not_decrypt_and_the_others_do_not_measure():
    keys, answer_, _ = squared(OpenfheBackend(products=1, measure_noise=True))
    with pytest.raises(EncryptionError, match="they do not decrypt"):
        keys.decryptor.open(answer_)
    for others in (OpenfheBackend(products=1), OpenfheBackend(products=1, noise_bits=8.0)):
        keys, answer_, _ = squared(others)
        with pytest.raises(EncryptionError, match="they do not measure"):
            keys.decryptor.noise_bits(answer_)


@pytest.mark.parametrize(
    "wrong",
    [{"measure_noise": True, "noise_bits": 8.0}, {"noise_bits": 0.0}, {"noise_bits": math.nan}],
)
def test_contradictory_specs_are_refused(wrong):
    with pytest.raises(ConfigError, match="noise_bits"):
        OpenfheBackend(**wrong)
