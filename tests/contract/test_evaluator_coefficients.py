"""Operations on values that are packed as coefficients: inner products, and plain factors."""

import math

import numpy as np
import pytest

from contract.operands import coefficient_upload, layer_for, values
from securefair.ckks import plain_rules, rules
from securefair.ckks.encoding import negacyclic_product, reversed_integers, to_integers
from securefair.ckks.specs import FactorSpec, PolynomialSpec
from securefair.errors import EncryptionError, ModelError


def unit_rows(count, width, seed):
    rows = np.random.default_rng(seed).normal(size=(count, width))
    return rows / np.linalg.norm(rows)


@pytest.mark.parametrize(("count", "used"), [(1, 4096), (1, 100), (3, 4000)])
def test_the_constant_coefficient_of_a_plain_product_is_an_inner_product(
    backend, ring, count, used
):
    if backend.name == "openfhe":
        pytest.skip("the openfhe backend packs in slots only")
    narrow = ring("narrow")
    n = narrow.params.ring_degree
    a, b = unit_rows(count, used, 1), unit_rows(count, used, 2)
    spec = PolynomialSpec(count=count, log2_scale=24, l2=1.0, bound=1.0)
    x = coefficient_upload(narrow, a)
    polynomials = reversed_integers(b, spec.log2_scale, n)
    product = narrow.evaluator.inner_plain(x, spec, polynomials)
    assert product.meta == plain_rules.inner_plain(x.meta, spec)
    constant = narrow.open(product, np.zeros(1, dtype=np.int64))[0, 0]
    rounding = math.sqrt(count * n) / 2 * 2.0**-spec.log2_scale
    error = rules.coefficient_error(product.meta) + rounding
    assert abs(constant - (a * b).sum()) <= error
    padded_a = np.zeros((count, n))
    padded_a[:, :used] = a
    expected = negacyclic_product(padded_a, polynomials * 2.0**-spec.log2_scale).sum(axis=0)
    opened = narrow.open(product, np.arange(n))[0]
    assert np.abs(opened - expected).max() <= rules.coefficient_error(product.meta)


def test_the_deviation_of_a_plain_products_error_is_what_the_rules_state(planned, ring):
    if not planned:
        pytest.skip("errors are at the planned size on rns and seal only")
    narrow = ring("narrow")
    n = narrow.params.ring_degree
    a, b = unit_rows(2, n, 3), unit_rows(2, n, 4)
    spec = PolynomialSpec(count=2, log2_scale=24, l2=1.0, bound=1.0)
    polynomials = reversed_integers(b, spec.log2_scale, n)
    product = narrow.evaluator.inner_plain(coefficient_upload(narrow, a), spec, polynomials)
    expected = negacyclic_product(a, polynomials * 2.0**-spec.log2_scale).sum(axis=0)
    errors = narrow.open(product, np.arange(n))[0] - expected
    deviation = errors.std() * 2.0**product.meta.log2_scale
    assert abs(deviation / product.meta.noise - 1) < 0.06  # 4096 errors: a hundredth or so


def test_coefficients_and_slots_do_not_mix(backend, ring):
    if backend.name == "openfhe":
        pytest.skip("the openfhe backend packs in slots only")
    narrow = ring("narrow")
    in_slots = narrow.upload(values(1), log2_scale=30)
    in_coefficients = coefficient_upload(narrow, unit_rows(1, 100, 5), log2_scale=30)
    spec = PolynomialSpec(count=1, log2_scale=10, l2=1.0, bound=1.0)
    polynomial = np.zeros((1, narrow.params.ring_degree), dtype=np.int64)
    affine, layer, _, _ = layer_for(in_slots, 1, 0)
    for refused in (
        lambda: narrow.evaluator.square(in_coefficients),
        lambda: narrow.evaluator.add(in_slots, in_coefficients),
        lambda: narrow.evaluator.linear(in_coefficients, affine, layer),
        lambda: narrow.evaluator.inner_plain(in_slots, spec, polynomial),
    ):
        with pytest.raises(EncryptionError):
            refused()


@pytest.mark.parametrize("width", ["long", "wide"])
def test_polynomials_beyond_the_public_bound_are_refused(backend, ring, width):
    if backend.name == "openfhe":
        pytest.skip("the openfhe backend packs in slots only")
    narrow = ring("narrow")
    x = coefficient_upload(narrow, unit_rows(1, 100, 6))
    spec = PolynomialSpec(count=1, log2_scale=20, l2=1.0, bound=1.0)
    polynomials = reversed_integers(2 * unit_rows(1, 100, 7), 20, narrow.params.ring_degree)
    if width == "wide":
        polynomials = np.repeat(polynomials, 2, axis=0)
    with pytest.raises(ModelError, match="polynomials"):
        narrow.evaluator.inner_plain(x, spec, polynomials)


def scaled_rows(count, width, seed, largest=1.0):
    return np.random.default_rng(seed).uniform(-largest, largest, (count, width))


def number_upload(ring, number, packing, log2_scale=50):
    """One number, in every slot or as the constant coefficient."""
    meta = rules.fresh(
        ring.params,
        count=1,
        limbs=ring.params.limbs,
        log2_scale=log2_scale,
        bound=1.0,
        packing=packing,
    )
    width = ring.params.slots if packing == "slots" else 1
    upload = ring.keys.encryptor.encrypt(np.full((1, width), number), meta)
    return ring.evaluator.load(upload, meta)


