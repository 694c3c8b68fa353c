import numpy as np
import pytest
import torch

from securefair.errors import ConfigError
from securefair.model.networks.fold import fold
from securefair_lab.networks.reference import REFERENCES, reference, reference_network

PLANNED = {  # multiply-adds, values that are squared, squares in a row
    "mnist": (36_662, 1_208, 2),
    "cifar": (5_319_456, 43_008, 3),
    "cifar-wide": (25_416_064, 81_920, 3),
    "cifar-cosines": (18_721_792, 40_960, 3),
    "derma": (3_264_944, 28_672, 3),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_what_encryption_will_pay_is_as_documented(name):
    folded = fold(reference_network(name, seed=0))
    assert folded.input_shape == reference(name).input_shape
    assert folded.classes == reference(name).classes
    assert (folded.multiply_adds, folded.squares, folded.depth) == PLANNED[name]


@pytest.mark.parametrize(
    ("name", "shape"), [("mnist", (1, 28, 28)), ("cifar-cosines", (3, 32, 32))]
)
def test_what_is_encrypted_of_images_is_what_the_network_takes(name, shape):
    images = np.random.default_rng(0).normal(size=(3, *shape))
    chosen = reference(name)
    values = chosen.encrypted(images)
    assert values.shape == (3, *chosen.input_shape)
    assert values.dtype == np.float32
    assert reference_network(name, seed=0).logits(values).shape == (3, chosen.classes)
    assert chosen.bound is None or np.abs(values).max() <= chosen.bound


def test_equal_seeds_give_equal_parameters_and_leave_torch_alone():
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first, second, other = (reference_network("mnist", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    kernels = [next(network.parameters()) for network in (first, second, other)]
    assert torch.equal(kernels[0], kernels[1])
    assert not torch.equal(kernels[0], kernels[2])


def test_an_unknown_network_is_refused():
    with pytest.raises(ConfigError) as error:
        reference("resnet")
    assert (error.value.where, error.value.found) == ("network", "resnet")
    assert "mnist" in str(error.value.expected)
