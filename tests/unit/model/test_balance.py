import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.model.balance import balanced
from securefair.model.folded import AffineMap, FoldedHead


def random_head(seed, *, features=5, hidden=4, classes=3, size=1.0):
    rng = np.random.default_rng(seed)
    return FoldedHead(
        (
            AffineMap(size * rng.normal(size=(hidden, features)), size * rng.normal(size=hidden)),
            AffineMap(rng.normal(size=(classes, hidden)), rng.normal(size=classes)),
        )
    )


def row_norms(layer):
    return np.sqrt((layer.weights**2).sum(axis=1) + layer.bias**2)


heads = st.builds(
    random_head,
    st.integers(0, 2**32 - 1),
    features=st.integers(1, 6),
    hidden=st.integers(1, 6),
    classes=st.integers(2, 4),
    size=st.sampled_from([1e-3, 1.0, 50.0]),
)


@given(heads, st.floats(0.1, 10.0))
def test_the_function_stays_the_same(head, row_norm):
    features = np.random.default_rng(0).uniform(-1, 1, (20, head.features))
    expected = head.logits(features)
    scale = 1 + np.abs(expected).max()
    np.testing.assert_allclose(
        balanced(head, row_norm).logits(features), expected, atol=1e-9 * scale
    )


@given(heads, st.floats(0.1, 10.0))
def test_every_hidden_unit_gets_the_agreed_norm(head, row_norm):
    np.testing.assert_allclose(row_norms(balanced(head, row_norm).layers[0]), row_norm, rtol=1e-9)


@given(heads)
def test_balancing_twice_is_balancing_once(head):
    once, twice = balanced(head, 2.0), balanced(balanced(head, 2.0), 2.0)
    for a, b in zip(once.layers, twice.layers, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, rtol=1e-9)
        np.testing.assert_allclose(a.bias, b.bias, rtol=1e-9)


def test_a_dead_unit_stays_dead_and_the_others_are_balanced():
    head = random_head(1)
    weights, bias = head.layers[0].weights.copy(), head.layers[0].bias.copy()
    weights[2], bias[2] = 0.0, 0.0
    layers = balanced(FoldedHead((AffineMap(weights, bias), head.layers[1])), 1.0).layers
    np.testing.assert_allclose(row_norms(layers[0]), [1.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(layers[1].weights[:, 2], head.layers[1].weights[:, 2])


def test_output_weights_take_the_square_of_what_a_unit_gives_away():
    head = FoldedHead(
        (AffineMap(np.array([[3.0]]), np.array([4.0])), AffineMap(np.array([[2.0]]), np.zeros(1)))
    )
    hidden, output = balanced(head, 1.0).layers
    assert (hidden.weights.item(), hidden.bias.item()) == pytest.approx((0.6, 0.8))
    assert output.weights.item() == pytest.approx(2.0 * 5.0**2)


def test_a_linear_head_has_nothing_to_balance():
    head = FoldedHead((random_head(3).layers[0],))
    (layer,) = balanced(head, 7.0).layers
    np.testing.assert_array_equal(layer.weights, head.layers[0].weights)
    np.testing.assert_array_equal(layer.bias, head.layers[0].bias)


def test_three_layers_are_balanced_one_after_the_other():
    rng = np.random.default_rng(4)
    head = FoldedHead(
        (
            *random_head(4, hidden=3, classes=3).layers,
            AffineMap(rng.normal(size=(2, 3)), rng.normal(size=2)),
        )
    )
    features = rng.uniform(-1, 1, (10, 5))
    result = balanced(head, 0.5)
    np.testing.assert_allclose(row_norms(result.layers[0]), 0.5)
    np.testing.assert_allclose(row_norms(result.layers[1]), 0.5)
    np.testing.assert_allclose(result.logits(features), head.logits(features), rtol=1e-6)
