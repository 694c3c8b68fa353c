"""Samples that travel as products of their features: what an answer tells, and to whom.

The student attacks. It holds the secret key, knows all masks of its own upload and chooses what is
under them.
"""

import numpy as np
import pytest

from securefair.circuit.packings.monomials.forms import (
    form_polynomials,
    form_spec,
    layout_of,
    monomial_logits,
)
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.masking import masks_hold

FEATURES, HIDDEN, CLASSES, SAMPLES = 6, 3, 2, 20
SPEC = ExchangeSpec(
    features=FEATURES, hidden=HIDDEN, classes=CLASSES, samples=SAMPLES, release="logits"
)


@pytest.fixture(scope="module")
def asked(exchange):
    features = np.random.default_rng(0).uniform(-1, 1, (SAMPLES, FEATURES))
    return exchange(SPEC, features, backend="seal", monomials=True)


def forms_of(asked):
    """The teacher's secret: integers of each class, in the order of the monomials."""
    plan = asked.plan
    polynomials = form_polynomials(plan.spec, plan.schedule, plan.specs, asked.layers)
    values = layout_of(plan.spec, plan.schedule).values
    return np.array([[p[0, 0], *-p[0, :-values:-1]] for p in polynomials])


def recovered(asked, *, sanitised):
    """c1 = a p in every place: the student divides by its own mask, modulo the first prime."""
    plan, evaluator = asked.plan, asked.evaluator
    form = form_spec(plan.spec, plan.schedule)
    polynomials = form_polynomials(plan.spec, plan.schedule, plan.specs, asked.layers)
    logits = monomial_logits(evaluator, asked.features[0], form, polynomials)
    if sanitised:
        logits = evaluator.sanitize(logits, plan.spec.flooding_bits)
    masks, _ = asked.parts(
        evaluator.extract(logits, layout_of(plan.spec, plan.schedule).coefficients)
    )
    prime = plan.params.primes[0]
    a = asked.features[0].payload[0, 1, 0]
    inverse = np.array([pow(int(value), -1, prime) for value in a], dtype=np.uint64)
    quotient = masks[:, 0, :1] * inverse % np.uint64(prime)
    whole = seal_context(plan.params).from_ntt(quotient)[:, 0].astype(np.int64)
    values = layout_of(plan.spec, plan.schedule).values
    read = np.concatenate([whole[:, :1], -whole[:, :-values:-1]], axis=1) % prime
    return np.where(read > prime // 2, read - prime, read)


def test_an_unsanitised_answer_gives_away_every_form(asked):
    assert (recovered(asked, sanitised=False) == forms_of(asked)).all()


def test_a_sanitised_answer_does_not(asked):
    assert not (recovered(asked, sanitised=True) == forms_of(asked)).any()


def test_nothing_but_one_number_a_sample_and_class_leaves(asked):
    plan, released = asked.plan, asked.answer()
    masks, values = asked.parts(released)
    assert values.shape == (CLASSES, SAMPLES, plan.schedule.answer_limbs)
    assert masks.shape[:2] == (CLASSES, 1)
    assert plan.numbers == SAMPLES * CLASSES
    assert masks_hold(released.meta, SAMPLES)


def test_coefficients_that_were_not_sent_stay_masked(asked, uniform):
    """Between two logits lie inner products of nobody's sample."""
    released = asked.answer()
    opened = asked.zero_filled(released)
    kept = np.delete(opened, released.coefficients, axis=1)
    modulus = np.prod([float(p) for p in asked.params.primes[: released.meta.limbs]])
    width = modulus * 2.0**-released.meta.log2_scale
    assert uniform(kept, width, low=-width / 2)


def test_a_chosen_upload_reads_single_entries_of_a_form_one_a_number(asked):
    """Beyond what features would ask, and no more: the account counts numbers of any kind."""
    plan = asked.plan
    values, wanted = layout_of(plan.spec, plan.schedule).values, np.arange(SAMPLES)
    chosen = np.zeros((1, plan.params.ring_degree))
    chosen[0, layout_of(plan.spec, plan.schedule).coefficients + wanted] = (
        1.0  # place k asks for monomial k alone
    )
    upload = asked.keys.encryptor.encrypt(chosen, plan.features)
    released = asked.answer(features=[asked.evaluator.load(upload, plan.features)])
    opened = asked.keys.decryptor.open(released)
    entries = forms_of(asked)[:, :SAMPLES] * 2.0**-plan.schedule.factor_scale
    assert values > SAMPLES
    assert np.abs(opened - entries).max() <= plan.error_bound
    assert plan.bits == plan.numbers * plan.number_bits
