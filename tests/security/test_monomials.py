"""Samples that travel as products of their features: what an answer tells, and to whom.

The student attacks. It holds the secret key, knows all masks of its own upload and chooses what is
under them.
"""

import msgspec
import numpy as np
import pytest

from securefair.circuit.packings.monomials.forms import (
    form_polynomials,
    form_spec,
    layout_of,
    monomial_logits,
)
from securefair.circuit.planner import verified_plan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.evaluator import Released
from securefair.ckks.masking import masks_hold
from securefair.errors import PlanError

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
    places = layout_of(plan.spec, plan.schedule).coefficients
    chosen[0, places + wanted] = 1.0  # place k asks for monomial k alone
    upload = asked.keys.encryptor.encrypt(chosen, plan.features)
    released = asked.answer(features=[asked.evaluator.load(upload, plan.features)])
    opened = asked.keys.decryptor.open(released)
    entries = forms_of(asked)[:, :SAMPLES] * 2.0**-plan.schedule.factor_scale
    assert values > SAMPLES
    assert np.abs(opened - entries).max() <= plan.error_bound
    assert plan.bits == plan.numbers * plan.number_bits


# -- sums over samples ---------------------------------------------------------------------------

SUMS = ExchangeSpec(features=FEATURES, hidden=0, classes=CLASSES, samples=SAMPLES, q=8, answers=1)
"""Asked once: for many answers so few features travel in slots, whose answers are shorter."""


@pytest.fixture(scope="module")
def summed(exchange):
    features = np.random.default_rng(0).uniform(-1, 1, (SAMPLES, FEATURES))
    made = exchange(SUMS, features, backend="rns", monomials=True)
    assert made.plan.schedule.packing == "monomials"
    return made


def crafted(summed):
    """A one in the first place: its product with a form has a weight in every coefficient -f."""
    plan = summed.plan
    chosen = np.zeros((plan.features.count, plan.params.ring_degree))
    chosen[0, 0] = 1.0
    upload = summed.keys.encryptor.encrypt(chosen, plan.features)
    return [summed.evaluator.load(upload, plan.features)]


def opened_whole(summed, features):
    """What the holder of the key would read of a whole product: all of its coefficients."""
    plan = summed.plan
    (logits,) = plan.packing.logits(
        summed.evaluator, plan.spec, plan.schedule, plan.specs, summed.layers, features
    )
    everything = np.arange(plan.params.ring_degree)
    data = summed.evaluator.extract(logits, everything).data
    return summed.keys.decryptor.open(Released(logits.meta, everything, data))


def weights_of(summed):
    (layer,) = summed.layers
    weights = layer.weights * 2.0 ** -summed.plan.specs[0].log2_scale
    return np.concatenate([weights, layer.bias[:, None]], axis=1)


def test_a_whole_product_would_tell_every_weight_at_once(summed):
    read = opened_whole(summed, crafted(summed))
    found = np.concatenate([read[:, :1], -read[:, : -FEATURES - 1 : -1]], axis=1)
    assert np.abs(found - weights_of(summed)).max() < 1e-3


def test_an_answer_to_it_tells_one_of_them_as_one_of_its_numbers(summed):
    plan, released = summed.plan, summed.answer(features=crafted(summed))
    masks, values = summed.parts(released)
    assert values.shape == (CLASSES, SUMS.q, plan.schedule.answer_limbs)
    assert masks.shape[:2] == (CLASSES, 1)
    assert (released.coefficients % plan.schedule.parts == 0).all()
    opened = summed.keys.decryptor.open(released)
    assert np.abs(opened[:, 0] - weights_of(summed)[:, 0]).max() <= plan.error_bound
    assert np.abs(opened[:, 1:]).max() <= plan.error_bound
    assert plan.numbers == SUMS.q * CLASSES
    assert masks_hold(released.meta, SUMS.q)


def test_partial_sums_of_honest_samples_stay_masked(summed, uniform):
    """Products of one feature's samples with another one's weight, which no release names."""
    plan = summed.plan
    between = np.setdiff1d(
        np.arange(plan.params.ring_degree), plan.schedule.parts * np.arange(plan.ring_degree)
    )
    assert np.abs(opened_whole(summed, summed.features)[:, between]).max() > 0.01
    released = summed.answer()
    kept = np.delete(summed.zero_filled(released), released.coefficients, axis=1)
    modulus = np.prod([float(p) for p in summed.params.primes[: released.meta.limbs]])
    width = modulus * 2.0**-released.meta.log2_scale
    assert uniform(kept, width, low=-width / 2)


def test_a_schedule_with_another_k_is_refused(summed):
    """More beside each other leave no room for the samples, fewer only cost bytes."""
    schedule = summed.plan.schedule
    for parts in (1, schedule.parts // 2, 2 * schedule.parts, 3):
        with pytest.raises(PlanError, match="does not fit the spec"):
            verified_plan(SUMS, msgspec.structs.replace(schedule, parts=parts))
