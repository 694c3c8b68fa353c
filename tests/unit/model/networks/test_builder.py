import numpy as np
import pytest
import torch
from torch import nn

from securefair.errors import ModelError
from securefair.model.networks.builder import he_network
from securefair.model.networks.supported import ALTERNATIVES, SUPPORTED
from securefair.model.quadratic import Quadratic


def small(*extra):
    """On (1, 4, 4); `extra` comes after the activation."""
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 2, 3), Quadratic(2)), *extra, nn.Flatten(), nn.Linear(8, 3)
    )


def test_nested_sequences_and_vanishing_modules_are_accepted():
    network = he_network(small(nn.Dropout(0.5), nn.Identity()), (1, 4, 4)).double()
    x = np.random.default_rng(0).normal(size=(7, 1, 4, 4))
    logits = network.logits(x, batch_size=3)
    assert logits.shape == (7, 3)
    np.testing.assert_allclose(network.logits(x.reshape(7, 16)), logits)
    assert network.training, "asking for logits leaves the mode alone"


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        (nn.ReLU(), "Quadratic"),
        (nn.GELU(), "Quadratic"),
        (nn.MaxPool2d(2), "AvgPool2d"),
        (nn.AdaptiveAvgPool2d(1), "AvgPool2d"),
        (nn.GroupNorm(1, 2), "BatchNorm2d"),
        (nn.Softmax(dim=1), "after decryption"),
        (nn.Conv2d(2, 2, 2, dilation=2), "dilation"),
        (nn.Conv2d(2, 2, 3, padding="same"), "numbers"),
        (nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"), "padding_mode"),
        (nn.AvgPool2d(2, ceil_mode=True), "ceil_mode"),
        (nn.AvgPool2d(2, padding=1, count_include_pad=False), "count_include_pad"),
        (nn.BatchNorm2d(2, track_running_stats=False), "track_running_stats"),
        (nn.Flatten(2), "Flatten"),
    ],
)
def test_what_encryption_cannot_evaluate_is_refused_by_name(module, hint):
    with pytest.raises(ModelError) as error:
        he_network(small(module), (1, 4, 4))
    assert error.value.where == "module 1"
    assert type(module).__name__ in str(error.value.found)
    assert hint in str(error.value.hint)


def test_an_unknown_module_is_refused_with_what_is_known():
    with pytest.raises(ModelError) as error:
        he_network(small(nn.Upsample(scale_factor=2)), (1, 4, 4))
    assert error.value.found == "Upsample"
    assert "Conv2d" in str(error.value.expected)
    assert error.value.hint is None


def test_no_module_is_both_supported_and_replaced():
    assert not SUPPORTED.keys() & ALTERNATIVES.keys()


def test_a_module_that_does_not_fit_is_named():
    layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(3))
    with pytest.raises(ModelError) as error:
        he_network(layers, (1, 4, 4))
    assert error.value.where == "module 1"
    assert "(2, 2, 2)" in str(error.value.found)


def test_a_network_without_a_linear_map_is_refused():
    with pytest.raises(ModelError, match="Conv2d or a Linear"):
        he_network(nn.Sequential(nn.BatchNorm2d(1), nn.Flatten()), (1, 4, 4))


def test_checking_leaves_modes_and_statistics_alone():
    layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    he_network(layers, (1, 4, 4))
    assert layers.training
    assert layers[1].num_batches_tracked == 0
    assert not he_network(layers.eval(), (1, 4, 4)).training


def test_the_excess_of_all_activations_is_summed():
    torch.manual_seed(0)
    first, second = Quadratic(2, limit=0.1), Quadratic(3, limit=0.2)
    layers = nn.Sequential(nn.Conv2d(1, 2, 3), first, nn.Flatten(), nn.Linear(8, 3), second)
    network = he_network(layers, (1, 4, 4))
    x = torch.randn(5, 1, 4, 4)
    logits, excess = network.with_excess(x)
    u = layers[0](x)
    v = layers[3](first(u).flatten(1))
    torch.testing.assert_close(excess, first.excess(u) + second.excess(v))
    torch.testing.assert_close(logits, network(x))
    assert excess > 0


@pytest.mark.parametrize(
    ("layers", "shape", "hint"),
    [
        ((nn.Conv2d(1, 2, 3), nn.Linear(6, 3)), (1, 8, 8), "nn.Flatten"),
        ((nn.Linear(8, 3),), (1, 1, 8), "nn.Flatten"),
        ((nn.Conv2d(1, 2, 3),), (8, 8), "channels, height, width"),
        ((nn.Linear(8, 4), nn.AvgPool2d(2)), (8,), "channels, height, width"),
    ],
)
def test_values_of_another_shape_than_a_module_means_are_refused(layers, shape, hint):
    """Torch takes a last axis for features and a missing first one for a single sample."""
    with pytest.raises(ModelError, match=hint):
        he_network(nn.Sequential(*layers), shape)


@pytest.mark.parametrize(
    ("layers", "shape", "where"),
    [([nn.Flatten(), nn.Linear(4, 2)], (1, 2, 2), "layers"), (nn.Linear(4, 2), 4, "input_shape")],
)
def test_what_is_no_sequence_or_shape_is_refused(layers, shape, where):
    with pytest.raises(ModelError, match=f"{where}: a network is a sequence"):
        he_network(layers, shape)
