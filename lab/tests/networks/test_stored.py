import numpy as np
import pytest
import torch
from torch import nn

from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.networks.builder import he_network
from securefair.model.quadratic import Quadratic
from securefair_lab.networks.reference import reference_network
from securefair_lab.networks.stored import load_weights, save_weights, trained_network


def network(seed, channels=3):
    torch.manual_seed(seed)
    layers = nn.Sequential(
        nn.Conv2d(1, channels, 3), nn.BatchNorm2d(channels), Quadratic(channels), nn.Flatten()
    )
    result = he_network(layers, (1, 5, 5))
    result(torch.randn(4, 1, 5, 5))  # statistics that are not the initial ones
    return result.eval()


def test_a_network_comes_back_as_it_was_left(tmp_path):
    path, images = tmp_path / "made" / "weights.npz", np.random.default_rng(0).normal(size=(6, 25))
    stored = network(1)
    exact = stored.logits(images)
    save_weights(stored, path)
    other = network(2)
    load_weights(other, path)
    np.testing.assert_array_equal(other.logits(images), stored.logits(images))
    # Rounding to half precision changed the network a little, and the one that was saved too.
    assert 0 < np.abs(stored.logits(images) - exact).max() < 1e-2


def test_matrices_take_two_bytes_a_number(tmp_path):
    save_weights(network(1), tmp_path / "w.npz")
    with np.load(tmp_path / "w.npz") as file:
        kinds = {name: file[name].dtype for name in file.files}
    assert kinds["layers.0.weight"] == np.float16
    assert kinds["layers.1.running_var"] == np.float32


def test_an_array_that_is_no_archive_is_refused(tmp_path):
    with (tmp_path / "w.npz").open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(DataError, match="cannot be read"):
        load_weights(network(1), tmp_path / "w.npz")


def test_another_networks_weights_are_refused_by_name(tmp_path):
    save_weights(network(1), tmp_path / "w.npz")
    with pytest.raises(DataError) as error:
        load_weights(network(1, channels=4), tmp_path / "w.npz")
    assert "layers.0.bias of (3,)" in str(error.value.found)
    assert error.value.expected == "(4,)"


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 and no more", b"text"])
def test_unreadable_files_are_refused(tmp_path, content):
    path = tmp_path / "w.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        load_weights(network(1), path)


def test_weights_beyond_half_precision_are_refused(tmp_path):
    broken = network(1)
    with torch.no_grad():
        broken.layers[0].weight[0, 0, 0, 0] = 1e6
    with pytest.raises(ModelError) as error:
        save_weights(broken, tmp_path / "w.npz")
    assert error.value.where == "layers.0.weight"


@pytest.mark.parametrize("name", ["mnist", "cifar", "cifar-wide", "cifar-cosines"])
def test_weights_that_ship_fit_and_were_trained(name):
    network = trained_network(name)
    assert not network.training
    fresh = reference_network(name, seed=0)
    for (key, after), before in zip(
        network.state_dict().items(), fresh.state_dict().values(), strict=True
    ):
        if key.endswith(("weight", "running_mean")):
            assert not torch.equal(after, before), key


def test_weights_that_do_not_ship_come_from_a_file(tmp_path):
    with pytest.raises(DataError, match="no weights ship"):
        trained_network("derma")
    own = reference_network("derma", seed=5)
    save_weights(own, tmp_path / "derma.npz")
    loaded = trained_network("derma", tmp_path / "derma.npz")
    assert torch.equal(next(loaded.parameters()), next(own.parameters()))
    with pytest.raises(ConfigError):
        trained_network("resnet")
