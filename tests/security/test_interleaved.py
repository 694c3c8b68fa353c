"""Features beside each other in a ciphertext: what their products tell beside the release.

Adversary: a student, curious or dishonest. With k features p_f in x = sum_f X^f p_f(Y) and Y = X^k,
a teacher's product is y = sum_f w_f X^-f x. Its part without X is the hidden unit. The part at X^r
is sum_f w_f p_(f + r): with one feature alone it shows every weight of that feature's ciphertext.
No release names these parts. A dishonest student may also send any coefficients, any key of the
right length, and may read every byte of the answer.
Protected: these parts, by the sum over the powers of one automorphism, before anything else happens
to a product. Coefficients of an answer that are no multiples of k, which are not sent.
Still disclosed: the released numbers, n = N / k a class, and so the map of n / 2 values in each
feature, whatever number of samples is claimed; these values may be complex. Where masks do not
outlast a dishonest key, all N numbers a class are charged.
"""

import numpy as np
import pytest
from msgspec.structs import replace

from securefair.circuit.network import network_logits, relinearized
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.backends import interleaved, seal_keys
from securefair.ckks.backends.patched import whole
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.encoding import slot_exponents
from securefair.ckks.evaluator import Released
from securefair.ckks.interleaving import released
from securefair.ckks.keys import PublicKeys
from securefair.ckks.tensor import CipherTensor
from securefair.errors import EncryptionError
from securefair.exchange import steps
from support.beside import plan_beside

FEATURES, HIDDEN, CLASSES, SAMPLES = 196, 3, 2, 20
PARTS = 16


@pytest.fixture(scope="module")
def beside(exchange):
    """A student whose samples hold 1/2 in feature 5 and 0 elsewhere."""
    spec = ExchangeSpec(
        features=FEATURES, classes=CLASSES, samples=SAMPLES, hidden=HIDDEN, release="logits"
    )
    features = np.zeros((SAMPLES, FEATURES))
    features[:, 5] = 0.5
    return exchange(spec, features, backend="rns", plan=plan_beside(spec, PARTS))


def message(beside, tensor):
    """All coefficients (count, N) of what the holder of the key decrypts."""
    everything = np.arange(beside.params.ring_degree)
    data = beside.evaluator.extract(tensor, everything).data
    return beside.keys.decryptor.open(Released(tensor.meta, everything, data))


def products(beside, features=None):
    """What a teacher would have without the sum over powers: (units) products y_u.

    At the scale of the upload times that of the weights.
    """
    (x,), spec = features or beside.features, beside.plan.specs[0]
    basis = beside.evaluator._basis(x.meta)
    found = interleaved._products(beside.layers[0].weights, whole(x.payload), PARTS, basis)
    mapped = rules.interleaved_linear(x.meta, spec)
    meta = replace(mapped, log2_scale=x.meta.log2_scale + spec.log2_scale)
    return CipherTensor(meta, found)


def separated(beside, evaluator=None, features=None):
    evaluator = evaluator or beside.evaluator
    (x,) = features or beside.features
    return evaluator.interleaved_linear(x, beside.plan.specs[0], beside.layers[0])


def logits(beside, features):
    return network_logits(
        beside.evaluator,
        features,
        beside.plan.specs,
        beside.plan.schedule.stages,
        beside.plan.spec.layers,
        beside.layers,
    )


def exact_logits(beside, values):
    """The model of complex values (features, n / 2), with its weights as rounded."""
    first, second = beside.layers
    scales = [2.0**-spec.log2_scale for spec in beside.plan.specs]
    hidden = first.weights * scales[0] @ values + first.bias[:, None]
    return second.weights * scales[1] @ hidden**2 + second.bias[:, None]


