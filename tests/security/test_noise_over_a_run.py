"""Sanitising over a whole run: uniform flooding against Gaussian, and noise of a hostile student.

Adversary: a student that puts what noise it likes into its ciphertexts, and asks again and again.
Protected: how an answer was computed, beyond its value.
Still disclosed: functionals of its choice, as many numbers as the ledger grants; large noise is
one way to choose them, and buys no more than features of the same size do.
"""

import math

import numpy as np
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import masking, rules
from securefair.ckks.encoding import to_slots
from securefair.ckks.evaluator import Released
from securefair.ckks.layers import AffineLayer

SAMPLES, FEATURES = 60, 4
BITS = 30


# -- uniform and Gaussian, over m numbers ----------------------------------------------------------


def uniform_distance(shift, amplitude, numbers):
    """Total variation between `numbers` uniform draws, and the same shifted: exact."""
    return 1 - (1 - min(1.0, shift / (2 * amplitude))) ** numbers


def gaussian_distance(shift, deviation, numbers):
    """The same for Gaussians: they differ along one line only, so numbers count by their root."""
    return math.erf(math.sqrt(numbers) * shift / (2 * math.sqrt(2) * deviation))


def advantage(first, second, rng, score):
    """How much better than guessing a test tells two noises apart, measured."""
    hits = np.mean([score(first(rng)) for _ in range(4000)])
    false = np.mean([score(second(rng)) for _ in range(4000)])
    return float(hits - false)


@pytest.mark.parametrize("numbers", [1, 16, 256])
def test_distances_are_what_the_best_tests_reach(numbers):
    """Likelihood ratios at sizes where the distance can be measured: formulas and tests agree."""
    rng = np.random.default_rng(numbers)
    amplitude, shift = 1.0, 0.5 / numbers
    deviation = amplitude / math.sqrt(3)  # as much error for the student

    def outside(x):
        return bool((x > amplitude).any())  # only the shifted one reaches there

    measured = advantage(
        lambda r: r.uniform(-amplitude, amplitude, numbers) + shift,
        lambda r: r.uniform(-amplitude, amplitude, numbers),
        rng,
        outside,
    )
    assert measured == pytest.approx(uniform_distance(shift, amplitude, numbers), abs=0.05)
    measured = advantage(
        lambda r: r.normal(0, deviation, numbers) + shift,
        lambda r: r.normal(0, deviation, numbers),
        rng,
        lambda x: x.sum() > numbers * shift / 2,
    )
    assert measured == pytest.approx(gaussian_distance(shift, deviation, numbers), abs=0.05)


@pytest.mark.parametrize(
    ("release", "uniform", "gaussian"), [("logits", 11.7, 20.6), ("projection", 18.7, 24.1)]
)
def test_what_gaussian_flooding_would_gain_over_forty_answers(release, uniform, gaussian):
    """At the same error for the student; stated in docs/threat-model.md."""
    spec = ExchangeSpec(features=32, classes=2, samples=4096, hidden=16, release=release, q=64)
    plan = plan_exchange(spec, coefficients=False)
    numbers, shift = plan.numbers * 40, 2.0**-plan.schedule.flooding_bits
    uniform_bits = -math.log2(uniform_distance(shift, 1.0, numbers))
    gaussian_bits = -math.log2(gaussian_distance(shift, 1 / math.sqrt(3), numbers))
    assert uniform_bits == pytest.approx(uniform, abs=0.3)
    assert gaussian_bits == pytest.approx(gaussian, abs=0.3)


def sum_of_uniforms(count, step=1e-3):
    """Density of a sum of so many uniform numbers, deviation 1, on points `step` apart."""
    width = 2 * math.sqrt(3 / count)
    one = np.full(round(width / step) + 1, 1 / width)
    one[[0, -1]] /= 2
    density = one
    for _ in range(count - 1):
        density = np.convolve(density, one) * step
    return density


def fisher_information(density, step=1e-3):
    slope, inside = np.gradient(density, step), density > 1e-7
    return float((slope[inside] ** 2 / density[inside]).sum() * step)


