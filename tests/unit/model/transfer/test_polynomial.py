import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ModelError
from securefair.model.transfer.leafed import weighted_sum
from securefair.model.transfer.polynomial import Polynomial


def drawn(seed, features, width, degree):
    rng = np.random.default_rng(seed)
    square = rng.normal(size=(width, features, features))
    return Polynomial(
        rng.normal(size=width),
        rng.normal(size=(width, features)),
        (square + np.swapaxes(square, 1, 2)) / 2 if degree == 2 else None,
    )


def test_by_hand():
    # 1 + 2 x + 3 y + 4 x^2 + 2 * 5 x y at (1, 2)
    f = Polynomial(np.array([1.0]), np.array([[2.0, 3.0]]), np.array([[[4.0, 5.0], [5.0, 0.0]]]))
    assert f.logits(np.array([[1.0, 2.0]])).tolist() == [[1 + 2 + 6 + 4 + 20]]
    assert (f.degree, f.classes, f.parameters_a_logit) == (2, 2, 6)


shapes = {
    "seed": st.integers(0, 2**32),
    "features": st.integers(1, 5),
    "width": st.sampled_from([1, 3]),
    "degree": st.sampled_from([1, 2]),
}


@given(**shapes)
def test_a_head_with_squares_is_the_same_function(seed, features, width, degree):
    f = drawn(seed, features, width, degree)
    x = np.random.default_rng(seed).uniform(-1, 1, (7, features))
    np.testing.assert_allclose(f.folded().logits(x), f.logits(x), atol=1e-9)


@given(**shapes)
def test_sums_of_functions_are_functions(seed, features, width, degree):
    f, g = drawn(seed, features, width, degree), drawn(seed + 1, features, width, 1)
    x = np.random.default_rng(seed).uniform(-1, 1, (7, features))
    total = weighted_sum([0.3, -2.0], [f, g])
    np.testing.assert_allclose(total.logits(x), 0.3 * f.logits(x) - 2 * g.logits(x), atol=1e-9)


def test_zero_squares_fold():
    f = Polynomial(np.array([0.5]), np.array([[1.0, -2.0]]), np.zeros((1, 2, 2)))
    x = np.array([[0.3, 0.4]])
    np.testing.assert_allclose(f.folded().logits(x), f.logits(x), atol=1e-12)


def test_coefficients_never_print():
    assert "0.123" not in repr(Polynomial(np.array([0.123]), np.array([[0.123]])))


def test_refuses_what_does_not_fit():
    with pytest.raises(ModelError, match="disagree"):
        Polynomial(np.zeros(2), np.zeros((1, 3)))
    with pytest.raises(ModelError, match="NaN"):
        Polynomial(np.array([np.nan]), np.zeros((1, 3)))
    with pytest.raises(ModelError, match=r"\(B, 3\)"):
        Polynomial(np.zeros(1), np.zeros((1, 3))).logits(np.zeros((2, 4)))
    with pytest.raises(ModelError, match="different shapes"):
        weighted_sum([], [])
