"""Small hospitals on which algorithms run in milliseconds."""

import numpy as np
import pytest

from securefair.data.dataset import ParticipantData, Samples


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
def make_hospital():
    """Samples of two overlapping classes, features in [-1, 1]."""

    def make(name="ann", seed=0, *, train=20, test=30, features=4):
        return overlapping(name, seed, train, test, features)

    return make


@pytest.fixture
def hospitals(make_hospital):
    """Three of them, of different sizes."""
    return [make_hospital(name, seed, train=20 + 2 * seed) for seed, name in enumerate("abc")]
