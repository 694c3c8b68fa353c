"""What tests of the laboratory share with those of the package, whose `support` they use."""

import pytest

from support import session  # says how many threads torch gets, before torch is loaded

# isort: split
from securefair.model.optimizer import OptimizerConfig
from securefair_lab.algorithms import LogitsRelease, NetworkPopulation, Population
from support.populations import (
    hospitals,
    make_hospital,
    make_images,
    make_participant,
    two_classes,
)

__all__ = ["hospitals", "make_hospital", "make_images", "make_participant"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Threads stay as they were."""
    try:
        return (yield)
    finally:
        session.one_thread_again()


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
