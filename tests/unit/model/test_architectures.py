"""Networks by name have the layers that the papers print."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import nn

from securefair.errors import ConfigError, ModelError
from securefair.model.architectures import ARCHITECTURES, architecture
from securefair.model.stacked import Stacked


def built(name: str, shape: tuple[int, ...], classes: int = 10) -> nn.Module:
    return architecture(name, shape, classes)(torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("name", "shape", "parameters", "first_dense"),
    [
        ("cnn", (3, 32, 32), 121_182, 800),  # CGSV's, as CYCle uses it
        ("lenet", (3, 32, 32), 62_006, 400),  # DPFL, H.3.2
        ("femnist-lenet", (1, 28, 28), 37_586, 192),  # DPFL, H.4.2
    ],
)
def test_a_papers_network_has_its_layers(
    name: str, shape: tuple[int, ...], parameters: int, first_dense: int
) -> None:
    network = built(name, shape)
    dense = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    assert dense[0].in_features == first_dense
    assert sum(p.numel() for p in network.parameters()) == parameters
    assert network(torch.zeros(2, *shape)).shape == (2, 10)


@pytest.mark.parametrize("name", sorted(ARCHITECTURES.keys() - {"resnet18"}))
def test_equal_seeds_give_equal_networks_and_leave_torchs_generator_alone(name: str) -> None:
    before = torch.get_rng_state()
    first, again = (built(name, (3, 16, 16), 3) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    for one, other in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    assert first(torch.zeros(1, 3, 16, 16)).shape == (1, 3)


@pytest.mark.parametrize("name", ["mlp-32", "quadratic-head-4", "linear-head"])
def test_another_process_can_build_a_network(name: str) -> None:
    stacked = Stacked(architecture(name, (3,), 2), dtype=torch.float64)
    sent = pickle.loads(pickle.dumps(stacked))
    assert (sent.dtype, sent.form, sent.slots) == (stacked.dtype, stacked.form, stacked.slots)
    network = sent.build(torch.Generator().manual_seed(1))
    for one, other in zip(network.parameters(), built(name, (3,), 2).parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(("name", "side"), [("cnn", 15), ("small-cnn", 7), ("resnet18", 7)])
def test_images_that_are_too_small_are_refused(name: str, side: int) -> None:
    with pytest.raises(ModelError, match="takes images"):
        built(name, (3, 32, side))


def test_vectors_are_no_images() -> None:
    with pytest.raises(ModelError, match=r"samples of shape \(64,\)"):
        built("lenet", (64,))


def test_an_unknown_network_is_refused_with_all_names() -> None:
    with pytest.raises(ConfigError, match="femnist-lenet, resnet18"):
        architecture("vgg", (3, 32, 32), 10)
