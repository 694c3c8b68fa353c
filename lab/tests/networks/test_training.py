import numpy as np
import pytest
import torch
from torch import nn

from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.networks.builder import he_network
from securefair.model.quadratic import Quadratic
from securefair_lab.networks.augmentation import augmented
from securefair_lab.networks.training import TrainingRecipe, train_network


def network(limit=4.0):
    torch.manual_seed(3)
    return he_network(
        nn.Sequential(
            nn.Conv2d(1, 4, 3, bias=False),
            nn.BatchNorm2d(4),
            Quadratic(4, limit=limit),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(36, 2),
        ),
        (1, 8, 8),
    )


def bars(samples, seed=0):
    """Horizontal against vertical bars in noise; no linear map of pixels tells them apart."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, samples)
    images = rng.normal(scale=0.3, size=(samples, 1, 8, 8))
    for image, label, at in zip(images, labels, rng.integers(0, 8, samples), strict=True):
        sign = rng.choice([-1.0, 1.0])
        image[0, *((at, slice(None)) if label else (slice(None), at))] += sign
    return images.astype(np.float32), labels


def test_a_network_learns_what_only_a_square_can_tell():
    net, reports = network(), []
    recipe = TrainingRecipe(epochs=6, batch_size=32, peak_rate=0.05)
    train_network(net, *bars(800), recipe, seed=1, on_epoch=reports.append)
    images, labels = bars(400, seed=1)
    assert (net.logits(images).argmax(1) == labels).mean() > 0.9
    assert [report.epoch for report in reports] == [1, 2, 3, 4, 5, 6]
    assert reports[-1].loss < reports[0].loss / 2
    assert reports[-1].accuracy > 0.9
    assert not net.training


def test_a_public_layer_sees_images_as_augmented_and_the_network_what_it_gives():
    images, labels = bars(64)
    recipe = TrainingRecipe(epochs=1, batch_size=32, crop=1, flip=True)
    plain, halved = network(), network()
    train_network(plain, images, labels, recipe, seed=1)
    train_network(halved, 2 * images, labels, recipe, seed=1, public=lambda given: given / 2)
    inputs = bars(8, seed=2)[0]
    np.testing.assert_allclose(plain.logits(inputs), halved.logits(inputs), atol=1e-5)
    wide = np.concatenate([images, images], axis=3)
    with pytest.raises(DataError, match="as one image"):
        train_network(network(), wide, labels, recipe, seed=1)
    train_network(network(), wide, labels, recipe, seed=1, public=lambda given: given[..., :8])


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch 2.9 and later")
def test_kernels_may_take_orthogonal_steps():
    net = network()
    train_network(
        net,
        *bars(800),
        TrainingRecipe(epochs=4, batch_size=32, peak_rate=0.05, kernel_rate=0.02, decay=0.9),
        seed=1,
    )
    images, labels = bars(400, seed=1)
    assert (net.logits(images).argmax(1) == labels).mean() > 0.9


def test_equal_seeds_train_equal_networks():
    recipe = TrainingRecipe(epochs=1, batch_size=32, crop=1, flip=True, rotate=True)
    logits = []
    for seed in (1, 1, 2):
        net = network()
        train_network(net, *bars(64), recipe, seed=seed)
        logits.append(net.logits(bars(8, seed=2)[0]))
    np.testing.assert_array_equal(logits[0], logits[1])
    assert np.abs(logits[0] - logits[2]).max() > 1e-6


@pytest.mark.parametrize("recipe", [{"decay": 0.5}, {"bfloat16": True, "decay": 1.0}])
def test_other_recipes_learn_the_same(recipe):
    net = network()
    train_network(net, *bars(800), TrainingRecipe(epochs=6, batch_size=32, **recipe), seed=1)
    images, labels = bars(400, seed=1)
    assert (net.logits(images).argmax(1) == labels).mean() > 0.9


def test_a_plateau_does_not_depend_on_how_long_it_lasts():
    """Epochs may be added while a training runs: until the rate falls nothing changes."""
    losses = []
    for epochs in (4, 6):
        reports = []
        recipe = TrainingRecipe(epochs=epochs, batch_size=32, decay=0.5)
        train_network(network(), *bars(320), recipe, seed=1, on_epoch=reports.append)
        losses.append([report.loss for report in reports])
    assert losses[0][:2] == losses[1][:2]
    assert losses[0][2:] != losses[1][2:4]


def test_the_penalty_keeps_activations_in_their_interval():
    excess = []
    for penalty in (0.0, 1.0):
        reports = []
        recipe = TrainingRecipe(epochs=4, batch_size=32, range_penalty=penalty)
        train_network(network(limit=1.0), *bars(320), recipe, seed=1, on_epoch=reports.append)
        excess.append(reports[-1].excess)
    assert excess[1] < excess[0] / 3


def test_augmentation_moves_pixels_only_as_asked():
    images = torch.arange(2 * 16.0).view(2, 1, 4, 4) + 1
    generator = torch.Generator().manual_seed(0)
    assert torch.equal(augmented(images, TrainingRecipe(epochs=1), generator)[0], images)

    symmetries = set()
    for _ in range(60):
        turned = augmented(images[:1], TrainingRecipe(epochs=1, rotate=True), generator)[0]
        assert torch.equal(turned.flatten().sort().values, images[:1].flatten())
        symmetries.add(tuple(turned.flatten().tolist()))
    assert len(symmetries) == 8

    shifts = set()
    for _ in range(100):
        moved = augmented(images[:1], TrainingRecipe(epochs=1, crop=1), generator)[0][0, 0]
        # Every pixel that is left lies where one shift of the whole image puts it.
        places = [
            (int(value - 1) // 4 - row, int(value - 1) % 4 - column)
            for row in range(4)
            for column in range(4)
            if (value := moved[row, column].item())
        ]
        assert len(set(places)) == 1
        shifts.add(places[0])
    assert len(shifts) == 9


def test_classes_of_any_frequency_weigh_alike():
    images, labels = bars(640)
    rare = np.concatenate([np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)[:32]])
    restore = []
    for balance in (False, True):
        net = network()
        recipe = TrainingRecipe(epochs=3, batch_size=32, balance_classes=balance)
        train_network(net, images[rare], labels[rare], recipe, seed=1)
        x, y = bars(400, seed=5)
        restore.append((net.logits(x).argmax(1)[y == 1] == 1).mean())
    assert restore[1] > restore[0]


def test_divergence_and_too_few_samples_are_said():
    images, labels = bars(64)
    recipe = TrainingRecipe(epochs=5, batch_size=32, peak_rate=1e20)
    with pytest.raises(ModelError, match="diverged"):
        train_network(network(), images, labels, recipe, seed=0)
    with pytest.raises(DataError, match="fewer samples"):
        train_network(network(), images, labels, TrainingRecipe(epochs=1), seed=0)


def test_float64_trains_as_float32_does():
    images, labels = bars(320)
    recipe = TrainingRecipe(epochs=2, batch_size=32, balance_classes=True)
    logits = []
    for kind in (np.float32, np.float64):
        net = network()
        if kind is np.float64:
            net.double()
        train_network(net, images.astype(kind), labels, recipe, seed=1)
        logits.append(net.logits(images))
    np.testing.assert_allclose(logits[0], logits[1], atol=0.01)
    assert np.abs(logits[0]).max() > 0.1


def test_classes_that_nobody_has_weigh_nothing():
    images, labels = bars(64)
    recipe = TrainingRecipe(epochs=1, batch_size=32, balance_classes=True)
    net = network()
    train_network(net, images, np.zeros_like(labels), recipe, seed=1)
    assert np.isfinite(net.logits(images)).all()


@pytest.mark.parametrize(
    ("images", "labels", "said"),
    [
        (lambda x: x.astype(np.float64), lambda y: y, "different types"),
        (lambda x: x[:, :, :7], lambda y: y, "images of this shape"),
        (lambda x: x.repeat(2, axis=1), lambda y: y, "as one image"),
        (lambda x: x, lambda y: y + 4, "no logit"),
        (lambda x: x, lambda y: y - 1, "no logit"),
        (lambda x: x, lambda y: y.astype(np.int32), "not the labels"),
        (lambda x: x, lambda y: y[1:], "not the labels"),
    ],
)
def test_images_and_labels_that_do_not_fit_are_refused(images, labels, said):
    x, y = bars(64)
    recipe = TrainingRecipe(epochs=1, batch_size=32)
    with pytest.raises(DataError, match=said):
        train_network(network(), images(x), labels(y), recipe, seed=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("batch_size", 1),
        ("peak_rate", 0.0),
        ("momentum", 1.0),
        ("weight_decay", -1.0),
        ("clip_norm", 0.0),
        ("range_penalty", float("inf")),
        ("label_smoothing", 1.0),
        ("crop", -1),
        ("soft_weight", 1.5),
        ("temperature", 0.0),
        ("decay", 0.0),
        ("decay", 1.5),
        ("kernel_rate", 0.0),
    ],
)
def test_recipes_that_cannot_work_are_refused(name, value):
    with pytest.raises(ConfigError) as error:
        TrainingRecipe(**{"epochs": 1, name: value})
    assert (error.value.where, error.value.found) == (name, value)
