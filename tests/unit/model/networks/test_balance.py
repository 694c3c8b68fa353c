import numpy as np
import pytest

from securefair.errors import ModelError
from securefair.model.folded_network import FoldedNetwork, Square, stages
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool
from securefair.model.networks.balance import balanced_network


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


@pytest.mark.parametrize("limit", [1.0, 3.0])
def test_every_channel_reaches_the_limit_and_logits_stay(network, limit):
    x = np.random.default_rng(5).normal(size=(150, 2, 8, 8))
    balanced = balanced_network(network, x, limit=limit)
    np.testing.assert_allclose(balanced.clear(x), network.clear(x), rtol=1e-9)
    other = np.random.default_rng(6).normal(size=(20, 2, 8, 8))
    np.testing.assert_allclose(balanced.clear(other), network.clear(other), rtol=1e-9)
    values = list(stages(balanced, x))
    for layer, (_, before) in zip(balanced.layers, values, strict=False):
        if isinstance(layer, Square):
            largest = np.abs(before).max(axis=(0, *range(2, before.ndim)))
            np.testing.assert_allclose(largest, limit, rtol=1e-9)


def test_a_dead_channel_stays_dead():
    network = FoldedNetwork(
        (2,),
        (
            DenseMap(np.array([[4.0, 0.0], [0.0, 0.0]]), np.zeros(2)),
            Square(),
            DenseMap(np.ones((1, 2)), np.zeros(1)),
        ),
    )
    first, _, last = balanced_network(network, np.array([[0.5, 9.0]])).layers
    np.testing.assert_array_equal(first.weights, [[2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(last.weights, [[4.0, 1.0]])


def test_a_square_without_weights_before_it_stays():
    network = FoldedNetwork(
        (1, 2, 2),
        (SumPool((2, 2), (2, 2)), Square(), DenseMap(np.ones((1, 1)), np.zeros(1))),
    )
    assert balanced_network(network, np.ones((1, 1, 2, 2))).layers == network.layers


def test_no_samples_are_refused(network):
    with pytest.raises(ModelError, match="without samples"):
        balanced_network(network, np.zeros((0, 2, 8, 8)))
