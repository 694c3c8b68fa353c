"""Hospitals that train alone."""

import pytest

from securefair.worth import HeadLearners
from support.populations import make_images, make_participant, two_classes

__all__ = ["make_images", "make_participant"]


@pytest.fixture
def make_learners():
    """Three of them by default; keyword arguments change settings."""

    def make(**settings):
        defaults = {
            "participants": tuple(two_classes(name, seed) for seed, name in enumerate("abc")),
            "hidden": 4,
            "local_epochs": 10,
            "local_steps": 3,
        }
        return HeadLearners(**(defaults | settings))

    return make
