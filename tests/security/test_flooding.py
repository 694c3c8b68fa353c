"""Why answers are flooded: the noise of a computation tells how it was computed.

Adversary: a curious student, who knows its secret key, its own noise and all candidate models, and
computes exactly what each would have answered. Protected: which of several models that say the
same on its samples has answered (duplicated features, for instance, which data often has), within
statistical distance 2^-s for each released number, s = 30 at least. Still disclosed: the released
numbers; and over very many answers the distances add up.
"""

import math

import numpy as np
import pytest
import torch

from securefair.circuit.network import network_logits
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.backends import entropy
from securefair.ckks.evaluator import Released
from securefair.ckks.layers import AffineLayer
from securefair.ckks.noise import rounding
from securefair.exchange import steps
from securefair.model.heads import build_head

SAMPLES, FEATURES = 60, 4
BITS = 30


def spec_of(hidden=0, **changes):
    facts = {"features": FEATURES, "classes": 2, "samples": SAMPLES, "hidden": hidden, "q": 8}
    return ExchangeSpec(**{**facts, **changes})


def silent(hidden):
    """A head whose message is a constant, so that all other coefficients hold noise alone."""
    model = build_head("quadratic" if hidden else "linear", FEATURES, hidden, 2, 1)
    with torch.no_grad():
        model.output_bias.zero_()
        if hidden:  # biases larger than the weights make values as large as they may be
            model.hidden_bias.mul_(4.0)
    return model


def noise_of(exchange, value):
    """Coefficients 1, 2, ... of a tensor whose message is constant, in integer units."""
    n = exchange.params.ring_degree
    everything = np.arange(n)
    data = exchange.evaluator.extract(value, everything).data
    opened = exchange.keys.decryptor.open(Released(value.meta, everything, data))
    return opened[:, 1:] * 2.0**value.meta.log2_scale


def logits_of(exchange, layers):
    plan, (features,) = exchange.plan, exchange.features
    stages = plan.schedule.stages
    return network_logits(
        exchange.evaluator, features, plan.specs, stages, plan.spec.layers, layers
    )


def at_flooding_level(exchange):
    """The logits as they are right before sanitising."""
    logits = logits_of(exchange, exchange.layers)
    return exchange.evaluator.rescale(logits, exchange.plan.schedule.flooding_limbs)


@pytest.mark.parametrize("hidden", [0, 3])
def test_flooding_is_2_to_the_s_above_the_noise_of_the_evaluation(exchange, uniform, hidden):
    """Measured on the secret-key side: noise without sanitising, and the flooding itself."""
    spec = spec_of(hidden)
    features = np.zeros((SAMPLES, FEATURES))
    here = exchange(spec, features, backend="rns", model=silent(hidden))
    value = at_flooding_level(here)
    noise = noise_of(here, value)
    amplitude = 2.0 ** rules.flooding(value.meta, BITS)
    assert noise.std() > 1  # there is something to hide
    assert np.abs(noise).max() <= rules.TAIL * value.meta.noise
    assert amplitude >= 2.0**BITS * np.abs(noise).max()

    flooded = noise_of(here, here.evaluator.sanitize(value, BITS))
    assert np.abs(flooded).max() <= amplitude * (1 + 2.0**-BITS)
    assert np.abs(flooded).max() > 0.99 * amplitude
    assert uniform(flooded, 2 * amplitude * (1 + 2.0**-20), low=-amplitude * (1 + 2.0**-20))


@pytest.mark.parametrize("bits", [30, 40])
def test_every_answer_is_flooded_as_the_spec_says(exchange, monkeypatch, bits):
    """From a plan to the generator: the amplitude that is drawn is the planned one."""
    drawn = []
    original = entropy.uniform_residues

    def watched(log2_amplitude, shape, primes):
        drawn.append((log2_amplitude, shape))
        return original(log2_amplitude, shape, primes)

    features = np.random.default_rng(0).uniform(-1, 1, (SAMPLES, FEATURES))
    here = exchange(spec_of(flooding_bits=bits), features, backend="seal")
    monkeypatch.setattr("securefair.ckks.backends.seal.uniform_residues", watched)
    value = at_flooding_level(here)
    here.answer()
    planned = here.plan.schedule.flooding_bits  # more, where the precision leaves room for it
    assert planned >= bits
    assert drawn == [(rules.flooding(value.meta, planned), (2, here.params.ring_degree))]


# -- two models that say the same ---------------------------------------------------------------


