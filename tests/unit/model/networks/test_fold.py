import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from securefair.errors import ModelError
from securefair.model.folded import Square
from securefair.model.heads import build_head
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool
from securefair.model.networks.builder import he_network
from securefair.model.networks.fold import fold
from securefair.model.quadratic import Quadratic


def disturbed(layers, input_shape, seed=0):
    """A network in float64 and evaluation mode, every parameter and statistic drawn at random."""
    network = he_network(nn.Sequential(*layers), input_shape).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in network.state_dict().items():
            if value.dtype == torch.float64:
                drawn = torch.randn(value.shape, generator=generator, dtype=torch.float64)
                value.copy_(0.5 + drawn.abs() if name.endswith("running_var") else drawn / 2)
    return network


def check(network, samples=5):
    """The folded network is the module's function; returns it."""
    folded = fold(network)
    x = np.random.default_rng(9).normal(size=(samples, *network.input_shape))
    np.testing.assert_allclose(folded.logits(x), network.logits(x), rtol=1e-9, atol=1e-9)
    return folded


def block(inputs, outputs, **options):
    conv = nn.Conv2d(inputs, outputs, 3, **options)
    return conv, nn.BatchNorm2d(outputs), Quadratic(outputs)


NETWORKS = {
    "padded, constants meet the border": (
        [*block(2, 3, padding=1), *block(3, 4, padding=1), nn.Flatten(), nn.Linear(144, 3)],
        (2, 6, 6),
        "conv 1, square 1, conv 2, square 2, dense 3",
    ),
    "strided, grouped, pools after squares": (
        [
            *block(2, 4, stride=2, padding=1, groups=2),
            nn.AvgPool2d(2),
            *block(4, 4, padding=1, groups=4, bias=False),
            nn.AvgPool2d(3, stride=1, padding=1),
            nn.Flatten(),
            nn.Linear(36, 3),
        ],
        (2, 12, 12),
        "conv 1, square 1, pool 2, conv 2, square 2, pool 3, dense 3",
    ),
    "pool before the square joins the convolution": (
        [nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.AvgPool2d(2), Quadratic(3),
         nn.Flatten(), nn.Linear(27, 2)],
        (1, 6, 7),
        "conv 1, square 1, dense 2",
    ),
    "a padded pool cannot join": (
        [nn.Conv2d(1, 3, 3, padding=1), nn.AvgPool2d(2, padding=1), Quadratic(3), nn.Flatten(),
         nn.Linear(48, 2)],
        (1, 6, 6),
        "conv 1, pool 1, conv 1, square 1, dense 2",
    ),
    "a pool that would cost products stays": (
        [nn.Conv2d(2, 3, 1), nn.AvgPool2d(3, stride=1), Quadratic(3), nn.Flatten(),
         nn.Linear(48, 2)],
        (2, 6, 6),
        "conv 1, pool 1, conv 1, square 1, dense 2",
    ),
    "a pool joins a bias that depends on the position": (
        [*block(1, 2, padding=1), nn.Conv2d(2, 2, 3, padding=1), nn.AvgPool2d(2), Quadratic(2),
         nn.Flatten(), nn.Linear(18, 2)],
        (1, 6, 6),
        "conv 1, square 1, conv 2, square 2, dense 3",
    ),
    "normalised input, dense layers that merge": (
        [nn.BatchNorm1d(7), nn.Linear(7, 3), nn.BatchNorm1d(3), nn.Linear(3, 9), Quadratic(9),
         nn.Dropout(0.5), nn.Linear(9, 20), nn.Linear(20, 2)],
        (7,),
        "dense 1, dense 1, square 1, dense 2",
    ),
    "squares with nothing between, at the start and at the end": (
        [Quadratic(2), Quadratic(2), nn.Conv2d(2, 2, 2), Quadratic(2)],
        (2, 3, 3),
        "conv 1, square 1, conv 2, square 2, conv 3, square 3, conv 4",
    ),
    "activations on flattened values": (
        [nn.Conv2d(1, 2, 2), nn.Flatten(), nn.BatchNorm1d(8), Quadratic(8), nn.Linear(8, 3),
         Quadratic(3)],
        (1, 3, 3),
        "conv 1, dense 1, square 1, dense 2, square 2, dense 3",
    ),
    "one polynomial for all channels": (
        [nn.Conv2d(1, 2, 2), Quadratic(), nn.Flatten(), nn.Linear(8, 3), Quadratic(),
         nn.Linear(3, 2)],
        (1, 3, 3),
        "conv 1, square 1, dense 2, square 2, dense 3",
    ),
    "a fully convolutional classifier": (
        [*block(1, 3), nn.Conv2d(3, 4, 1), nn.AvgPool2d(4), nn.Flatten()],
        (1, 6, 6),
        "conv 1, square 1, conv 2",
    ),
    "pooled squares as logits": (
        [*block(1, 3), nn.AvgPool2d(4)],
        (1, 6, 6),
        "conv 1, square 1, pool 2, conv 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_a_folded_network_is_the_modules_function(name):
    layers, shape, expected = NETWORKS[name]
    assert ", ".join(check(disturbed(layers, shape)).names) == expected


@given(
    kernel=st.integers(1, 3),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    groups=st.sampled_from([1, 2]),
    window=st.integers(1, 3),
    step=st.integers(1, 3),
    pool_first=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_any_geometry_folds(kernel, stride, padding, groups, window, step, pool_first, seed):
    pool, activation = nn.AvgPool2d(window, stride=step), Quadratic(4)
    layers = [
        nn.Conv2d(2, 4, kernel, stride, padding, groups=groups),
        *((pool, activation) if pool_first else (activation, pool)),
        nn.Conv2d(4, 2, 1, padding=1),
    ]
    check(disturbed(layers, (2, 9, 9), seed), samples=2)


def test_a_constant_bias_stays_one_a_channel():
    unpadded = check(disturbed([*block(1, 2), *block(2, 2), nn.Conv2d(2, 2, 2)], (1, 6, 6)))
    assert [layer.bias.shape for layer in unpadded.layers[::2]] == [(2,), (2,), (2,)]
    padded = check(disturbed([*block(1, 2), *block(2, 2, padding=1)], (1, 6, 6)))
    assert padded.layers[2].bias.shape == (2, 4, 4)


def test_a_merged_pool_saves_products():
    layers = [nn.Conv2d(3, 8, 3), nn.AvgPool2d(2)]
    (merged,) = check(disturbed(layers, (3, 8, 8))).layers
    assert isinstance(merged, ConvMap)
    assert (merged.kernel, merged.stride) == ((4, 4), (2, 2))
    assert merged.multiply_adds((3, 8, 8)) == 3 * 3 * 16 * 24


def test_folding_leaves_the_module_alone():
    network = disturbed([*block(1, 2), nn.Flatten(), nn.Linear(32, 2)], (1, 6, 6))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    first, second = fold(network), fold(network)
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])
    assert isinstance(first.layers[0], ConvMap)
    np.testing.assert_array_equal(first.layers[0].weights, second.layers[0].weights)


def test_the_kinds_that_come_out():
    layers = [*block(1, 2), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8, 2)]
    kinds = [type(layer) for layer in check(disturbed(layers, (1, 6, 6))).layers]
    assert kinds == [ConvMap, Square, SumPool, DenseMap]


def test_a_head_and_the_same_network_fold_to_equal_weights():
    head = build_head("quadratic", 5, 4, 3, seed=2)
    head.slope.data.fill_(-0.7)
    square = Quadratic(square=head.square.item(), slope=-0.7)
    network = he_network(nn.Sequential(nn.Linear(5, 4), square, nn.Linear(4, 3)), (5,)).double()
    hidden, _, output = network.layers
    for layer, weights, bias in (
        (hidden, head.hidden_weights, head.hidden_bias),
        (output, head.output_weights, head.output_bias),
    ):
        layer.weight.data.copy_(weights)
        layer.bias.data.copy_(bias)
    square.slope.data.fill_(-0.7)
    square.square_log_gain.data.copy_(head.square_log_gain)
    first, second = head.folded().weighted, fold(network.eval()).weighted
    for own, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(own.weights, other.weights)
        np.testing.assert_array_equal(own.bias, other.bias)


def test_what_is_no_network_is_refused_with_what_makes_one():
    with pytest.raises(ModelError, match=r"network: .*he_network"):
        fold(nn.Sequential(nn.Linear(4, 2)))
