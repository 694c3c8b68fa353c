"""Features beside each other: what sits where in a polynomial, and what an automorphism keeps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.ckks.encoding import to_coefficients, to_slots
from securefair.ckks.interleaving import element, interleave, released, separate, suits
from support.examples import examples

powers = st.integers(0, 5).map(lambda k: 2**k)
DEGREES = [4096, 8192, 16384, 32768]


def turned(coefficients, power):
    """X -> X^power, coefficient by coefficient."""
    n = coefficients.shape[-1]
    places = np.arange(n) * power % (2 * n)
    found = np.zeros_like(coefficients)
    found[..., places % n] = np.where(places < n, 1, -1) * coefficients
    return found


def shifted(coefficients, places):
    """Times X^places."""
    n = coefficients.shape[-1]
    at = (np.arange(n) + places) % (2 * n)
    found = np.zeros_like(coefficients)
    found[..., at % n] = np.where(at < n, 1, -1) * coefficients
    return found


@settings(max_examples=examples(30))
@given(
    features=st.integers(1, 70),
    parts=powers,
    short=st.integers(3, 7).map(lambda k: 2**k),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_features_come_back_with_zeros_beyond(features, parts, short, seed, data):
    samples = data.draw(st.integers(1, short // 2))
    values = np.random.default_rng(seed).uniform(-1, 1, (features, samples))
    packed = interleave(values, parts, parts * short)
    count = -(-features // parts)
    assert packed.shape == (count, parts * short)
    assert packed.flags.c_contiguous
    found = separate(packed, parts)
    assert found.shape == (count * parts, short // 2)
    np.testing.assert_allclose(found[:features, :samples], values, atol=1e-12)
    np.testing.assert_allclose(found[features:], 0, atol=1e-12)
    np.testing.assert_allclose(found[:, samples:], 0, atol=1e-12)


@settings(max_examples=examples(20))
@given(parts=powers, features=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_every_kth_coefficient_belongs_to_one_feature(parts, features, seed):
    n = 32 * parts
    values = np.random.default_rng(seed).uniform(-1, 1, (features, 16))
    packed = interleave(values, parts, n)
    for f, row in enumerate(values):
        own = packed[f // parts, f % parts :: parts]
        np.testing.assert_allclose(own, to_coefficients(row, n // parts), atol=1e-12)


def test_one_part_is_a_feature_in_slots():
    values = np.random.default_rng(0).uniform(-1, 1, (3, 20))
    np.testing.assert_array_equal(interleave(values, 1, 64), to_coefficients(values, 64))


@settings(max_examples=examples(20))
@given(parts=powers, seed=st.integers(0, 2**32))
def test_a_polynomial_in_y_has_its_values_in_slots_again_and_again(parts, seed):
    n = 32 * parts
    values = np.random.default_rng(seed).uniform(-1, 1, (1, 16))
    whole = np.zeros(n)
    whole[released(n, parts)] = to_coefficients(values, n // parts)[0]
    np.testing.assert_allclose(to_slots(whole), np.tile(values[0], parts), atol=1e-12)


@pytest.mark.parametrize("degree", DEGREES)
def test_only_powers_of_two_whose_square_is_at_most_2n_suit(degree):
    found = [parts for parts in range(-2, 2 * degree + 1) if suits(degree, parts)]
    assert found == [2**i for i in range(20) if 4**i <= 2 * degree]


@pytest.mark.parametrize("degree", DEGREES)
def test_the_automorphism_keeps_y_and_w_where_parts_suit(degree):
    """As exponents modulo 2N: times 2n + 1."""
    for parts in (2**i for i in range(1, 10)):
        g, short = element(degree, parts), degree // parts
        assert g == 2 * short + 1
        assert parts * g % (2 * degree) == parts  # Y = X^k
        keeps_w = 2 * short * g % (2 * degree) == 2 * short  # w = X^(2n)
        assert keeps_w == suits(degree, parts)
        if keeps_w:
            order = next(i for i in range(1, parts + 1) if pow(g, i, 2 * degree) == 1)
            assert order == parts


@settings(max_examples=examples(20))
@given(parts=st.sampled_from([2, 4, 8]), seed=st.integers(0, 2**32))
def test_the_sum_of_all_powers_leaves_k_times_the_part_without_x(parts, seed):
    n = 64
    x = np.random.default_rng(seed).integers(-1000, 1000, n)
    total, power = np.zeros(n, dtype=np.int64), x
    for _ in range(parts):
        total, power = total + power, turned(power, element(n, parts))
    expected = np.zeros(n, dtype=np.int64)
    expected[released(n, parts)] = parts * x[released(n, parts)]
    np.testing.assert_array_equal(total, expected)
    np.testing.assert_array_equal(power, x)


@settings(max_examples=examples(20))
@given(parts=st.sampled_from([2, 4, 8]), seed=st.integers(0, 2**32))
def test_k_units_are_separated_as_the_module_says(parts, seed):
    """Whole, in integers: k T_j, k z and k^2 h_u."""
    n = 64
    y = np.random.default_rng(seed).integers(-1000, 1000, (parts, n))
    g, w = element(n, parts), 2 * n // parts
    sums = [sum(shifted(y[u], u - w * j * u) for u in range(parts)) for j in range(parts)]
    z = sums[-1]
    for each in sums[-2::-1]:
        z = each + turned(z, g)
    powers = [z]
    for _ in range(1, parts):
        powers.append(turned(powers[-1], g))
    places = released(n, parts)
    for u in range(parts):
        found = sum(shifted(power, -w * j * u - u) for j, power in enumerate(powers))
        expected = np.zeros(n, dtype=np.int64)
        expected[places] = parts**2 * y[u][places]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("degree", "parts"), [(4096, 64), (8192, 16), (8192, 2), (64, 1)])
def test_every_kth_coefficient_is_released(degree, parts):
    found = released(degree, parts)
    assert found.dtype == np.int64
    assert found.tolist() == [parts * i for i in range(degree // parts)]
