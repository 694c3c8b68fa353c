"""Features beside each other in one ciphertext, on every backend: their map and its refusals."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from securefair.ckks import rules
from securefair.ckks.evaluator import Released
from securefair.ckks.interleaving import element, interleave, released, separate
from securefair.ckks.keys import PublicKeys
from securefair.ckks.layers import AffineLayer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherTensor
from securefair.errors import EncryptionError, ModelError
from support.examples import examples

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(27, 26, 24), special_bits=29))
N, BITS = PARAMS.ring_degree, 6


class Side:
    """A student's keys and a teacher's evaluator."""

    def __init__(self, backend, parts):
        self.parts = parts
        self.keys = backend.generate_keys(PARAMS, galois=PARAMS.limbs, element=element(N, parts))
        self.evaluator = backend.evaluator(PARAMS, self.keys.public)

    def upload(self, values, log2_scale=40.0):
        """Values (d, n <= N / (2 parts)), `parts` in a ciphertext."""
        return self.loaded(interleave(values, self.parts, N), log2_scale)

    def loaded(self, packed, log2_scale=40.0):
        meta = rules.fresh(
            PARAMS,
            count=len(packed),
            limbs=3,
            log2_scale=log2_scale,
            bound=1.0,
            packing="coefficients",
            parts=self.parts,
        )
        return self.evaluator.load(self.keys.encryptor.encrypt(packed, meta), meta)

    def coefficients(self, tensor, chosen=None):
        """The message polynomials (count, N), or some of their coefficients."""
        chosen = np.arange(N) if chosen is None else chosen
        data = self.evaluator.extract(tensor, chosen).data
        return self.keys.decryptor.open(Released(tensor.meta, chosen, data))

    def values(self, tensor):
        """What a student opens: (outputs, N / (2 parts))."""
        return separate(self.coefficients(tensor), self.parts)[:: self.parts]


@cache
def _side(backend, parts):
    return Side(backend, parts)


@pytest.fixture(scope="session")
def side(backend):
    """Keys are made once for each number of parts."""
    if backend.name == "openfhe":
        pytest.skip("the openfhe backend packs in slots only")
    return lambda parts: _side(backend, parts)


def layer_of(rng, inputs, outputs):
    weights = rng.integers(-(1 << BITS), 1 << BITS, (outputs, inputs), endpoint=True)
    bias = rng.uniform(-1, 1, outputs)
    return spec_of(weights, bias), AffineLayer(weights, bias)


def spec_of(weights, bias):
    real = np.abs(weights) * 2.0**-BITS
    l1 = max(float(real.sum(axis=1).max()), 2.0**-BITS)
    return AffineSpec(
        inputs=weights.shape[1],
        outputs=len(weights),
        log2_scale=BITS,
        max_integer=1 << BITS,
        l1=l1,
        l2=max(float(np.sqrt((real**2).sum(axis=1)).max()), 2.0**-BITS),
        bound=l1 + float(np.abs(bias).max()) + 0.01,
    )


def padded(values, parts):
    whole = np.zeros((len(values), N // (2 * parts)))
    whole[:, : values.shape[1]] = values
    return whole


@settings(max_examples=examples(8))
@given(
    parts=st.sampled_from([2, 4, 8]),
    inputs=st.integers(1, 19),
    outputs=st.integers(1, 9),
    used=st.sampled_from([1, 70, 256]),
    seed=st.integers(0, 2**32),
)
def test_it_is_the_map_of_all_features(side, parts, inputs, outputs, used, seed):
    rng, here = np.random.default_rng(seed), side(parts)
    values = rng.uniform(-1, 1, (inputs, used))
    spec, layer = layer_of(rng, inputs, outputs)
    x = here.upload(values)
    mapped = here.evaluator.interleaved_linear(x, spec, layer)
    assert mapped.meta == rules.interleaved_linear(x.meta, spec)
    assert (mapped.meta.packing, mapped.meta.parts) == ("slots", parts)
    assert mapped.meta.log2_scale == 40 + BITS + np.log2(parts)
    found = here.values(mapped)
    assert found.shape == (outputs, N // (2 * parts))
    expected = layer.apply(padded(values, parts), BITS)
    assert np.abs(found - expected).max() <= rules.slot_error(mapped.meta)


@pytest.mark.parametrize("parts", [32, 64])
def test_many_features_in_a_ciphertext(side, backend, parts):
    """The most that a ring of 4096 allows; units that are not a multiple of it."""
    if backend.name == "seal":
        pytest.skip("slow, and the same residues as rns: see the bits of fewer parts")
    rng, here = np.random.default_rng(parts), side(parts)
    values = rng.uniform(-1, 1, (2 * parts + 1, N // (2 * parts)))
    spec, layer = layer_of(rng, 2 * parts + 1, parts + 3)
    mapped = here.evaluator.interleaved_linear(here.upload(values), spec, layer)
    error = np.abs(here.values(mapped) - layer.apply(values, BITS)).max()
    assert error <= rules.slot_error(mapped.meta)


def test_slots_hold_the_values_again_and_again(side):
    """So squares and later layers work as of samples in slots."""
    here, rng = side(4), np.random.default_rng(0)
    values = rng.uniform(-1, 1, (6, N // 8))
    spec, layer = layer_of(rng, 6, 2)
    mapped = here.evaluator.interleaved_linear(here.upload(values), spec, layer)
    data = here.evaluator.extract(mapped, None).data
    opened = here.keys.decryptor.open(Released(mapped.meta, None, data))
    expected = np.tile(layer.apply(values, BITS), 4)
    assert opened.shape == (2, PARAMS.slots)
    # Slots take the noise of all coefficients, and not of every fourth alone.
    assert np.abs(opened - expected).max() <= 2 * rules.slot_error(mapped.meta)


def test_only_every_kth_coefficient_counts(side):
    here, rng = side(8), np.random.default_rng(1)
    values = rng.uniform(-1, 1, (8, 20))
    spec, layer = layer_of(rng, 8, 3)
    mapped = here.evaluator.interleaved_linear(here.upload(values), spec, layer)
    own = here.coefficients(mapped, released(N, 8))
    np.testing.assert_array_equal(own, here.coefficients(mapped)[:, ::8])


def test_the_map_can_be_squared_and_goes_on(side):
    here, rng = side(4), np.random.default_rng(2)
    values = rng.uniform(-1, 1, (5, 30))
    spec, layer = layer_of(rng, 5, 3)
    outer, last = layer_of(rng, 3, 2)
    outer = dataclasses.replace(outer, bound=outer.l1 * spec.bound**2 + 2.0)
    hidden = here.evaluator.interleaved_linear(here.upload(values, 22.0), spec, layer)
    mapped = here.evaluator.linear(here.evaluator.square(hidden), outer, last)
    assert mapped.meta.parts == 4
    expected = last.apply(layer.apply(padded(values, 4), BITS) ** 2, BITS)
    assert np.abs(here.values(mapped) - expected).max() <= rules.slot_error(mapped.meta)


@pytest.mark.parametrize("parts", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_the_noise_of_several_keys_is_below_the_rule(backend, planned, parts):
    if not planned:
        pytest.skip("errors are at the planned size on rns and seal only")
    rng = np.random.default_rng(parts)
    values = rng.uniform(-1, 1, (3 * parts, N // (2 * parts)))
    spec, layer = layer_of(rng, 3 * parts, parts)
    for _ in range(4):
        here = Side(backend, parts)
        # A scale at which switches and errors of encryptions are both seen.
        mapped = here.evaluator.interleaved_linear(here.upload(values, 30.0), spec, layer)
        errors = here.values(mapped) - layer.apply(values, BITS)
        assert np.abs(errors).max() <= rules.slot_error(mapped.meta)
        others = np.delete(here.coefficients(mapped), released(N, parts), axis=1)
        deviation = others.std() * 2.0**mapped.meta.log2_scale
        assert 0 < deviation <= mapped.meta.noise


def test_the_error_bound_is_not_far_above_errors(side, planned):
    if not planned:
        pytest.skip("the noise of this backend is none, or its own")
    here, rng = side(2), np.random.default_rng(3)
    values = rng.uniform(-1, 1, (40, N // 4))
    spec, layer = layer_of(rng, 40, 3)
    mapped = here.evaluator.interleaved_linear(here.upload(values), spec, layer)
    error = np.abs(here.values(mapped) - layer.apply(values, BITS)).max()
    assert rules.slot_error(mapped.meta) / 32 < error


def test_a_row_of_zeros_is_its_bias(side):
    here = side(4)
    layer = AffineLayer(np.array([[0] * 5, [1, 2, 3, 4, 5]]), np.array([0.5, -0.25]))
    values = np.random.default_rng(1).uniform(-1, 1, (5, 9))
    spec = spec_of(layer.weights, layer.bias)
    mapped = here.evaluator.interleaved_linear(here.upload(values), spec, layer)
    assert np.abs(here.values(mapped)[0] - 0.5).max() <= rules.slot_error(mapped.meta)


def test_layers_of_another_width_or_beyond_their_bounds_are_refused(side):
    here = side(4)
    x = here.upload(np.ones((8, 4)))
    for inputs in (4, 9, 12):
        spec, layer = layer_of(np.random.default_rng(0), inputs, 1)
        with pytest.raises(EncryptionError, match="another width"):
            here.evaluator.interleaved_linear(x, spec, layer)
    spec, layer = layer_of(np.random.default_rng(0), 8, 1)
    heavy = AffineLayer(np.full((1, 8), 64), np.zeros(1))
    light = AffineSpec(
        inputs=8, outputs=1, log2_scale=BITS, max_integer=64, l1=1.0, l2=1.0, bound=2.0
    )
    with pytest.raises(ModelError, match="l1 norm"):
        here.evaluator.interleaved_linear(x, light, heavy)


def test_only_fresh_features_beside_each_other_are_mapped(side, backend):
    """Neither sums of them, nor slots, nor what was mapped already."""
    here = side(4)
    x = here.upload(np.ones((8, 4)))
    spec, layer = layer_of(np.random.default_rng(0), 8, 8)
    mapped = here.evaluator.interleaved_linear(x, spec, layer)
    again, same = layer_of(np.random.default_rng(0), 8, 1)
    plain = backend.generate_keys(PARAMS).encryptor
    slots = rules.fresh(PARAMS, count=2, limbs=3, log2_scale=30.0, bound=1.0)
    in_slots = here.evaluator.load(plain.encrypt(np.ones((2, 4)), slots), slots)
    for value in (here.evaluator.add(x, x), mapped, in_slots):
        with pytest.raises(EncryptionError, match="fresh features beside each other"):
            here.evaluator.interleaved_linear(value, again, same)
    one = rules.fresh(PARAMS, count=8, limbs=3, log2_scale=30.0, bound=1.0, packing="coefficients")
    with pytest.raises(EncryptionError, match="fresh features beside each other"):
        rules.interleaved_linear(one, again)
    assert not replace(one, parts=1).interleaved


def test_what_was_rescaled_before_is_mapped_within_its_bound(side):
    """As of `linear`: rounding errors of different ciphertexts are independent too."""
    here, rng = side(4), np.random.default_rng(4)
    values = rng.uniform(-1, 1, (8, 30))
    spec, layer = layer_of(rng, 8, 3)
    x = here.evaluator.rescale(here.upload(values, 60.0), 2)
    mapped = here.evaluator.interleaved_linear(x, spec, layer)
    assert mapped.meta.limbs == 2
    expected = layer.apply(padded(values, 4), BITS)
    assert np.abs(here.values(mapped) - expected).max() <= rules.slot_error(mapped.meta)


def test_features_beside_each_other_are_no_slots_and_no_pairs(side):
    here = side(4)
    x = here.upload(np.ones((8, 4)), 20.0)
    two, layer = layer_of(np.random.default_rng(0), 2, 1)
    for refused in (
        here.evaluator.square,
        lambda x: here.evaluator.multiply(x, x),
        lambda x: here.evaluator.linear(x, two, layer),
        lambda x: here.evaluator.paired_linear(x, two, layer),
        lambda x: here.evaluator.real_part(x, bound=9.0),
    ):
        with pytest.raises(EncryptionError, match=r"slots|pairs"):
            refused(x)


def test_a_missing_rotation_key_is_missed_when_it_is_needed(side, backend, planned):
    if not planned:
        pytest.skip("this backend switches no keys of ours")
    here = side(4)
    without = PublicKeys(here.keys.public.encryption, b"")
    evaluator = backend.evaluator(PARAMS, without)
    spec, layer = layer_of(np.random.default_rng(0), 8, 1)
    with pytest.raises(EncryptionError, match="no rotation key"):
        evaluator.interleaved_linear(here.upload(np.ones((8, 4))), spec, layer)


@pytest.mark.parametrize("data", [b"x", bytes(1000)])
def test_rotation_keys_that_are_none_are_refused(side, backend, planned, data):
    if not planned:
        pytest.skip("this backend switches no keys of ours")
    with pytest.raises(EncryptionError):
        backend.evaluator(PARAMS, PublicKeys(side(4).keys.public.encryption, b"", data))


def test_the_openfhe_backend_says_that_it_packs_in_slots_only(backend, ring):
    if backend.name != "openfhe":
        pytest.skip("about the openfhe backend")
    narrow = ring("narrow")
    x = narrow.upload(np.ones((2, 4)), log2_scale=20.0)
    beside = CipherTensor(replace(x.meta, packing="coefficients", parts=4), x.payload)
    spec, layer = layer_of(np.random.default_rng(0), 8, 1)
    with pytest.raises(EncryptionError, match="slots only"):
        narrow.evaluator.interleaved_linear(beside, spec, layer)
