import copy

import numpy as np
import pytest
import torch
from torch import nn

from securefair.data import Samples
from securefair.errors import ConfigError, ModelError
from securefair.model.building import build_model
from securefair.model.networks import NetworkHead, he_network, small_network
from securefair.model.training import Learner, OptimizerConfig, evaluate, train_epochs


def samples(count=60, seed=0, side=8):
    """Two kinds of images: bright above or bright below."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    images = rng.uniform(0, 0.3, (count, side, side))
    images[labels == 0, : side // 2] += 0.6
    images[labels == 1, side // 2 :] += 0.6
    return Samples(images.reshape(count, -1), labels.astype(np.int64), classes=2)


def head(own, seed=1):
    return build_model("network", own, hidden=0, network="digits-8", seed=seed)


def test_a_network_is_a_head_on_flat_pixels():
    own = samples()
    model = head(own)
    assert isinstance(model, NetworkHead)
    assert (model.features, model.classes) == (64, 2)
    logits = model.logits(own.features)
    assert (logits.shape, logits.dtype) == ((60, 2), np.float64)


def test_folding_keeps_the_function_and_brings_channels_to_one():
    own = samples()
    model = head(own)
    folded = model.folded()
    images = own.features.reshape(-1, 1, 8, 8)
    np.testing.assert_allclose(folded.clear(images), model.logits(own.features), atol=1e-9)
    before_square = folded.layers[0].apply(images)
    assert np.abs(before_square).max(axis=(0, 2, 3)) == pytest.approx(np.ones(6))


def test_ranges_come_from_samples_of_all_classes_however_they_are_sorted():
    own = samples(1200)
    by_class = own.take(np.argsort(own.labels, kind="stable"))
    kept = head(by_class).calibration
    assert kept.shape == (500, 64)
    top = kept[:, :32].mean(axis=1) > kept[:, 32:].mean(axis=1)  # bright above: class 0
    assert 200 < top.sum() < 300
    few = samples(40)
    np.testing.assert_array_equal(head(few).calibration, few.features)


def test_it_learns_what_the_images_show():
    own, other = samples(), samples(seed=1)
    model = head(own)
    learner = Learner.start(model, OptimizerConfig(learning_rate=0.05))
    train_epochs(learner, own, 40)
    assert evaluate(model, other).accuracy > 0.9


def test_a_snapshot_is_not_trained_on():
    own = samples()
    learner = Learner.start(head(own), OptimizerConfig())
    before = learner.copy()
    train_epochs(learner, own, 3)
    assert not torch.equal(
        next(before.model.parameters()).detach(), next(learner.model.parameters()).detach()
    )
    untouched = copy.deepcopy(head(own))
    np.testing.assert_array_equal(before.model.logits(own.features), untouched.logits(own.features))


def test_equal_seeds_give_equal_networks():
    own = samples()
    first, again, other = head(own), head(own), head(own, seed=2)
    np.testing.assert_array_equal(first.logits(own.features), again.logits(own.features))
    assert np.abs(first.logits(own.features) - other.logits(own.features)).max() > 1e-3


def test_normalisation_over_batches_is_refused():
    layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(72, 2))
    with pytest.raises(ModelError, match="BatchNorm2d"):
        NetworkHead(he_network(layers, (1, 8, 8)), 2, np.zeros((1, 64)))


@pytest.mark.parametrize("shape", [(0, 64), (5, 63), (5, 8, 8)])
def test_samples_that_do_not_fit_are_refused(shape):
    with pytest.raises(ModelError, match="do not fit"):
        NetworkHead(small_network("digits-8", 2, seed=0), 2, np.zeros(shape))


def test_other_classes_are_refused():
    with pytest.raises(ModelError, match="other classes"):
        NetworkHead(small_network("digits-8", 2, seed=0), 3, np.ones((1, 64)))


def test_unknown_networks_are_refused():
    with pytest.raises(ConfigError, match="digits-8, digits-28"):
        small_network("resnet", 2, seed=0)
    with pytest.raises(ModelError, match="a name"):
        build_model("network", samples(), hidden=0, network=None, seed=0)


def test_heads_are_built_as_before():
    own = samples()
    model = build_model("quadratic", own, hidden=5, network=None, seed=3)
    assert (model.features, model.classes, model.hidden) == (64, 2, 5)


def test_both_small_networks_fit_their_images():
    for name, side in (("digits-8", 8), ("digits-28", 28)):
        own = samples(4, side=side)
        model = build_model("network", own, hidden=0, network=name, seed=0)
        assert model.logits(own.features).shape == (4, 2)
