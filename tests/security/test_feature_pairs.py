"""Two features in a ciphertext: what their products tell of the weights beside the release.

Adversary: a curious student. With z = x + J y and weights w - J v a teacher's product holds
(w x + v y) + J (w y - v x). No release names the second part: with x = 1 and y = 0 it is v itself.
Protected: that part, by adding the conjugate before anything else happens to a product. Still
disclosed: the released numbers.
"""

import numpy as np
import pytest

from securefair.circuit.network import network_logits, relinearized
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.errors import EncryptionError
from support.pairs import (
    first_map,
    negated_part,
    not_separated_yet,
    separated,
    strangers_key,
    with_conjugation_key,
)

FEATURES, HIDDEN, CLASSES, SAMPLES = 64, 2, 2, 32


@pytest.fixture(scope="module")
def pairs(exchange):
    """A student whose samples hold the value 1/2 in every feature of even number, else 0."""
    spec = ExchangeSpec(
        features=FEATURES, classes=CLASSES, samples=SAMPLES, hidden=HIDDEN, release="logits"
    )
    features = np.zeros((SAMPLES, FEATURES))
    features[:, ::2] = 0.5
    made = exchange(spec, features, backend="rns")
    assert made.plan.schedule.packing == "pairs"
    return made


def test_products_would_tell_sums_of_weights_that_no_release_names(pairs):
    """The attack on the unprotected variant: the mean over samples of -v x."""
    weights = pairs.layers[0].weights * 2.0 ** -pairs.plan.specs[0].log2_scale
    expected = -0.5 * weights[:, 1::2].sum(axis=1)
    found = negated_part(pairs, first_map(pairs))
    assert np.abs(expected).min() > 1e-3
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_after_the_conjugate_nothing_of_it_is_left(pairs):
    spec = pairs.plan.specs[0]
    real = pairs.evaluator.real_part(first_map(pairs), bound=spec.bound)
    left = negated_part(pairs, real)
    assert np.abs(left).max() <= rules.coefficient_error(real.meta)
    assert rules.coefficient_error(real.meta) < 1e-9


def test_an_answer_holds_noise_where_it_was(pairs):
    """All coefficients of `logits` leave. Those that conjugation negates hold flooding alone."""
    plan, evaluator, n = pairs.plan, pairs.evaluator, pairs.params.ring_degree
    logits = network_logits(
        evaluator,
        pairs.features[0],
        plan.specs,
        plan.schedule.stages,
        plan.spec.layers,
        pairs.layers,
    )
    value = relinearized(evaluator, logits, plan.schedule.flooding_limbs)
    value = evaluator.sanitize(value, plan.schedule.flooding_bits)
    released = evaluator.extract(value, np.arange(n))
    message = pairs.keys.decryptor.open(released)
    # X^k - X^(N - k) is kept by X -> 1/X, X^k + X^(N - k) is negated.
    kept = (message[:, 1:] - message[:, :0:-1]) / 2
    negated = (message[:, 1:] + message[:, :0:-1]) / 2
    error = rules.coefficient_error(value.meta)
    assert np.abs(negated).max() <= error
    assert np.abs(message[:, 0]).max() > error
    assert np.abs(kept).max() > 0


def test_products_are_refused_where_answers_are_made(pairs):
    for step in not_separated_yet(pairs):
        with pytest.raises(EncryptionError):
            step(first_map(pairs))


def test_without_its_key_there_is_no_answer(pairs):
    with pytest.raises(EncryptionError, match="no conjugation key"):
        pairs.answer(evaluator=with_conjugation_key(pairs, None))


def test_a_strangers_key_makes_noise_and_no_cross_term(pairs):
    """A dishonest key: what it switches is lost in a modulus of noise, and the mask stays."""
    evaluator = with_conjugation_key(pairs, strangers_key(pairs))
    real = separated(pairs, evaluator)
    left = negated_part(pairs, real)
    assert np.abs(left).min() > 1e6
