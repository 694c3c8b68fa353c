"""Operations on slots: right values, errors within what the rules state, inputs left alone."""

from dataclasses import replace

import numpy as np
import pytest

from contract.operands import assert_opens_to, layer_for, padded, values
from securefair.ckks import rules
from securefair.ckks.encoding import to_coefficients
from securefair.ckks.layers import AffineLayer
from securefair.errors import EncryptionError, ModelError


def test_an_upload_opens_to_what_was_encrypted(wide):
    slots = values(3)
    assert_opens_to(wide, wide.upload(slots, log2_scale=40), padded(slots, wide.params))


def test_a_layer_is_an_affine_map_of_the_slots(wide):
    x = wide.upload(values(3), log2_scale=30)
    spec, layer, real, bias = layer_for(x, 4, seed=1)
    out = wide.evaluator.linear(x, spec, layer)
    assert out.meta == rules.linear(x.meta, spec)
    expected = real @ padded(values(3), wide.params) + bias[:, None]
    assert_opens_to(wide, out, expected)


def test_a_quadratic_head_in_one_is_its_maps_one_after_the_other(wide):
    x = wide.upload(values(3), log2_scale=20)
    inner, first, real, bias = layer_for(x, 5, seed=1)
    hidden = wide.evaluator.square(wide.evaluator.linear(x, inner, first))
    outer, second, real_outer, bias_outer = layer_for(hidden, 2, seed=2)
    one_by_one = wide.evaluator.linear(hidden, outer, second)
    for _ in range(3):  # backends may keep what they make of an upload that is read again
        together = wide.evaluator.quadratic(x, [(inner, first), (outer, second)])
        assert together.meta == one_by_one.meta
        squares = (real @ padded(values(3), wide.params) + bias[:, None]) ** 2
        assert_opens_to(wide, together, real_outer @ squares + bias_outer[:, None])
        data = [wide.evaluator.extract(t, None).data for t in (together, one_by_one)]
        assert data[0] == data[1] or wide.backend.name == "openfhe"  # whose bytes are its own


def test_a_quadratic_head_refuses_weights_beyond_its_specs(wide):
    x = wide.upload(values(3), log2_scale=20)
    inner, first, _, _ = layer_for(x, 5, seed=1)
    hidden = wide.evaluator.square(wide.evaluator.linear(x, inner, first))
    outer, second, _, _ = layer_for(hidden, 2, seed=2)
    for maps in (
        [(replace(inner, l1=inner.l1 / 2), first), (outer, second)],
        [(inner, first), (replace(outer, max_integer=1), second)],
    ):
        with pytest.raises(ModelError):
            wide.evaluator.quadratic(x, maps)


def test_sums_and_differences(wide):
    x, y = (wide.upload(values(2, seed), log2_scale=40) for seed in (1, 2))
    a, b = (padded(values(2, seed), wide.params) for seed in (1, 2))
    assert_opens_to(wide, wide.evaluator.add(x, y), a + b)
    assert_opens_to(wide, wide.evaluator.subtract(x, y), a - b)


def test_products_before_and_after_relinearisation(wide):
    x, y = (wide.upload(values(2, seed), log2_scale=40) for seed in (1, 2))
    a, b = (padded(values(2, seed), wide.params) for seed in (1, 2))
    product = wide.evaluator.multiply(x, y)
    assert product.meta.polys == 3
    assert_opens_to(wide, product, a * b)
    assert_opens_to(wide, wide.evaluator.square(x), a * a)
    switched = wide.evaluator.relinearize(product)
    assert switched.meta.polys == 2
    assert_opens_to(wide, switched, a * b)


def test_a_product_may_be_rescaled_before_its_key_is_switched(wide):
    x, y = (wide.upload(values(2, seed), log2_scale=40) for seed in (1, 2))
    a, b = (padded(values(2, seed), wide.params) for seed in (1, 2))
    product, limbs = wide.evaluator.multiply(x, y), x.meta.limbs - 1
    found = wide.evaluator.relinearize(product, limbs)
    apart = wide.evaluator.relinearize(wide.evaluator.rescale(product, limbs))
    assert found.meta == apart.meta
    assert_opens_to(wide, found, a * b)
    assert_opens_to(wide, apart, a * b)
    for refused in (0, x.meta.limbs + 1):
        with pytest.raises(EncryptionError, match="limbs"):
            wide.evaluator.relinearize(product, refused)


def test_values_may_be_rescaled_before_their_squares_are_summed(backend, wide):
    if backend.name == "openfhe":
        pytest.skip("the openfhe backend evaluates layers as a whole")
    x, groups = wide.upload(values(2, 1), log2_scale=40), np.array([[0, 1]])
    a, limbs = padded(values(2, 1), wide.params), x.meta.limbs - 1
    found = wide.evaluator.square_sums(x, groups, limbs)
    apart = wide.evaluator.square_sums(wide.evaluator.rescale(x, limbs), groups)
    assert found.meta == apart.meta
    assert_opens_to(wide, found, (a * a).sum(axis=0, keepdims=True))
    assert_opens_to(wide, apart, (a * a).sum(axis=0, keepdims=True))
    for refused in (0, x.meta.limbs + 1):
        with pytest.raises(EncryptionError, match="limbs"):
            wide.evaluator.square_sums(x, groups, refused)


