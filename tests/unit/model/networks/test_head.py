import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from securefair.data import Samples
from securefair.errors import ConfigError, ModelError
from securefair.model.building import build_model
from securefair.model.losses import approximate_kl
from securefair.model.networks import NetworkHead, he_network, small_network
from securefair.model.quadratic import Quadratic
from securefair.model.training import (
    OptimizerConfig,
    TeacherAnswer,
    TrainState,
    distil_steps,
    evaluate,
    train_epochs,
)


def samples(count=60, seed=0, side=8):
    """Two kinds of images: bright above or bright below."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    images = rng.uniform(0, 0.3, (count, side, side))
    images[labels == 0, : side // 2] += 0.6
    images[labels == 1, side // 2 :] += 0.6
    return Samples(images.reshape(count, -1), labels.astype(np.int64), classes=2)


def head(own, seed=1, **settings):
    return build_model("network", own, hidden=0, network="digits-8", seed=seed, **settings)


def beyond_range(own, **settings):
    """A network whose first values leave the interval of their squares on many pixels."""
    model = head(own, **settings)
    with torch.no_grad():
        model.network.layers[0].weight.mul_(40)
    return model


def excess(model, own):
    """By its definition, from the values before the only squares."""
    images = torch.tensor(own.features).reshape(-1, 1, 8, 8)
    return (model.network.layers[0](images).abs() - 4).clamp_min(0).square().mean()


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
    np.testing.assert_allclose(folded.logits(images), model.logits(own.features), atol=1e-9)
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
    train_state = TrainState.start(model, OptimizerConfig(learning_rate=0.05))
    train_epochs(train_state, own, 40)
    assert evaluate(model, other).accuracy > 0.9


def test_training_pays_for_values_outside_their_range():
    own, found = samples(), []
    for penalty in (0.0, 1.0):
        model = beyond_range(own, range_penalty=penalty)
        before = excess(model, own).item()
        train_epochs(TrainState.start(model, OptimizerConfig(learning_rate=0.01)), own, 20)
        found.append(excess(model, own).item() / before)
    free, paid = found
    assert paid < 0.6
    assert free > 0.9


@pytest.mark.parametrize("taught", [False, True])
def test_a_step_follows_the_gradient_of_loss_and_penalty(taught):
    own, teacher = samples(), np.random.default_rng(2).normal(size=(60, 2))
    plain = OptimizerConfig(learning_rate=1e-3, momentum=0.0, weight_decay=0.0, clip_norm=None)
    model, twin = (beyond_range(own, range_penalty=0.3) for _ in range(2))
    logits = twin(torch.tensor(own.features))
    loss = cross_entropy(logits, torch.tensor(own.labels))
    if taught:
        loss = loss + 2.0 * approximate_kl(logits, torch.from_numpy(teacher), 5.0).mean()
    parameters = list(twin.parameters())
    penalised = torch.autograd.grad(loss + 0.3 * excess(twin, own), parameters, retain_graph=True)
    unpenalised = torch.autograd.grad(loss, parameters)
    answers = [TeacherAnswer(teacher, 2.0)] if taught else []
    distil_steps(TrainState.start(model, plain), own, answers, 1, temperature=5.0)
    for after, before, slope in zip(model.parameters(), parameters, penalised, strict=True):
        torch.testing.assert_close(after, before - 1e-3 * slope, rtol=0, atol=1e-12)
    assert (penalised[0] - unpenalised[0]).abs().max() > 0.1


def test_the_slope_of_the_penalty_is_its_difference_quotient():
    own = samples(20)
    model = beyond_range(own, range_penalty=0.3)
    x, weight = torch.tensor(own.features), model.network.layers[0].weight
    logits, penalty = model.with_penalty(x)
    torch.testing.assert_close(logits, model(x), rtol=0, atol=0)
    (slope,) = torch.autograd.grad(penalty, weight)
    direction = torch.sign(slope)
    sides = []
    for step in (1e-6, -1e-6):
        with torch.no_grad():
            weight.add_(step * direction)
            sides.append(model.with_penalty(x)[1].item())
            weight.sub_(step * direction)
    assert (sides[0] - sides[1]) / 2e-6 == pytest.approx((slope * direction).sum().item(), rel=1e-5)


@pytest.mark.parametrize("penalty", [-1e-3, float("inf"), float("nan")])
def test_penalties_that_cannot_work_are_refused(penalty):
    with pytest.raises(ConfigError) as error:
        head(samples(), range_penalty=penalty)
    assert error.value.where == "range_penalty"


def test_a_snapshot_is_not_trained_on():
    own = samples()
    train_state = TrainState.start(head(own), OptimizerConfig())
    before = train_state.copy()
    train_epochs(train_state, own, 3)
    assert not torch.equal(
        next(before.model.parameters()).detach(), next(train_state.model.parameters()).detach()
    )
    untouched = copy.deepcopy(head(own))
    np.testing.assert_array_equal(before.model.logits(own.features), untouched.logits(own.features))


def test_equal_seeds_give_equal_networks():
    own = samples()
    first, again, other = head(own), head(own), head(own, seed=2)
    np.testing.assert_array_equal(first.logits(own.features), again.logits(own.features))
    assert np.abs(first.logits(own.features) - other.logits(own.features)).max() > 1e-3


def test_what_it_normalises_by_is_that_of_its_training_and_of_no_batch():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(72, 2))
    network = he_network(layers, (1, 8, 8))
    network(torch.randn(20, 1, 8, 8))  # one batch of a training before
    images = np.random.default_rng(0).uniform(-1, 1, (6, 64))
    head = NetworkHead(network, 2, images)
    folded = head.folded().logits(images.reshape(-1, 1, 8, 8))
    head.train()
    alone = [head(torch.from_numpy(images[at : at + 1])).detach().numpy()[0] for at in range(6)]
    np.testing.assert_allclose(alone, head(torch.from_numpy(images)).detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(folded, alone, atol=1e-9)
    assert network.training
    assert not any(
        one.training for one in head.network.modules() if isinstance(one, nn.BatchNorm2d)
    )


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


def test_the_callers_network_stays_as_it_is():
    layers = nn.Sequential(nn.Linear(4, 3), Quadratic(3), nn.Linear(3, 2)).train()
    network = he_network(layers, (4,))
    before = {name: one.clone() for name, one in network.state_dict().items()}
    head = NetworkHead(network, 2, np.zeros((5, 4)))
    assert network.training
    assert {one.dtype for one in network.parameters()} == {torch.float32}
    with torch.no_grad():
        next(head.parameters()).add_(1.0)
    assert all(torch.equal(before[name], one) for name, one in network.state_dict().items())


def test_samples_may_calibrate_as_numbers_do():
    features = np.random.default_rng(0).uniform(-1, 1, (5, 4))
    samples = Samples(features, np.array([0, 1, 0, 1, 1]), classes=2)
    network = he_network(nn.Sequential(nn.Linear(4, 2)), (4,))
    np.testing.assert_array_equal(NetworkHead(network, 2, samples).calibration, features)
    with pytest.raises(ModelError, match="do not fit"):
        NetworkHead(network, 2, np.zeros((0, 4)))


def test_a_plain_module_is_told_what_it_lacks():
    with pytest.raises(ModelError, match="no network that encryption evaluates") as refused:
        NetworkHead(torch.nn.Linear(3, 2), 2, np.zeros((4, 3)))
    assert "he_network(layers, input_shape)" in str(refused.value)


def test_without_samples_of_the_owner_it_says_what_it_needs():
    with pytest.raises(ModelError, match="an array"):
        NetworkHead(small_network("digits-8", 2, seed=0), 2, None)


def test_own_samples_come_flat_or_as_images():
    images = np.random.default_rng(0).uniform(size=(20, 1, 8, 8))
    network = small_network("digits-8", 2, seed=0)
    flat = NetworkHead(network, 2, images.reshape(20, 64))
    for own in (images, torch.tensor(images), images.astype(np.float32)):
        found = NetworkHead(network, 2, own)
        np.testing.assert_allclose(found.calibration, flat.calibration, atol=1e-7)
    with pytest.raises(ModelError, match="do not fit the network"):
        NetworkHead(network, 2, images.reshape(20, 8, 8, 1))
