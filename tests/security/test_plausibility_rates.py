"""How many aimed answers the test of plausibility refuses, by the default plan on real hospitals.

Before, it was measured with more released numbers than patients, which no plan allows: there 90 %
of aimed parts of size 10 were refused, and on these hospitals 42 %. The step that refused them is
kept here: the ratio of the whole answer alone.
"""

from functools import cache

import numpy as np
import pytest

from securefair.config import defaults, demo_config
from securefair.model.building import build_model
from securefair.model.kernel import SampleKernel
from securefair.model.optimizer import OptimizerConfig
from securefair.model.plausibility import IMPLAUSIBLE, SmoothPrior
from securefair.model.projection import block_signs, public_indices, public_rows
from securefair.model.training import TrainState, train_epochs
from securefair.user.participants import load_participants

RING = 8192
EPOCHS = (10, 40, 120)
EACH = 6


@cache
def hospitals():
    """The four of the demonstration, and for each the models of the others."""
    data = [own.train for own in load_participants(demo_config(), 0)]
    models = {}
    for at, own in enumerate(data):
        for kind in ("linear", "quadratic"):
            for epochs in EPOCHS:
                head = build_model(kind, own, hidden=defaults.HIDDEN, network=None, seed=1)
                state = TrainState.start(head, OptimizerConfig())
                train_epochs(state, own, epochs)
                models[at, kind, epochs] = state.model
    return data, models


@cache
def prepared(at, most=defaults.Q):
    """A student's prior and rows, by the default plan, with so many numbers a class."""
    samples = hospitals()[0][at]
    q = min(most, len(samples) - 1)
    indices = public_indices(RING, q, b"securefair")
    rows = public_rows(RING, indices, len(samples), block_signs(1, b"securefair"))
    return samples, rows, SmoothPrior(samples, rows, defaults.PRECISION)


def former(prior, released):
    """A copy of the vulnerable step: the whole answer, and no patient by itself."""
    smooth, *others = (way.likelihood(released) for way in prior._ways)
    return float((smooth - np.max(others, axis=0)).mean())


def ratios(size, step=SmoothPrior.log_ratio, numbers=defaults.Q):
    """Of answers of all hospitals' models to all others, with an aimed part of that size."""
    rng, found = np.random.default_rng(1), []
    for at in range(4):
        samples, rows, prior = prepared(at, numbers)
        for (of, *_), model in hospitals()[1].items():
            if of == at:
                continue
            logits = model.logits(samples.features)
            for patient in rng.choice(len(samples), EACH, replace=False):
                aimed = np.zeros_like(logits)
                aimed[patient] = [-size, size]
                found.append(step(prior, rows @ (logits + aimed)))
    return np.array(found)


def refused(size, **how):
    return float((ratios(size, **how) < IMPLAUSIBLE).mean())


def test_honest_answers_of_trained_models_are_not_refused():
    assert refused(0.0) == 0.0


@pytest.mark.parametrize(("size", "most"), [(3.0, 0.1), (10.0, 0.6)])
def test_the_former_step_refused_few(size, most):
    """Measured: 5 and 42 %."""
    assert refused(size, step=former) <= most


def test_aimed_answers_of_size_10_are_refused():
    """Stated in the threat model: 100 %."""
    assert refused(10.0) >= 0.98


def test_aimed_answers_of_size_3_are_too():
    """Stated: 99 %."""
    assert refused(3.0) >= 0.95


def test_small_ones_mostly_pass():
    """NOT PROTECTED, and stated: 0.3 passes always."""
    assert refused(0.3) <= 0.02


@pytest.mark.parametrize(
    ("numbers", "least", "most"),
    [(8, 0.0, 0.01), (16, 0.0, 0.05), (24, 0.6, 0.9), (32, 0.95, 1.0)],
)
def test_few_numbers_refuse_few(numbers, least, most):
    """Stated in `model.plausibility`, of size 10: 0, 1, 74 and 99 %."""
    assert least <= refused(10.0, numbers=numbers) <= most


@pytest.mark.parametrize("classes", [2, 3])
def test_draws_from_the_prior_are_hardly_ever_refused(classes):
    rng = np.random.default_rng(0)
    samples, rows, prior = prepared(2)
    covariance = SampleKernel(samples).product(np.eye(len(samples)))
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(samples)))
    found = [
        prior.log_ratio(rows @ root @ rng.normal(size=(len(samples), classes))) for _ in range(400)
    ]
    assert np.mean(np.array(found) < IMPLAUSIBLE) <= 0.01
