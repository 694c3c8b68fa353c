"""Pairs of values in one ciphertext, on every backend: their maps, and what conjugation leaves."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.ckks import rules
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys
from securefair.ckks.layers import AffineLayer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.specs import AffineSpec
from securefair.errors import EncryptionError, ModelError
from support.examples import examples

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(27, 26, 24), special_bits=29))
BITS = 6


class Side:
    """A student's keys and a teacher's evaluator."""

    def __init__(self, backend):
        self.keys = backend.generate_keys(PARAMS, galois=PARAMS.limbs)
        self.evaluator = backend.evaluator(PARAMS, self.keys.public)

    def upload(self, values, log2_scale=35.0):
        """Values (d, n <= N/2), two in a ciphertext."""
        even = np.zeros((len(values) + len(values) % 2, PARAMS.slots))
        even[: len(values), : values.shape[1]] = values
        return self.loaded(even.reshape(-1, 2 * PARAMS.slots), log2_scale)

    def loaded(self, packed, log2_scale):
        meta = rules.fresh(
            PARAMS,
            count=len(packed),
            limbs=3,
            log2_scale=log2_scale,
            bound=np.sqrt(2.0),
            packing="feature pairs",
        )
        return self.evaluator.load(self.keys.encryptor.encrypt(packed, meta), meta)

    def open(self, tensor, coefficients=None):
        released = self.evaluator.extract(tensor, coefficients)
        return self.keys.decryptor.open(Released(released.meta, coefficients, released.data))


@pytest.fixture(scope="session")
def side(backend):
    return Side(backend)


def layer_of(rng, inputs, outputs):
    weights = rng.integers(-(1 << BITS), 1 << BITS, (outputs, inputs), endpoint=True)
    bias = rng.uniform(-1, 1, outputs)
    real = np.abs(weights) * 2.0**-BITS
    l1 = max(float(real.sum(axis=1).max()), 2.0**-BITS)
    spec = AffineSpec(
        inputs=inputs,
        outputs=outputs,
        log2_scale=BITS,
        max_integer=1 << BITS,
        l1=l1,
        l2=max(float(np.sqrt((real**2).sum(axis=1)).max()), 2.0**-BITS),
        bound=l1 + 1.0,
    )
    return spec, AffineLayer(weights, bias)


@settings(max_examples=examples(8))
@given(
    inputs=st.integers(1, 5),
    outputs=st.integers(1, 4),
    used=st.sampled_from([1, 70, 2048]),
    seed=st.integers(0, 2**32),
)
def test_the_real_part_is_the_map_of_all_values(side, inputs, outputs, used, seed):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, (inputs, used))
    spec, layer = layer_of(rng, inputs, outputs)
    mapped = side.evaluator.paired_linear(side.upload(values), spec, layer)
    real = side.evaluator.real_part(mapped, bound=spec.bound)
    assert real.meta.packing == "slots"
    assert real.meta.log2_scale == 35 + BITS + 1
    whole = np.zeros((inputs, PARAMS.slots))
    whole[:, :used] = values
    opened = side.open(real)
    assert opened.shape == (outputs, PARAMS.slots)
    assert np.abs(opened - layer.apply(whole, BITS)).max() <= rules.slot_error(real.meta)


def test_the_error_bound_of_real_parts_is_not_far_above_their_errors(side, backend):
    if backend.name not in ("rns", "seal"):
        pytest.skip("the noise of this backend is none, or its own")
    rng = np.random.default_rng(3)
    values = rng.uniform(-1, 1, (40, PARAMS.slots))
    spec, layer = layer_of(rng, 40, 3)
    mapped = side.evaluator.paired_linear(side.upload(values), spec, layer)
    real = side.evaluator.real_part(mapped, bound=spec.bound)
    error = np.abs(side.open(real) - layer.apply(values, BITS)).max()
    bound = rules.slot_error(real.meta)
    assert bound / 16 < error <= bound


OUTER = AffineSpec(inputs=2, outputs=1, log2_scale=3, max_integer=8, l1=2.0, l2=2.0, bound=20.0)


def test_heads_in_one_are_their_steps(side, backend):
    if backend.name == "openfhe":
        pytest.skip("its ciphertexts are written with fresh noise")
    rng = np.random.default_rng(5)
    values = rng.uniform(-1, 1, (3, PARAMS.slots))
    inner, layer = layer_of(rng, 3, 2)
    outer = AffineLayer(np.array([[8, -5]]), np.array([0.25]))
    x = side.upload(values, 16.0)
    whole = side.evaluator.quadratic(x, [(inner, layer), (OUTER, outer)])
    mapped = side.evaluator.paired_linear(x, inner, layer)
    part = side.evaluator.real_part(mapped, bound=inner.bound)
    steps = side.evaluator.linear(side.evaluator.square(part), OUTER, outer)
    assert whole.meta == steps.meta
    written = [side.evaluator.extract(each, None).data for each in (whole, steps)]
    assert written[0] == written[1]


def test_a_row_of_zeros_is_its_bias(side):
    spec, _ = layer_of(np.random.default_rng(0), 3, 2)
    layer = AffineLayer(np.array([[0, 0, 0], [1, 2, 3]]), np.array([0.5, -0.25]))
    values = np.random.default_rng(1).uniform(-1, 1, (3, 9))
    mapped = side.evaluator.paired_linear(side.upload(values), spec, layer)
    real = side.evaluator.real_part(mapped, bound=spec.bound)
    assert np.abs(side.open(real)[0] - 0.5).max() <= rules.slot_error(real.meta)


def test_products_hold_more_than_the_map_until_conjugates_are_added(side, backend):
    """What is removed is weights times the other feature: the J part, here of feature one alone."""
    if backend.name == "openfhe":
        pytest.skip("its pairs are two ciphertexts, which hold no such part")
    layer = AffineLayer(np.array([[40, -25]]), np.zeros(1))
    spec = AffineSpec(
        inputs=2, outputs=1, log2_scale=BITS, max_integer=64, l1=2.0, l2=1.0, bound=2.0
    )
    values = np.zeros((2, PARAMS.slots))
    values[0] = 0.5
    mapped = side.evaluator.paired_linear(side.upload(values), spec, layer)
    n, middle = PARAMS.ring_degree, PARAMS.ring_degree // 2

    def j_part(tensor):
        """The coefficient of J in the message: the mean over slots of what conjugation negates."""
        if backend.name == "clear":
            width = tensor.payload.shape[1] // PARAMS.slots
            return np.split(tensor.payload, width, axis=1)[1].mean() if width == 2 else 0.0
        return side.open(tensor, np.arange(n))[0, middle]

    real = side.evaluator.real_part(mapped, bound=spec.bound)
    error = rules.coefficient_error(real.meta)
    assert abs(j_part(mapped) - 25 / 64 * 0.5) <= 2 * error  # -v x of the second weight
    assert abs(j_part(real)) <= error


def test_pairs_are_neither_multiplied_nor_sanitised(side):
    spec, layer = layer_of(np.random.default_rng(0), 2, 1)
    next_spec = dataclasses.replace(spec, inputs=1)
    next_layer, ev = AffineLayer(layer.weights[:, :1], layer.bias), side.evaluator
    mapped = ev.paired_linear(side.upload(np.ones((2, 4))), spec, layer)
    real = ev.real_part(mapped, bound=9.0)
    for refused in (
        lambda x: ev.square(x),
        lambda x: ev.multiply(x, x),
        lambda x: ev.linear(x, next_spec, next_layer),
        lambda x: ev.paired_linear(x, next_spec, next_layer),
        lambda x: ev.sanitize(x, 30),
        lambda _: ev.real_part(real, bound=9.0),
    ):
        with pytest.raises(EncryptionError, match=r"pairs|slots"):
            refused(mapped)


def test_maps_of_another_width_or_beyond_their_bounds_are_refused(side):
    spec, layer = layer_of(np.random.default_rng(0), 5, 1)
    with pytest.raises(EncryptionError, match="another width"):
        side.evaluator.paired_linear(side.upload(np.ones((4, 4))), spec, layer)
    heavy = AffineLayer(np.full((1, 5), 64), np.zeros(1))
    light = AffineSpec(
        inputs=5, outputs=1, log2_scale=BITS, max_integer=64, l1=1.0, l2=1.0, bound=2.0
    )
    with pytest.raises(ModelError, match="l1 norm"):
        side.evaluator.paired_linear(side.upload(np.ones((5, 4))), light, heavy)


def test_a_missing_conjugation_key_is_missed_when_it_is_needed(side, backend):
    if backend.name not in ("rns", "seal"):
        pytest.skip("this backend switches no keys of ours")
    without = PublicKeys(side.keys.public.encryption, b"")
    evaluator = backend.evaluator(PARAMS, without)
    spec, layer = layer_of(np.random.default_rng(0), 2, 1)
    mapped = evaluator.paired_linear(side.upload(np.ones((2, 4))), spec, layer)
    with pytest.raises(EncryptionError, match="no conjugation key"):
        evaluator.real_part(mapped, bound=spec.bound)


@pytest.mark.parametrize("data", [b"x", bytes(1000)])
def test_conjugation_keys_that_are_none_are_refused(side, backend, data):
    if backend.name not in ("rns", "seal"):
        pytest.skip("this backend switches no keys of ours")
    with pytest.raises(EncryptionError):
        backend.evaluator(PARAMS, PublicKeys(side.keys.public.encryption, b"", data))
