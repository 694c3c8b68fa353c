import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from securefair.errors import ModelError
from securefair.worth import cosine

finite = st.floats(-1e6, 1e6)
pairs = st.integers(1, 20).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, n, elements=finite), arrays(np.float64, n, elements=finite)
    )
)


def test_known_angles():
    x, y = np.array([3.0, 0.0]), np.array([1.0, 1.0])
    assert cosine(x, y) == pytest.approx(np.sqrt(0.5), abs=1e-15)
    assert cosine(x, -x) == -1.0
    assert cosine(x, np.array([0.0, 5.0])) == 0.0


@given(pairs)
def test_symmetric_bounded_and_odd(pair):
    a, b = pair
    value = cosine(a, b)
    assert -1.0 <= value <= 1.0
    assert cosine(b, a) == pytest.approx(value, abs=1e-12)
    assert cosine(-a, b) == pytest.approx(-value, abs=1e-12)


@given(pairs, st.sampled_from([1e-150, 1e-3, 7.0, 1e150]))
def test_scale_does_not_matter_even_where_squares_overflow(pair, factor):
    a, b = pair
    a = np.where(np.abs(a) < 1e-6, 0.0, a)  # keeps the scaled entries out of the subnormal range
    assert cosine(a * factor, b) == pytest.approx(cosine(a, b), abs=1e-9)


@given(arrays(np.float64, st.integers(1, 20), elements=finite))
def test_a_gradient_is_aligned_with_itself_unless_it_is_zero(a):
    assert cosine(a, a) == pytest.approx(1.0 if a.any() else 0.0, abs=1e-12)


@pytest.mark.parametrize("zero", [np.zeros(3), np.zeros(0)])
def test_zero_gradient_is_uninformative(zero):
    assert cosine(zero, np.ones_like(zero)) == 0.0
    assert cosine(np.ones_like(zero), zero) == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_gradient_is_refused_by_name(bad):
    with pytest.raises(ModelError, match="argument b"):
        cosine(np.ones(2), np.array([0.0, bad]))


@pytest.mark.parametrize(("a", "b"), [(np.ones(2), np.ones(3)), (np.ones((2, 2)), np.ones((2, 2)))])
def test_shapes_must_agree_and_be_flat(a, b):
    with pytest.raises(ModelError, match="cannot align"):
        cosine(a, b)
