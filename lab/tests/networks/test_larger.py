import numpy as np
import pytest
import torch
from torch import nn

from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.networks.builder import he_network
from securefair.model.quadratic import Quadratic
from securefair_lab.networks.larger import LargerNetwork, larger_network, soft_labels
from securefair_lab.networks.training import TrainingRecipe, train_network

RECIPE = TrainingRecipe(epochs=4, batch_size=32, peak_rate=0.05, crop=1, flip=True)


def stripes(samples, seed=0):
    """Horizontal against vertical stripes of random phase, in noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, samples)
    phase = rng.uniform(0, 2 * np.pi, samples)
    waves = np.sin(np.arange(16)[None] * 1.5 + phase[:, None])
    rows = np.broadcast_to(waves[:, None, :, None], (samples, 3, 16, 16))
    columns = np.broadcast_to(waves[:, None, None, :], (samples, 3, 16, 16))
    images = np.where(labels[:, None, None, None] == 1, rows, columns)
    return (images + rng.normal(scale=0.5, size=images.shape)).astype(np.float32), labels


@pytest.fixture(scope="module")
def trained():
    return larger_network(*stripes(256), 2, seed=1, recipe=RECIPE)


def small():
    torch.manual_seed(3)
    return he_network(
        nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1, bias=False),
            nn.BatchNorm2d(4),
            Quadratic(4),
            nn.AvgPool2d(4),
            nn.Flatten(),
            nn.Linear(64, 2),
        ),
        (3, 16, 16),
    )


@pytest.mark.slow
def test_it_learns_and_says_what_it_sees_in_both_views(trained):
    images, labels = stripes(100, seed=1)
    soft = soft_labels(trained, images, batch_size=33)
    assert soft.shape == (2, 100, 2)
    for logits in soft:
        assert (logits.argmax(axis=1) == labels).mean() > 0.9
    mirrored = soft_labels(trained, np.ascontiguousarray(images[..., ::-1]))
    np.testing.assert_allclose(mirrored, soft[::-1], atol=0.05)
    assert np.abs(soft[0] - soft[1]).max() > 0.05


@pytest.mark.slow
def test_equal_seeds_make_equal_ones_and_leave_torch_alone():
    images, labels = stripes(64)
    recipe = TrainingRecipe(epochs=1, batch_size=32)
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first, second, other = (
        soft_labels(larger_network(images, labels, 2, seed=seed, recipe=recipe), images)
        for seed in (1, 1, 2)
    )
    assert torch.equal(torch.rand(1), expected)
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 1e-3


def test_the_first_convolution_makes_patches_uncorrelated_and_stays():
    images, labels = stripes(64)
    network = LargerNetwork(2, images)
    first = network.layers[0].weight.detach().clone()
    values = torch.nn.functional.conv2d(torch.from_numpy(images), first[:12])
    covariance = torch.cov(values.permute(1, 0, 2, 3).reshape(12, -1))
    torch.testing.assert_close(covariance, torch.eye(12), atol=0.1, rtol=0)
    train_network(network, images, labels, TrainingRecipe(epochs=1, batch_size=32), seed=0)
    assert torch.equal(network.layers[0].weight, first)


def test_a_small_network_comes_to_say_what_the_soft_labels_say():
    """Labels are noise here: what is learned comes from the soft labels alone."""
    images, labels = stripes(400)
    soft = np.tile(np.eye(2, dtype=np.float32)[labels] * 8, (2, 1, 1))
    noise = np.random.default_rng(9).integers(0, 2, len(labels))
    x, y = stripes(200, seed=2)
    right = []
    for weight in (0.0, 0.9):
        network = small()
        recipe = TrainingRecipe(epochs=6, batch_size=32, peak_rate=0.05, soft_weight=weight)
        train_network(network, images, noise, recipe, seed=1, soft=soft)
        right.append((network.logits(x).argmax(1) == y).mean())
    assert right[1] > 0.9 > 0.7 > right[0]


def test_soft_labels_of_another_precision_say_the_same():
    images, labels = stripes(64)
    soft = np.tile(np.eye(2, dtype=np.float32)[labels], (2, 1, 1))
    logits = []
    for kind in (np.float32, np.float64):
        network = small()
        recipe = TrainingRecipe(epochs=1, batch_size=32)
        train_network(network, images, labels, recipe, seed=1, soft=soft.astype(kind))
        logits.append(network.logits(images))
    np.testing.assert_array_equal(*logits)


def test_mirror_images_have_soft_labels_of_their_own():
    """Targets that tell a view from its mirror image can be met only by looking at which it is."""
    rng = np.random.default_rng(0)
    images = rng.normal(scale=0.1, size=(320, 3, 16, 16)).astype(np.float32)
    images[..., :8] += 1  # bright on the left
    soft = np.zeros((2, len(images), 2), np.float32)
    soft[0, :, 0] = soft[1, :, 1] = 8
    network = small()
    recipe = TrainingRecipe(epochs=6, batch_size=32, peak_rate=0.05, flip=True, soft_weight=1.0)
    train_network(network, images, np.zeros(320, np.int64), recipe, seed=1, soft=soft)
    assert (network.logits(images).argmax(1) == 0).all()
    assert (network.logits(np.ascontiguousarray(images[..., ::-1])).argmax(1) == 1).all()


def test_what_does_not_fit_is_said():
    images, labels = stripes(64)
    recipe = TrainingRecipe(epochs=1, batch_size=32)
    with pytest.raises(DataError, match="soft labels"):
        train_network(small(), images, labels, recipe, seed=0, soft=np.zeros((2, 63, 2), "f4"))
    for classes in (1, 3):
        soft = np.zeros((2, 64, classes), "f4")
        with pytest.raises(DataError, match="soft labels"):
            train_network(small(), images, labels, recipe, seed=0, soft=soft)
    turned = TrainingRecipe(epochs=1, batch_size=32, rotate=True)
    with pytest.raises(ConfigError, match="mirror"):
        train_network(small(), images, labels, turned, seed=0, soft=np.zeros((2, 64, 2), "f4"))
    with pytest.raises(ModelError, match="colour"):
        LargerNetwork(2, images[:, :1])