def twins(seed):
    """Weights on two equal features, shared out in two ways: one function on these samples."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(-900, 900, (2, FEATURES))
    other = weights.copy()
    shift = rng.integers(200, 700, 2)
    other[:, 0] += shift
    other[:, 1] -= shift
    bias = rng.uniform(-0.1, 0.1, 2)
    return AffineLayer(weights, bias), AffineLayer(other, bias)


@pytest.fixture(scope="module")
def duplicated(exchange):
    """A student whose first two features are the same number."""
    features = np.random.default_rng(0).uniform(-1, 1, (SAMPLES, FEATURES))
    features[:, 1] = features[:, 0]
    return exchange(spec_of(), features, backend="rns")


def phases(exchange, layer, sanitize):
    """Message coefficients with their noise, at the flooding level, in integer units."""
    (features,) = exchange.features
    evaluator = exchange.evaluator
    value = evaluator.linear(features, exchange.plan.specs[0], layer)
    value = evaluator.rescale(value, exchange.plan.schedule.flooding_limbs)
    value = sanitize(value)
    half = np.arange(exchange.params.slots)
    data = evaluator.extract(value, half).data
    opened = exchange.keys.decryptor.open(Released(value.meta, half, data))
    return opened * 2.0**value.meta.log2_scale


def scores(exchange, sanitize, deviation, trials):
    """How far each answer leans to the model that gave it, in standard deviations of chance.

    The best test between two known values under noise: the projection on their difference.
    """
    result = []
    for seed in range(trials):
        models = twins(seed)
        exact = [phases(exchange, model, lambda value: value) for model in models]
        truth = seed % 2
        seen = phases(exchange, models[truth], sanitize)
        difference = exact[truth] - exact[1 - truth]
        lean = ((seen - (exact[0] + exact[1]) / 2) * difference).sum()
        result.append(lean / (deviation * np.linalg.norm(difference)))
    return np.array(result)


def test_twins_say_the_same_on_the_students_samples(duplicated):
    one, other = twins(0)
    slots = steps.pack(duplicated.plan, features_of_duplicates())[0]
    assert (one.weights != other.weights).any()
    np.testing.assert_allclose(one.weights @ slots, other.weights @ slots, atol=1e-9)


def features_of_duplicates():
    features = np.random.default_rng(0).uniform(-1, 1, (SAMPLES, FEATURES))
    features[:, 1] = features[:, 0]
    return features


def test_masks_alone_do_not_hide_which_twin_answered(duplicated, monkeypatch):
    """With fresh encryptions of zero but hardly any flooding every answer is told apart."""
    monkeypatch.setattr(rules, "flooding", lambda x, bits: 0)  # noqa: ARG005

    def masked_only(value):
        return duplicated.evaluator.sanitize(value, BITS)

    deviation = rounding(duplicated.params.ring_degree, 2, slots=False)
    leans = scores(duplicated, masked_only, deviation, trials=6)
    assert (leans > 7).all()


def test_flooding_hides_which_twin_answered(duplicated):
    def sanitized(value):
        return duplicated.evaluator.sanitize(value, BITS)

    (features,) = duplicated.features
    value = duplicated.evaluator.linear(features, duplicated.plan.specs[0], twins(0)[0])
    value = duplicated.evaluator.rescale(value, duplicated.plan.schedule.flooding_limbs)
    deviation = 2.0 ** rules.flooding(value.meta, BITS) / math.sqrt(3)
    leans = scores(duplicated, sanitized, deviation, trials=12)
    # Each is standard normal; so is their sum over the root of their number.
    assert np.abs(leans).max() < 6.5
    assert abs(leans.sum()) / math.sqrt(len(leans)) < 6.5
    assert leans.std() > 0.1


def test_hidden_units_in_another_order_or_with_another_sign_are_no_twins_at_all(exchange):
    """They compute the same ciphertext: there is nothing to hide between them."""
    features = np.random.default_rng(0).uniform(-1, 1, (SAMPLES, FEATURES))
    here = exchange(spec_of(3), features, backend="rns")
    first, second = here.layers
    order, signs = np.array([2, 0, 1]), np.array([1, -1, -1])
    moved = (
        AffineLayer((first.weights * signs[:, None])[order], (first.bias * signs)[order]),
        AffineLayer(second.weights[:, order], second.bias),
    )

    def whole(layers):
        logits = logits_of(here, list(layers))
        return here.evaluator.extract(logits, None).data

    assert whole(moved) == whole((first, second))
