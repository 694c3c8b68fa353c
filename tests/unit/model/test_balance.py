import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ModelError
from securefair.model.balance import balance_by_weights, balanced_by_values
from securefair.model.folded import FoldedNetwork, Square, dense_network, stages
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool


def random_head(seed, *, features=5, hidden=4, classes=3, size=1.0):
    rng = np.random.default_rng(seed)
    return dense_network(
        DenseMap(size * rng.normal(size=(hidden, features)), size * rng.normal(size=hidden)),
        DenseMap(rng.normal(size=(classes, hidden)), rng.normal(size=classes)),
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
        balance_by_weights(head, row_norm).logits(features), expected, atol=1e-9 * scale
    )


@given(heads, st.floats(0.1, 10.0))
def test_every_hidden_unit_gets_the_agreed_norm(head, row_norm):
    np.testing.assert_allclose(
        row_norms(balance_by_weights(head, row_norm).weighted[0]), row_norm, rtol=1e-9
    )


@given(heads)
def test_balancing_twice_is_balancing_once(head):
    once, twice = (
        balance_by_weights(head, 2.0),
        balance_by_weights(balance_by_weights(head, 2.0), 2.0),
    )
    for a, b in zip(once.weighted, twice.weighted, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, rtol=1e-9)
        np.testing.assert_allclose(a.bias, b.bias, rtol=1e-9)


def test_a_dead_unit_stays_dead_and_the_others_are_balanced():
    head = random_head(1)
    weights, bias = head.weighted[0].weights.copy(), head.weighted[0].bias.copy()
    weights[2], bias[2] = 0.0, 0.0
    dead = dense_network(DenseMap(weights, bias), head.weighted[1])
    layers = balance_by_weights(dead, 1.0).weighted
    np.testing.assert_allclose(row_norms(layers[0]), [1.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(layers[1].weights[:, 2], head.weighted[1].weights[:, 2])


def test_output_weights_take_the_square_of_what_a_unit_gives_away():
    head = dense_network(
        DenseMap(np.array([[3.0]]), np.array([4.0])), DenseMap(np.array([[2.0]]), np.zeros(1))
    )
    hidden, output = balance_by_weights(head, 1.0).weighted
    assert (hidden.weights.item(), hidden.bias.item()) == pytest.approx((0.6, 0.8))
    assert output.weights.item() == pytest.approx(2.0 * 5.0**2)


def test_a_linear_head_has_nothing_to_balance():
    head = dense_network(random_head(3).weighted[0])
    (layer,) = balance_by_weights(head, 7.0).layers
    np.testing.assert_array_equal(layer.weights, head.layers[0].weights)
    np.testing.assert_array_equal(layer.bias, head.layers[0].bias)


def test_three_layers_are_balanced_one_after_the_other():
    rng = np.random.default_rng(4)
    head = dense_network(
        *random_head(4, hidden=3, classes=3).weighted,
        DenseMap(rng.normal(size=(2, 3)), rng.normal(size=2)),
    )
    features = rng.uniform(-1, 1, (10, 5))
    result = balance_by_weights(head, 0.5)
    np.testing.assert_allclose(row_norms(result.weighted[0]), 0.5)
    np.testing.assert_allclose(row_norms(result.weighted[1]), 0.5)
    np.testing.assert_allclose(result.logits(features), head.logits(features), rtol=1e-6)


@pytest.fixture
def network():
    """Grouped and padded convolutions, pools on both sides of a square, dense layers after."""
    rng = np.random.default_rng(4)
    spread = np.array([1e-3, 1.0, 50.0, 7.0])[:, None, None, None]
    kernels = spread * rng.normal(size=(4, 2, 3, 3))
    return FoldedNetwork(
        (2, 8, 8),
        (
            ConvMap(kernels, rng.normal(size=(4, 8, 8)), padding=(1, 1)),
            SumPool((2, 2), (2, 2)),
            Square(),
            SumPool((2, 2), (1, 1)),
            ConvMap(rng.normal(size=(6, 2, 2, 2)), rng.normal(size=6), groups=2),
            Square(),
            DenseMap(rng.normal(size=(5, 24)), rng.normal(size=5)),
            Square(),
            DenseMap(rng.normal(size=(3, 5)), rng.normal(size=3)),
        ),
    )  # fmt: skip


def test_every_channel_reaches_one_and_logits_stay(network):
    x = np.random.default_rng(5).normal(size=(150, 2, 8, 8))
    balanced = balanced_by_values(network, x)
    np.testing.assert_allclose(balanced.logits(x), network.logits(x), rtol=1e-9)
    other = np.random.default_rng(6).normal(size=(20, 2, 8, 8))
    np.testing.assert_allclose(balanced.logits(other), network.logits(other), rtol=1e-9)
    values = list(stages(balanced, x))
    for layer, (_, before) in zip(balanced.layers, values, strict=False):
        if isinstance(layer, Square):
            largest = np.abs(before).max(axis=(0, *range(2, before.ndim)))
            np.testing.assert_allclose(largest, 1.0, rtol=1e-9)


def test_a_dead_channel_stays_dead():
    network = FoldedNetwork(
        (2,),
        (
            DenseMap(np.array([[4.0, 0.0], [0.0, 0.0]]), np.zeros(2)),
            Square(),
            DenseMap(np.ones((1, 2)), np.zeros(1)),
        ),
    )
    first, _, last = balanced_by_values(network, np.array([[0.5, 9.0]])).layers
    np.testing.assert_array_equal(first.weights, [[2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(last.weights, [[4.0, 1.0]])


def test_a_square_without_weights_before_it_stays():
    network = FoldedNetwork(
        (1, 2, 2),
        (SumPool((2, 2), (2, 2)), Square(), DenseMap(np.ones((1, 1)), np.zeros(1))),
    )
    assert balanced_by_values(network, np.ones((1, 1, 2, 2))).layers == network.layers


def test_no_samples_are_refused(network):
    with pytest.raises(ModelError, match="without samples"):
        balanced_by_values(network, np.zeros((0, 2, 8, 8)))


def test_only_dense_maps_are_balanced_by_weights(network):
    with pytest.raises(ModelError, match="only dense maps"):
        balance_by_weights(network, 1.0)
