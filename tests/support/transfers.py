"""Four small hospitals and what they agree on."""

import numpy as np
import pytest

from securefair.data.dataset import ParticipantData, Samples
from support.agreements import agree as agreed_on


@pytest.fixture
def make_hospitals():
    """Hospitals whose patients follow one linear rule; features in [-1, 1]."""

    def make(names="abcd", *, train=14, classes=2, features=4):
        slopes = np.random.default_rng(99).normal(0, 2, (features, classes))

        def draw(seed, count):
            rng = np.random.default_rng(seed)
            x = rng.uniform(-1, 1, (count, features))
            return Samples(x, (x @ slopes + rng.gumbel(size=(count, classes))).argmax(1), classes)

        return [
            ParticipantData(name, draw(seed, train + seed), draw(seed + 50, 30))
            for seed, name in enumerate(names)
        ]

    return make


@pytest.fixture
def agree():
    """What hospitals agree on; keyword arguments change constants."""

    def make(hospitals, **constants):
        train = hospitals[0].train
        defaults = {
            "participants": hospitals,
            "shape": int(train.features.shape[1]),
            "classes": train.classes,
            "samples": max(len(one.train) for one in hospitals),
            "seed": 7,
        }
        return agreed_on("transfer", **(defaults | constants))

    return make
