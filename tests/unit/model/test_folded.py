import itertools

import numpy as np
import pytest

from securefair.errors import ModelError
from securefair.model.folded import (
    FoldedNetwork,
    Square,
    activation_ranges,
    dense_network,
    stages,
)
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool


def small_network(rng):
    """conv 3x3 - square - pool - dense - square - dense on (2, 6, 6)."""
    return FoldedNetwork(
        (2, 6, 6),
        (
            ConvMap(rng.normal(size=(3, 2, 3, 3)), rng.normal(size=3)),
            Square(),
            SumPool((2, 2), (2, 2)),
            DenseMap(rng.normal(size=(5, 12)), rng.normal(size=5)),
            Square(),
            DenseMap(rng.normal(size=(4, 5)), rng.normal(size=4)),
        ),
    )


def test_a_network_is_its_layers_in_order():
    rng = np.random.default_rng(2)
    network = small_network(rng)
    x = rng.normal(size=(300, 2, 6, 6))  # more than one chunk
    conv, _, pool, hidden, _, output = network.layers
    expected = output.apply(hidden.apply(pool.apply(conv.apply(x) ** 2)) ** 2)
    np.testing.assert_allclose(network.logits(x), expected, rtol=1e-12)


def test_counts_computed_by_hand():
    network = small_network(np.random.default_rng(2))
    assert network.names == ("conv 1", "square 1", "pool 2", "dense 2", "square 2", "dense 3")
    assert network.shapes[1:] == ((3, 4, 4), (3, 4, 4), (3, 2, 2), (5,), (5,), (4,))
    assert (network.depth, network.squares, network.classes) == (2, 48 + 5, 4)
    assert network.multiply_adds == 16 * 3 * 18 + 5 * 12 + 4 * 5


def degrees_of_freedom(layers, features):
    """Rank of what any change of a weight does to the logits of many samples."""
    rng = np.random.default_rng(0)
    maps = [DenseMap(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in layers]
    x = rng.normal(size=(200, features))
    columns = []
    for layer in maps:
        for array in (layer.weights, layer.bias):
            for at in np.ndindex(array.shape):
                kept, step = array[at], 1e-5
                array[at] = kept + step
                above = dense_network(*maps).logits(x)
                array[at] = kept - step
                columns.append((above - dense_network(*maps).logits(x)).ravel() / (2 * step))
                array[at] = kept
    spread = np.linalg.svd(np.array(columns), compute_uv=False)
    return int((spread > 1e-7 * spread[0]).sum()), dense_network(*maps)


@pytest.mark.parametrize(
    ("widths", "found"),
    [
        ((4, 3), 15),  # every weight counts
        ((3, 3, 2), 17),  # 20, but for the scales of 3 units
        ((3, 2, 1), 8),  # 11, but for 2 scales and a rotation of both
        ((3, 7, 1), 10),  # a quadratic form of 4 variables
        ((5, 6, 2), 42),  # two forms of 6
        ((2, 9, 3), 18),
        ((3, 2, 2, 2), 16),  # 20, but for the scales of 4 units
    ],
)
def test_as_many_numbers_determine_a_network_as_it_has_degrees_of_freedom(widths, found):
    freedom, network = degrees_of_freedom(list(itertools.pairwise(widths)), widths[0])
    assert freedom == network.determining == found


def test_a_networks_shared_weights_count_once():
    network = small_network(np.random.default_rng(2))
    assert network.determining == 3 * 18 + 3 - 3 + 5 * 12 + 5 - 5 + 4 * 5 + 4


def test_ranges_are_those_of_every_stage():
    rng = np.random.default_rng(3)
    network, x = small_network(rng), rng.normal(size=(200, 2, 6, 6))
    ranges = activation_ranges(network, x)
    for (name, values), found in zip(stages(network, x), ranges, strict=True):
        assert found.stage == name
        assert found.maximum == pytest.approx(np.abs(values).max())
        assert found.rms == pytest.approx(np.sqrt(np.mean(values**2)))
    assert ranges[-1].stage == "dense 3"


@pytest.mark.parametrize(
    "layers",
    [
        (),
        (Square(),),
        (Square(), DenseMap(np.ones((2, 4)), np.zeros(2))),
        (DenseMap(np.ones((2, 4)), np.zeros(2)), Square()),
        (
            DenseMap(np.ones((2, 4)), np.zeros(2)),
            Square(),
            Square(),
            DenseMap(np.ones((2, 2)), np.zeros(2)),
        ),
        (DenseMap(np.ones((2, 4)), np.zeros(2)), DenseMap(np.ones((2, 3)), np.zeros(2))),
    ],
)
def test_layers_in_no_possible_order_are_refused(layers):
    with pytest.raises(ModelError):
        FoldedNetwork((4,), layers)


def test_samples_of_another_shape_are_refused():
    network = small_network(np.random.default_rng(2))
    with pytest.raises(ModelError, match="does not fit"):
        network.logits(np.zeros((3, 2, 6, 5)))


def test_flat_samples_are_the_same_as_shaped_ones():
    rng = np.random.default_rng(7)
    network, x = small_network(rng), rng.normal(size=(5, 2, 6, 6))
    np.testing.assert_array_equal(network.logits(x.reshape(5, -1)), network.logits(x))


def test_a_network_prints_its_widths_only():
    network = small_network(np.random.default_rng(2))
    assert repr(network) == "FoldedNetwork(72 -> 48 -> 12 -> 5 -> 4, redacted)"
