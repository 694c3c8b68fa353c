import _sealapi_cpp as seal
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks.backends.seal_bytes import own_pipe, read_plaintext
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.encoding import slot_exponents, to_coefficients, to_slots
from securefair.ckks.parameters import CkksParameters, CkksSpec

degrees = st.integers(3, 8).map(lambda k: 2**k)


def evaluate(coefficients):
    """Slots by the definition: the polynomial's values at zeta^(3^j), zeta = exp(i pi / N)."""
    n = len(coefficients)
    roots = np.exp(1j * np.pi * np.array([pow(3, j, 2 * n) for j in range(n // 2)]) / n)
    return (roots[:, None] ** np.arange(n)) @ coefficients


@given(degree=degrees, seed=st.integers(0, 2**32), data=st.data())
def test_coefficients_evaluate_to_the_slots_and_to_zero_beyond(degree, seed, data):
    used = data.draw(st.integers(1, degree // 2))
    slots = np.random.default_rng(seed).normal(size=(2, used))
    for row, coefficients in zip(slots, to_coefficients(slots, degree), strict=True):
        values = evaluate(coefficients)
        np.testing.assert_allclose(values.imag, 0, atol=1e-9)
        np.testing.assert_allclose(values.real[:used], row, atol=1e-9)
        np.testing.assert_allclose(values.real[used:], 0, atol=1e-9)


@given(degree=degrees, seed=st.integers(0, 2**32))
def test_slots_are_the_real_values_of_any_polynomial(degree, seed):
    coefficients = np.random.default_rng(seed).normal(size=(3, degree))
    expected = [evaluate(row).real for row in coefficients]
    np.testing.assert_allclose(to_slots(coefficients), expected, atol=1e-9)


@given(degree=degrees, seed=st.integers(0, 2**32))
def test_products_in_the_ring_are_products_of_slots(degree, seed):
    x, y = np.random.default_rng(seed).normal(size=(2, degree // 2))
    a, b = to_coefficients(x, degree), to_coefficients(y, degree)
    whole = np.convolve(a, b)
    negacyclic = whole[:degree].copy()
    negacyclic[: degree - 1] -= whole[degree:]  # X^N = -1
    np.testing.assert_allclose(to_slots(negacyclic), x * y, atol=1e-9)


@given(degree=degrees, seed=st.integers(0, 2**32))
def test_coefficient_zero_is_the_mean_and_the_second_half_mirrors_the_first(degree, seed):
    slots = np.random.default_rng(seed).normal(size=degree // 2)
    coefficients = to_coefficients(slots, degree)
    assert coefficients[0] == pytest.approx(slots.mean())
    np.testing.assert_allclose(coefficients[1:], -coefficients[:0:-1], atol=1e-12)
    # So the energy of the slots is that of the coefficients, up to the scaling.
    assert (coefficients**2).sum() == pytest.approx(2 / degree * (slots**2).sum())


@pytest.mark.parametrize("degree", [4096, 8192, 32768])
def test_float64_is_precise_at_real_ring_degrees(degree):
    slots = np.random.default_rng(0).uniform(-1, 1, (2, degree // 2))
    np.testing.assert_allclose(to_slots(to_coefficients(slots, degree)), slots, atol=1e-13)


def test_the_tables_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        slot_exponents(64)[0] = 2


@pytest.mark.parametrize("degree", [4096, 8192])
def test_encoding_is_that_of_seal(degree):
    params = CkksParameters(CkksSpec(ring_degree=degree, limb_bits=(30, 30), special_bits=30))
    context = seal_context(params)
    slots = np.random.default_rng(1).uniform(-4, 4, 700)
    scale = 2.0**40
    plaintext = seal.Plaintext()
    seal.CKKSEncoder(context.seal).encode(slots.tolist(), context.parms_words(2), scale, plaintext)
    residues = context.from_ntt(read_plaintext(own_pipe().body(plaintext), degree)[None])[0]
    ours = np.rint(to_coefficients(slots, degree) * scale).astype(np.int64)
    for residue, prime in zip(residues.astype(np.int64), params.primes, strict=True):
        distance = (residue - ours) % prime
        # Both round a double; they may fall to different sides of one half.
        assert np.minimum(distance, prime - distance).max() <= 1