def test_inner_and_outer_products(wide):
    x, y = wide.upload(values(3, 1), log2_scale=40), wide.upload(values(3, 2), log2_scale=40)
    a, b = padded(values(3, 1), wide.params), padded(values(3, 2), wide.params)
    inner = wide.evaluator.inner(x, y, bound=3.0)
    assert inner.meta.count == 1
    assert_opens_to(wide, inner, (a * b).sum(axis=0, keepdims=True))
    two = wide.upload(values(2, 3), log2_scale=40)
    outer = wide.evaluator.outer(two, x)
    assert outer.meta.count == 6
    expected = padded(values(2, 3), wide.params)[:, None] * a[None]
    assert_opens_to(wide, outer, expected.reshape(6, -1))


@pytest.mark.parametrize("limbs", [4, 3, 2])
@pytest.mark.parametrize("product", [False, True])
def test_rescaling_keeps_the_value(wide, limbs, product):
    x = wide.upload(values(2), log2_scale=55 if product else 100)
    expected = padded(values(2), wide.params)
    if product:
        x, expected = wide.evaluator.square(x), expected**2
    assert_opens_to(wide, wide.evaluator.rescale(x, limbs), expected)


def test_rescaling_to_the_limbs_there_are_changes_nothing(wide):
    x = wide.upload(values(1), log2_scale=40)
    assert wide.evaluator.rescale(x, 5) is x


@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize("bits", [0, 30])
def test_sanitising_keeps_the_value_within_the_flooding(wide, product, bits):
    x = wide.upload(values(2), log2_scale=50)
    expected = padded(values(2), wide.params)
    if product:
        x, expected = wide.evaluator.square(x), expected**2
    assert_opens_to(wide, wide.evaluator.sanitize(x, bits), expected)


def test_operations_leave_their_inputs_as_they_were(wide):
    x, y = (wide.upload(values(2, seed), log2_scale=40) for seed in (1, 2))
    before = wide.evaluator.extract(x, None).data, wide.evaluator.extract(y, None).data
    evaluator = wide.evaluator
    spec, layer, _, _ = layer_for(x, 2, seed=1)
    product = evaluator.multiply(x, y)
    kept = evaluator.extract(product, None).data
    for operation in (
        lambda: evaluator.linear(x, spec, layer),
        lambda: evaluator.add(x, y),
        lambda: evaluator.subtract(x, y),
        lambda: evaluator.square(x),
        lambda: evaluator.inner(x, y, bound=2.0),
        lambda: evaluator.outer(x, y),
        lambda: evaluator.rescale(x, 3),
        lambda: evaluator.relinearize(product),
        lambda: evaluator.rescale(product, 4),
        lambda: evaluator.sanitize(x, 20),
        lambda: evaluator.sanitize(product, 20),
        lambda: evaluator.extract(x, np.array([0, 1])),
    ):
        operation()
    assert (evaluator.extract(x, None).data, evaluator.extract(y, None).data) == before
    assert evaluator.extract(product, None).data == kept


@pytest.mark.parametrize("weights", [[[0, 0], [1, -1]], [[0, 0], [0, 0]]])
def test_units_without_weights_are_constants(wide, weights):
    x = wide.upload(values(2), log2_scale=30)
    spec, _, _, _ = layer_for(x, 2, seed=0)
    layer = AffineLayer(np.array(weights), np.array([0.5, -0.25]))
    out = wide.evaluator.linear(x, replace(spec, l1=2.0, l2=2.0), layer)
    affine = np.array(weights) / 2.0**8 @ padded(values(2), wide.params) + layer.bias[:, None]
    assert_opens_to(wide, out, affine)
    squared = wide.evaluator.square(out)
    assert_opens_to(wide, squared, affine**2)
    assert_opens_to(wide, wide.evaluator.relinearize(squared), affine**2)
    assert_opens_to(wide, wide.evaluator.rescale(out, 4), affine)
    assert_opens_to(wide, wide.evaluator.sanitize(out, 20), affine)


@pytest.mark.parametrize("limbs", [1, 2, 3])
def test_chosen_coefficients_are_those_of_the_message_polynomial(ring, limbs):
    narrow = ring("narrow")
    slots = values(2)
    x = narrow.upload(slots, log2_scale=20, limbs=limbs)
    chosen = np.array([0, 3, 2047, 4095])
    opened = narrow.open(x, chosen)
    expected = to_coefficients(padded(slots, narrow.params), 4096)[:, chosen]
    np.testing.assert_allclose(opened, expected, atol=rules.coefficient_error(x.meta))
    assert opened.shape == (2, 4)