def test_a_sum_of_four_is_nearly_as_good_as_a_gaussian():
    """Docs/decisions/0055: 1.04 times the Fisher information; of two uniforms it is infinite."""
    four = sum_of_uniforms(4)
    at = (np.arange(len(four)) - len(four) // 2) * 1e-3
    assert (four * at**2).sum() * 1e-3 == pytest.approx(1, abs=1e-3)
    assert fisher_information(four) == pytest.approx(1.039, abs=2e-3)
    steps = [fisher_information(sum_of_uniforms(2, step), step) for step in (1e-2, 1e-3)]
    assert steps[1] > steps[0] + 0.3


@pytest.mark.parametrize(
    ("numbers", "uniform", "sums"),
    [
        (128, 24.0, {22: 19.0, 24: 21.0, 26: 23.0, 30: 27.0}),
        (128 * 40, 18.7, {22: 16.3, 24: 18.3, 26: 20.3, 30: 24.3}),
        (16384, 17.0, {22: 15.5, 24: 17.5, 26: 19.5, 30: 23.5}),
        (16384 * 40, 11.7, {22: 12.8, 24: 14.8, 26: 16.8, 30: 20.8}),
        (81920 * 40, 9.4, {22: 11.7, 24: 13.7, 26: 15.7, 30: 19.7}),
        (81920 * 1000, 4.7, {30: 17.4}),
    ],
)
def test_what_sums_of_four_would_leave_over_a_run(numbers, uniform, sums):
    """At the same error for the student; stated in docs/decisions/0055."""
    found = -math.log2(uniform_distance(2.0**-30, 1.0, numbers))
    assert found == pytest.approx(uniform, abs=0.1)
    deviation = 1 / math.sqrt(3 * fisher_information(sum_of_uniforms(4)))
    for bits, expected in sums.items():
        left = -math.log2(gaussian_distance(2.0**-bits, deviation, numbers))
        assert left == pytest.approx(expected, abs=0.1)


def test_one_number_is_hidden_by_its_largest_density():
    """A shift moves so much of a density with one peak: 2^-22.6 where uniform noise has 2^-31."""
    for bits, expected in {22: 22.6, 24: 24.6, 26: 26.6, 30: 30.6}.items():
        moved = sum_of_uniforms(4).max() * 2.0**-bits * math.sqrt(3)
        assert -math.log2(moved) == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize(
    ("bits", "limbs", "bytes_a_sample"),
    [(30, 6, 10628), (26, 5, 9924), (24, 5, 9668), (22, 5, 9412)],
)
def test_what_fewer_bits_of_flooding_would_save(bits, limbs, bytes_a_sample):
    """Of the exchange that docs/performance.md measures; stated in docs/decisions/0055."""
    spec = ExchangeSpec(
        features=512, hidden=64, classes=10, samples=4096, release="logits", flooding_bits=bits
    )
    plan = plan_exchange(spec)
    assert plan.params.limbs == limbs
    assert plan.feature_bytes / spec.samples == pytest.approx(bytes_a_sample, abs=1)


# -- noise of the student's choice -----------------------------------------------------------------


def layers_of(seed):
    rng = np.random.default_rng(seed)
    return AffineLayer(rng.integers(-900, 900, (2, FEATURES)), np.zeros(2))


def with_noise(exchange, layer, noise):
    """What the student opens when its ciphertexts carry this noise (FEATURES, N), in integers."""
    plan = exchange.plan
    n = plan.params.ring_degree
    # As the student would: noise in the message, where encryption noise is.
    values = noise * 2.0**-plan.features.log2_scale
    upload = exchange.keys.encryptor.encrypt(to_slots(values), plan.features)
    tampered = exchange.evaluator.load(upload, plan.features)
    value = exchange.evaluator.linear(tampered, plan.specs[0], layer)
    value = exchange.evaluator.rescale(value, plan.schedule.flooding_limbs, slots=False)
    value = exchange.evaluator.sanitize(value, plan.schedule.flooding_bits)
    everything = np.arange(n)
    data = exchange.evaluator.extract(value, everything).data
    opened = exchange.keys.decryptor.open(Released(value.meta, everything, data))
    return opened * 2.0**value.meta.log2_scale, value.meta


@pytest.mark.parametrize("oversized", [2.0**4, 2.0**16])
def test_correlated_and_oversized_noise_stays_under_the_flooding(exchange, oversized):
    """The same noise in every ciphertext, up to 2^16 times that of encryption: sqrt(d) and 16 bits
    of the hiding are used up, and the rest of it hides which model answered."""
    spec = ExchangeSpec(features=FEATURES, classes=2, samples=SAMPLES, hidden=0, q=8)
    here = exchange(spec, np.zeros((SAMPLES, FEATURES)), backend="rns")
    n = here.plan.params.ring_degree
    rng = np.random.default_rng(7)
    one = rng.choice([-1.0, 1.0], n) * oversized
    noise = np.tile(one, (FEATURES, 1))
    opened, meta = with_noise(here, layers_of(0), noise)
    deviation = meta.flood / math.sqrt(3)
    lean = (opened @ one) / (np.linalg.norm(one) * deviation)  # the best test for what was put in
    assert np.abs(lean).max() < 6.5
    assert np.abs(opened).max() <= meta.flood * (1 + 2.0**-8)


def test_noise_above_the_flooding_comes_back_times_the_weights(exchange):
    """It buys what features of that size buy: a number of the student's choice, of as many bits."""
    spec = ExchangeSpec(features=FEATURES, classes=2, samples=SAMPLES, hidden=0, q=8)
    here = exchange(spec, np.zeros((SAMPLES, FEATURES)), backend="rns")
    n = here.plan.params.ring_degree
    size = 2.0 ** (here.plan.features.log2_scale - 8)
    noise = np.zeros((FEATURES, n))
    noise[0, 5] = size
    layer = layers_of(0)
    opened, meta = with_noise(here, layer, noise)
    dropped = math.prod(here.plan.params.primes[meta.limbs :])
    seen = 2 * opened[:, 5] * dropped / size  # slots are real: the other half lies at N - 5
    np.testing.assert_allclose(seen, layer.weights[:, 0], atol=2.1 * meta.flood * dropped / size)
    carried = math.log2(np.ptp(layer.weights) * size / dropped / meta.flood)
    assert carried < masking.number_bits(meta)
    assert rules.TAIL * meta.noise > meta.flood
