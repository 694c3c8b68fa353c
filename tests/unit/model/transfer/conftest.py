"""Hospitals whose true model is known."""

import numpy as np
import pytest

from securefair.data.dataset import Samples


@pytest.fixture(scope="session")
def draw():
    """Patients (n, d) whose labels follow fixed linear logits, for two classes or more."""

    def make(seed, count, *, features=5, classes=2, inverted=False):
        slopes = np.random.default_rng(99).normal(0, 2, (features, classes))
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (count, features))
        labels = (x @ slopes + rng.gumbel(size=(count, classes))).argmax(axis=1)
        return Samples(x, (classes - 1 - labels) if inverted else labels, classes)

    return make