def slots_of(coefficients):
    """Complex values of polynomials (count, n) in the slots."""
    n = coefficients.shape[1]
    twisted = coefficients * np.exp(1j * np.pi * np.arange(n) / n)
    return (np.fft.ifft(twisted, axis=1) * n)[:, slot_exponents(n) // 2]


def loaded(beside, coefficients):
    """A dishonest upload: polynomials (count, N) of the student's choice."""
    upload = steps.encrypt(beside.keys.encryptor, beside.plan.features, coefficients[None])
    return steps.receive(beside.evaluator, beside.plan.features, upload, 1)[0]


def with_rotation_key(beside, key):
    keys = beside.keys.public
    public = PublicKeys(keys.encryption, keys.relinearization, key)
    return beside.backend.evaluator(beside.params, public)


def test_products_would_tell_single_weights_that_no_release_names(beside):
    """The attack on the unprotected variant: X^(5 - f) has feature 5 times the weight of f.

    A constant feature is a constant polynomial, so each weight has a coefficient of its own.
    """
    weights = beside.layers[0].weights * 2.0 ** -beside.plan.specs[0].log2_scale
    opened = message(beside, products(beside))
    n = beside.params.ring_degree
    for f in range(PARTS):
        place = (5 - f) % (2 * n)
        sign = 1 if place < n else -1
        np.testing.assert_allclose(sign * opened[:, place % n], weights[:, f] / 2, atol=1e-9)
    others = [f for f in range(PARTS) if f != 5]
    assert np.abs(weights[:, others]).max() > 1e-3


def test_products_would_tell_partial_sums_of_weights(beside):
    """All features of one ciphertext hold 1/2. At X^3 are the weights of all but the last three."""
    packed = np.zeros((beside.plan.features.count, beside.params.ring_degree))
    packed[0, :PARTS] = 0.5
    weights = beside.layers[0].weights[:, :PARTS] * 2.0 ** -beside.plan.specs[0].log2_scale
    opened = message(beside, products(beside, [loaded(beside, packed)]))
    expected = weights[:, : PARTS - 3].sum(axis=1) / 2
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(opened[:, 3], expected, atol=1e-9)


def test_after_the_sum_over_powers_nothing_of_it_is_left(beside):
    n = beside.params.ring_degree
    rng = np.random.default_rng(0)
    packed = rng.uniform(-1, 1, (beside.plan.features.count, n)) / np.sqrt(n)
    for features in (beside.features, [loaded(beside, packed)]):
        mapped = separated(beside, features=features)
        opened = message(beside, mapped)
        others = np.delete(opened, released(n, PARTS), axis=1)
        error = rules.coefficient_error(mapped.meta)
        assert np.abs(others).max() <= error < 1e-7
        assert np.abs(opened[:, ::PARTS]).max() > 1e3 * error


def test_the_logits_hold_noise_where_no_coefficient_is_released(beside):
    """Also squared, mapped again, rescaled and flooded."""
    plan = beside.plan
    value = logits(beside, beside.features[0])
    if plan.schedule.relinearize:
        value = relinearized(beside.evaluator, value, plan.schedule.flooding_limbs)
    value = beside.evaluator.rescale(value, plan.schedule.flooding_limbs)
    value = beside.evaluator.sanitize(value, plan.schedule.flooding_bits)
    opened = message(beside, value)
    others = np.delete(opened, released(beside.params.ring_degree, PARTS), axis=1)
    error = rules.coefficient_error(value.meta)
    assert np.abs(others).max() <= error
    assert np.abs(opened[:, 0]).max() > error


def test_random_coefficients_are_answered_by_the_map_of_their_values(beside):
    """A dishonest upload: n / 2 complex values in each feature, and in those that are none."""
    n, short = beside.params.ring_degree, beside.params.ring_degree // PARTS
    rng = np.random.default_rng(1)
    packed = rng.uniform(-1, 1, (beside.plan.features.count, n)) / np.sqrt(FEATURES * short)
    parts = packed.reshape(-1, short, PARTS).swapaxes(1, 2).reshape(-1, short)
    values = slots_of(parts)[:FEATURES]
    assert np.abs(values.imag).max() > 1e-2
    upload = loaded(beside, packed)
    expected = exact_logits(beside, values)

    def error(coefficients):
        assert coefficients.shape == (CLASSES, short)
        return np.abs(slots_of(coefficients) - expected).max()

    value = logits(beside, upload)
    found = error(message(beside, value)[:, ::PARTS])
    assert found <= np.sqrt(2) * rules.slot_error(value.meta)
    assert found < np.abs(expected.imag).max() / 100
    answer = beside.answer(features=[upload])
    found = error(beside.keys.decryptor.open(answer))
    assert 0 < found <= np.sqrt(2) * rules.slot_error(answer.meta)


def test_features_beyond_the_agreed_ones_are_not_answered(beside):
    """The last ciphertext has room for twelve more: their weights are zero."""
    n = beside.params.ring_degree
    room = beside.plan.features.count * PARTS - FEATURES
    assert room == 12
    packed = np.zeros((beside.plan.features.count, n))
    silent = beside.answer(features=[loaded(beside, packed)])
    packed[-1, PARTS - room : PARTS] = 0.9
    answer = beside.answer(features=[loaded(beside, packed)])
    opened = [beside.keys.decryptor.open(each) for each in (silent, answer)]
    assert np.abs(opened[1] - opened[0]).max() <= 2 * rules.coefficient_error(answer.meta)


def test_what_was_not_separated_is_refused_where_answers_are_made(beside):
    for step in (
        beside.evaluator.square,
        lambda x: beside.evaluator.linear(x, beside.plan.specs[1], beside.layers[1]),
        lambda x: beside.evaluator.paired_linear(x, beside.plan.specs[0], beside.layers[0]),
        lambda x: beside.evaluator.real_part(x, bound=1.0),
    ):
        with pytest.raises(EncryptionError):
            step(beside.features[0])


def test_without_its_key_there_is_no_answer(beside):
    with pytest.raises(EncryptionError, match="no rotation key"):
        beside.answer(evaluator=with_rotation_key(beside, b""))


def test_an_answer_holds_n_coefficients_a_class_and_no_more(beside):
    plan, answer = beside.plan, beside.answer()
    n, limbs = beside.params.ring_degree, plan.schedule.answer_limbs
    assert answer.coefficients.tolist() == list(range(0, n, PARTS))
    assert plan.numbers == CLASSES * n // PARTS
    assert len(answer.data) == plan.answer_bytes
    masks, values = beside.parts(answer)
    assert masks.shape == (CLASSES, 1, limbs, n)
    assert values.shape == (CLASSES, n // PARTS, limbs)
    assert len(answer.data) == 4 * CLASSES * limbs * (n + n // PARTS)  # words of 32 bits


def test_coefficients_that_are_not_sent_are_not_in_the_answer(beside):
    """Zeros in their places decrypt to masks alone: they would have told the message and noise."""
    answer = beside.answer()
    opened = beside.keys.decryptor.open(answer)
    filled = beside.zero_filled(answer)
    places = released(beside.params.ring_degree, PARTS)
    np.testing.assert_array_equal(filled[:, places], opened)
    others = np.delete(filled, places, axis=1) * 2.0**answer.meta.log2_scale
    q = 2.0**answer.meta.log_q
    # Uniform up to half the modulus, whatever the message is.
    assert 0.2 < others.std() / q < 0.4
    assert abs(others.mean()) < 0.02 * q


def test_what_is_not_sent_looks_uniform(beside, uniform):
    answer = beside.answer()
    filled = beside.zero_filled(answer) * 2.0**answer.meta.log2_scale
    others = np.delete(filled, released(beside.params.ring_degree, PARTS), axis=1)
    q = 2.0**answer.meta.log_q
    assert uniform(others, q, -q / 2)


def key_for(beside, element):
    """The student's own key for another automorphism, as long as the planned one."""
    context, limbs = seal_context(beside.params), beside.plan.galois_limbs
    secret = seal_keys.import_secret_key(context, beside.keys.export().reveal())
    makers = {limbs: seal_keys._short_generator(context, secret, limbs)}
    return seal_keys._switching_key(context, makers, limbs, element)


def strangers_key(beside):
    """For the planned automorphism, under another secret."""
    other = beside.backend.generate_keys(
        beside.params, galois=beside.plan.galois_limbs, element=beside.plan.galois_element
    )
    return other.public.galois


DISHONEST = {
    "another secret": strangers_key,
    "zeros": lambda beside: bytes(len(beside.keys.public.galois)),
    "conjugation": lambda beside: key_for(beside, 2 * beside.params.ring_degree - 1),
    "fewer parts": lambda beside: key_for(beside, 2 * beside.params.ring_degree // 8 + 1),
}


@pytest.mark.parametrize("key", DISHONEST)
def test_dishonest_rotation_keys_make_noise_and_no_more_numbers(beside, key):
    """What they switch is lost in a modulus of noise."""
    data = DISHONEST[key](beside)
    assert len(data) == len(beside.keys.public.galois)
    evaluator = with_rotation_key(beside, data)
    mapped = separated(beside, evaluator)
    assert np.abs(message(beside, mapped)).std(axis=1).min() > 1e6
    honest, answer = beside.answer(), beside.answer(evaluator=evaluator)
    assert len(answer.data) == len(honest.data) == beside.plan.answer_bytes
    opened = beside.keys.decryptor.open(answer)
    assert opened.size == beside.plan.numbers
    bound = answer.meta.bound + rules.coefficient_error(answer.meta)
    assert np.abs(opened).max() > bound  # a student refuses to open it


def test_the_students_own_key_is_the_one_that_key_for_makes(beside):
    """So the keys above are keys, of other automorphisms."""
    evaluator = with_rotation_key(beside, key_for(beside, beside.plan.galois_element))
    found, expected = (message(beside, separated(beside, e)) for e in (evaluator, None))
    error = rules.coefficient_error(separated(beside).meta)
    assert np.abs(found - expected).max() <= 2 * error