@pytest.mark.parametrize("packing", ["slots", "coefficients"])
def test_one_number_times_private_polynomials(backend, ring, packing):
    if backend.name == "openfhe":
        pytest.skip("the openfhe backend packs in slots only")
    narrow = ring("narrow")
    n = narrow.params.ring_degree
    spec = FactorSpec(count=3, log2_scale=20, largest=1.0, bound=1.0)
    polynomials = to_integers(scaled_rows(3, n, 1), spec.log2_scale, n)
    polynomials[1] = 0
    x = number_upload(narrow, 0.7, packing)
    product = narrow.evaluator.outer_plain(x, spec, polynomials)
    assert product.meta == plain_rules.outer_plain(x.meta, spec)
    assert product.meta.packing == "coefficients"
    opened = narrow.open(product, np.arange(n))
    error = np.abs(opened - 0.7 * polynomials * 2.0**-spec.log2_scale).max()
    assert error <= rules.coefficient_error(product.meta)


def test_a_whole_polynomial_times_private_polynomials(backend, ring):
    if backend.name == "openfhe":
        pytest.skip("the openfhe backend packs in slots only")
    narrow = ring("narrow")
    n = narrow.params.ring_degree
    a, b = unit_rows(1, n, 3), unit_rows(2, n, 4)
    spec = FactorSpec(count=2, log2_scale=24, largest=1.0, bound=1.0)
    polynomials = to_integers(b, spec.log2_scale, n)
    product = narrow.evaluator.outer_plain(coefficient_upload(narrow, a), spec, polynomials)
    expected = negacyclic_product(a, polynomials * 2.0**-spec.log2_scale)
    opened = narrow.open(product, np.arange(n))
    assert np.abs(opened - expected).max() <= rules.coefficient_error(product.meta)


def test_the_deviation_of_an_outer_products_error_is_what_the_rules_state(planned, ring):
    if not planned:
        pytest.skip("errors are at the planned size on rns and seal only")
    narrow = ring("narrow")
    n = narrow.params.ring_degree
    spec = FactorSpec(count=1, log2_scale=20, largest=1.0, bound=1.0)
    signs = np.random.default_rng(5).choice([-1.0, 1.0], (1, n))  # the longest that is allowed
    polynomials = to_integers(signs, spec.log2_scale, n)
    product = narrow.evaluator.outer_plain(
        number_upload(narrow, 0.5, "coefficients"), spec, polynomials
    )
    errors = narrow.open(product, np.arange(n))[0] - 0.5 * signs[0]
    deviation = errors.std() * 2.0**product.meta.log2_scale
    assert abs(deviation / product.meta.noise - 1) < 0.06


def test_the_sum_of_several_parties_products_keeps_its_stated_error(planned, ring):
    if not planned:
        pytest.skip("errors are at the planned size on rns and seal only")
    narrow = ring("narrow")
    n = narrow.params.ring_degree
    spec = FactorSpec(count=1, log2_scale=20, largest=1.0, bound=1.0)
    products, expected = [], np.zeros((1, n))
    for party in range(4):
        polynomials = to_integers(scaled_rows(1, n, party), spec.log2_scale, n)
        x = number_upload(narrow, 0.25, "slots")
        products.append(
            narrow.evaluator.sanitize(narrow.evaluator.outer_plain(x, spec, polynomials), 8)
        )
        expected += 0.25 * polynomials * 2.0**-spec.log2_scale
    total = products[0]
    for product in products[1:]:
        total = narrow.evaluator.add(total, product)
    stated = rules.gathered_sum(products[0].meta, 4, bound=1.0)
    errors = narrow.open(total, np.arange(n)) - expected
    assert np.abs(errors).max() <= rules.coefficient_error(stated)
    deviation = errors.std() * 2.0**stated.log2_scale
    assert abs(deviation / stated.noise - 1) < 0.06


@pytest.mark.parametrize("what", ["coefficient", "shape", "ciphertexts"])
def test_factors_beyond_the_public_bound_are_refused(backend, ring, what):
    if backend.name == "openfhe":
        pytest.skip("the openfhe backend packs in slots only")
    narrow = ring("narrow")
    n = narrow.params.ring_degree
    spec = FactorSpec(count=1, log2_scale=10, largest=1.0, bound=1.0)
    polynomials = np.zeros((2 if what == "shape" else 1, n), dtype=np.int64)
    polynomials[0, 7] = -1026 if what == "coefficient" else 3
    if what == "ciphertexts":
        x = coefficient_upload(narrow, unit_rows(2, 100, 6), log2_scale=30)
        with pytest.raises(EncryptionError, match="one fresh encryption"):
            narrow.evaluator.outer_plain(x, spec, polynomials)
        return
    with pytest.raises(ModelError, match=what):
        narrow.evaluator.outer_plain(number_upload(narrow, 0.5, "slots"), spec, polynomials)


def test_the_openfhe_backend_says_that_it_packs_in_slots_only(backend, ring):
    if backend.name != "openfhe":
        pytest.skip("about the openfhe backend")
    with pytest.raises(EncryptionError, match="slots only"):
        coefficient_upload(ring("narrow"), unit_rows(1, 100, 8))
