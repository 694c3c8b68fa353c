import numpy as np
import pytest

from securefair.errors import ModelError
from securefair.model.folded_network import FoldedNetwork, Square
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool
from securefair.model.quantized_network import quantize_network, quantize_network_at


@pytest.fixture
def network():
    rng = np.random.default_rng(2)
    return FoldedNetwork(
        (1, 5, 5),
        (
            ConvMap(rng.normal(size=(2, 1, 2, 2)), rng.normal(size=(2, 4, 4))),
            Square(),
            SumPool((2, 2), (2, 2)),
            DenseMap(rng.normal(size=(3, 8)), rng.normal(size=3)),
        ),
    )


def test_agreed_scales_are_used_and_the_rest_stays(network):
    quantized = quantize_network_at(network, (7, 20))
    assert quantized.log2_scales == (7, None, None, 20)
    for before, after, integers, scale in zip(
        network.layers, quantized.layers, quantized.integers, quantized.log2_scales, strict=True
    ):
        if scale is None:
            assert after is before
            assert integers is None
        else:
            np.testing.assert_array_equal(integers, np.rint(before.weights * 2**scale))
            np.testing.assert_array_equal(after.weights * 2**scale, integers)
            np.testing.assert_array_equal(after.bias, before.bias)


def test_more_bits_bring_the_logits_closer(network):
    x = np.random.default_rng(5).normal(size=(50, 1, 5, 5))
    errors = []
    for bits in (4, 8, 16):
        quantized = quantize_network(network, bits)
        largest = [int(np.abs(i).max()) for i in quantized.integers if i is not None]
        assert all(2 ** (bits - 1) <= value < 2**bits for value in largest)
        errors.append(np.abs(quantized.clear(x) - network.clear(x)).max())
    assert errors[0] > 4 * errors[1] > 100 * errors[2] > 0


def test_norms_are_those_of_whole_rows():
    weights = np.array([[[[3.0, -4.0]]], [[[1.0, 0.0]]]])  # two channels, window 1 x 2
    network = FoldedNetwork(
        (1, 1, 2), (ConvMap(weights, np.array([0.25, -7.0])), SumPool((1, 1), (1, 1)))
    )
    norms, none = quantize_network(network, 12).norms
    assert none is None
    assert norms is not None
    assert (norms.row_l1, norms.row_l2, norms.bias) == (7, 5, 7)


def test_one_scale_a_map_with_weights(network):
    with pytest.raises(ModelError, match="one scale"):
        quantize_network_at(network, (7, 7, 7))
    with pytest.raises(ModelError, match="bits"):
        quantize_network(network, 31)
