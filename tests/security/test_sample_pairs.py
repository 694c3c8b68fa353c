"""Two samples in a slot: what products of their hidden values tell beside the release.

Adversary: a curious student. With z = a + J b a hidden unit is h = h(a) + J h(b). Its square holds
2 J h(a) h(b), a product of two samples' values that no release names. Protected: that part, by
separating both samples before anything is squared. Still disclosed: the released numbers, of blocks
that samples were claimed for.
"""

import msgspec
import numpy as np
import pytest

from securefair.circuit.network import network_logits, relinearized
from securefair.circuit.planner import verified_plan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.tensor import CipherTensor
from securefair.errors import EncryptionError
from support.pairs import (
    first_map,
    negated_part,
    not_separated_yet,
    separated,
    strangers_key,
    with_conjugation_key,
)

FEATURES, HIDDEN, CLASSES, SAMPLES = 64, 2, 2, 8192
FIRST, SECOND = 0.5, -0.25


@pytest.fixture(scope="module")
def pairs(exchange):
    """A student whose first half of samples are alike, and whose second half are."""
    spec = ExchangeSpec(
        features=FEATURES, classes=CLASSES, samples=SAMPLES, hidden=HIDDEN, release="logits"
    )
    features = np.repeat([FIRST, SECOND], SAMPLES // 2)[:, None] * np.ones(FEATURES)
    made = exchange(spec, features, backend="rns")
    assert made.plan.schedule.pairs == "samples"
    return made


def values_of(pairs):
    """Hidden values of the first samples and of the second ones, in the clear."""
    both = np.array([[FIRST, SECOND]]) * np.ones((FEATURES, 1))
    return pairs.layers[0].apply(both, pairs.plan.specs[0].log2_scale).T


def test_squares_of_both_would_tell_products_of_two_samples(pairs):
    """The attack on the unprotected variant, which the rules refuse unless the packing lies."""
    hidden = first_map(pairs)
    lying = msgspec.structs.replace(hidden.meta, packing="slots")
    squares = pairs.evaluator.square(CipherTensor(lying, hidden.payload))
    first, second = values_of(pairs)
    assert np.abs(first * second).min() > 1e-3
    np.testing.assert_allclose(negated_part(pairs, squares), 2 * first * second, atol=1e-6)


def test_after_they_are_separated_nothing_of_it_is_left(pairs):
    for part, expected in zip(separated(pairs), values_of(pairs), strict=True):
        error = rules.coefficient_error(part.meta)
        assert error < 1e-8
        assert np.abs(negated_part(pairs, part)).max() <= error
        released = pairs.evaluator.extract(part, np.zeros(1, dtype=np.int64))
        opened = pairs.keys.decryptor.open(released)[:, 0]
        np.testing.assert_allclose(opened, expected, atol=error)
        square = pairs.evaluator.square(part)
        bound = rules.coefficient_error(square.meta)
        assert np.abs(negated_part(pairs, square)).max() <= bound


def test_answers_hold_noise_where_it_was(pairs):
    """All coefficients of `logits` leave. Those that conjugation negates hold flooding alone."""
    plan, evaluator, n = pairs.plan, pairs.evaluator, pairs.params.ring_degree
    stages, bounds = plan.schedule.stages, plan.spec.layers
    both = network_logits(evaluator, pairs.features[0], plan.specs, stages, bounds, pairs.layers)
    assert len(both) == 2
    for logits in both:
        value = relinearized(evaluator, logits, plan.schedule.flooding_limbs)
        value = evaluator.sanitize(value, plan.schedule.flooding_bits)
        message = pairs.keys.decryptor.open(evaluator.extract(value, np.arange(n)))
        # X^k - X^(N - k) is kept by X -> 1/X, X^k + X^(N - k) is negated.
        negated = (message[:, 1:] + message[:, :0:-1]) / 2
        error = rules.coefficient_error(value.meta)
        assert np.abs(negated).max() <= error
        assert np.abs(message[:, 0]).max() > error


def test_hidden_units_of_both_are_refused_where_answers_are_made(pairs):
    for step in not_separated_yet(pairs):
        with pytest.raises(EncryptionError):
            step(first_map(pairs))


def test_a_half_that_no_samples_were_claimed_for_does_not_leave(pairs):
    """A student that fills four blocks and counts three of them gets, and is charged for, three."""
    spec = msgspec.structs.replace(pairs.plan.spec, samples=SAMPLES // 2 * 3)
    fewer = verified_plan(spec, pairs.plan.schedule)
    assert (fewer.blocks, fewer.upload_blocks) == (3, 2)
    assert 2 * fewer.numbers == 3 * pairs.plan.numbers
    evaluator, sanitised = pairs.backend.evaluator(pairs.params, pairs.keys.public), []
    plain = evaluator.sanitize
    evaluator.sanitize = lambda x, bits: sanitised.append(x.meta.count) or plain(x, bits)
    claimed = pairs.plan
    pairs.plan = fewer
    try:
        pairs.answer(evaluator=evaluator, features=list(pairs.features) * 2)
    finally:
        pairs.plan = claimed
    assert sanitised == [CLASSES] * 3


def test_without_its_key_there_is_no_answer(pairs):
    with pytest.raises(EncryptionError, match="no conjugation key"):
        pairs.answer(evaluator=with_conjugation_key(pairs, None))


def test_a_strangers_key_makes_noise_and_no_cross_term(pairs):
    """A dishonest key: what it switches is lost in a modulus of noise, and the mask stays."""
    evaluator = with_conjugation_key(pairs, strangers_key(pairs))
    for part in separated(pairs, evaluator):
        assert np.abs(negated_part(pairs, part)).min() > 1e6
