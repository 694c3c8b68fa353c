"""Small populations on which the algorithms run in milliseconds."""

import numpy as np
import pytest

from securefair.algorithms import LogitsRelease, Population
from securefair.algorithms.network_population import NetworkPopulation
from securefair.data.dataset import ParticipantData, Samples
from securefair.model.training import OptimizerConfig


def two_classes(name, seed, *, flipped=False, train=40, test=60, validation=None):
    rng = np.random.default_rng(seed)

    def draw(count):
        labels = np.arange(count) % 2
        return Samples(rng.normal(size=(count, 4)) + 0.8 * (2 * labels[:, None] - 1), labels, 2)

    own, held_out = draw(train), draw(test)
    labels = 1 - own.labels if flipped else own.labels
    return ParticipantData(
        name,
        Samples(own.features, labels, 2),
        held_out,
        None if validation is None else draw(validation),
    )


def overlapping(name, seed, train=24, test=10, features=4):
    """A hospital of two overlapping classes, features in [-1, 1]."""
    rng = np.random.default_rng(seed)

    def draw(count):
        labels = np.arange(count) % 2
        drawn = rng.normal(0.3 * (2 * labels[:, None] - 1), 0.3, size=(count, features))
        return Samples(np.clip(drawn, -1, 1), labels, 2)

    return ParticipantData(name, draw(train), draw(test))


@pytest.fixture
def make_participant():
    """A participant with samples of two overlapping classes; `flipped` swaps training labels."""
    return two_classes


@pytest.fixture
def make_images():
    """Three participants with images of 8 x 8 pixels, large enough to leave a network's range."""

    def make():
        def images(seed):
            rng = np.random.default_rng(seed)
            return Samples(rng.uniform(-8, 8, (12, 64)), np.arange(12) % 2, 2)

        return tuple(
            ParticipantData(name, images(seed), images(seed + 10))
            for seed, name in enumerate("abc")
        )

    return make


@pytest.fixture
def make_population():
    """Three honest participants by default; keyword arguments change settings."""

    def make(**settings):
        defaults = {
            "participants": tuple(two_classes(name, seed) for seed, name in enumerate("abc")),
            "hidden": 4,
            "local_epochs": 10,
            "local_steps": 3,
            "forced_every": 3,
            "lambda_0": 10.0,  # as much as so few samples bear
            "release": LogitsRelease(),
        }
        return Population(**(defaults | settings))

    return make


@pytest.fixture
def make_networks():
    """Linear heads of three honest participants of 20, 30 and 50 samples, in float64.

    Full batches and plain gradient descent, so that a round of one epoch is one known step.
    """

    def make(**settings):
        sizes = settings.pop("sizes", (20, 30, 50))
        validation = settings.pop("validation", None)
        participants = tuple(
            two_classes(name, seed, train=size, validation=validation)
            for seed, (name, size) in enumerate(zip("abcdefgh", sizes, strict=False))
        )
        defaults = {
            "participants": participants,
            "network": "linear-head",
            "optimizer": OptimizerConfig(
                learning_rate=0.1, momentum=0.0, weight_decay=0.0, clip_norm=None
            ),
            "batch_size": None,
            "double": True,
            "pretraining_epochs": 2,
            "lambda_0": 1.0,
            "forced_every": 3,
        }
        return NetworkPopulation(**(defaults | settings))

    return make


@pytest.fixture
def make_momentum_networks(make_networks):
    """The same with momentum and mini-batches, so that what momentum does between rounds shows."""
    defaults = {
        "optimizer": OptimizerConfig(
            learning_rate=0.05, momentum=0.9, weight_decay=0.0, clip_norm=None
        ),
        "batch_size": 8,
    }
    return lambda **settings: make_networks(**(defaults | settings))
