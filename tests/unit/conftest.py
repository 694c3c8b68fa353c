"""Participants small enough for whole rounds in milliseconds."""

import numpy as np
import pytest

from securefair.data.dataset import ParticipantData, Samples


def two_classes(name, seed, train, test, features):
    rng = np.random.default_rng(seed)

    def draw(count):
        labels = np.arange(count) % 2
        drawn = rng.normal(0.3 * (2 * labels[:, None] - 1), 0.3, size=(count, features))
        return Samples(np.clip(drawn, -1, 1), labels, 2)

    return ParticipantData(name, draw(train), draw(test))


@pytest.fixture
def make_hospital():
    """Samples of two overlapping classes, features in [-1, 1]."""

    def make(name="ann", seed=0, *, train=20, test=30, features=4):
        return two_classes(name, seed, train, test, features)

    return make


@pytest.fixture
def hospitals(make_hospital):
    """Three of them, of different sizes."""
    return [make_hospital(name, seed, train=20 + 2 * seed) for seed, name in enumerate("abc")]
