"""Heads of numpy arrays against the same heads of torch, which have their gradients from it."""

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import DataError, ModelError
from securefair.model.heads import build_head
from securefair.model.optimizer import OptimizerConfig
from securefair.model.plain_heads import PlainHead
from securefair.model.training import TrainState, evaluate, train_epochs

SHAPES = [("linear", 5, 0, 2), ("linear", 3, 0, 4), ("quadratic", 5, 7, 2), ("quadratic", 1, 2, 3)]
SEEDS = [0, 2**32 + 7, 2**63 - 1]  # torch keeps the lower half


@pytest.fixture
def make_samples():
    def make(features, classes, *, weights=False, count=40):
        rng = np.random.default_rng(3)
        x, y = rng.uniform(-1, 1, (count, features)), rng.integers(0, classes, count)
        return Samples(x, y, classes, weights=rng.uniform(0.5, 3, count) if weights else None)

    return make


def numbers(head):
    return np.concatenate([each.detach().numpy().ravel() for each in head.parameters()])


def plain_numbers(head):
    return np.concatenate([np.ravel(each) for each in head.parameters])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_bits_are_drawn(shape, seed):
    drawn = build_head(*shape, seed=seed).parameters()
    theirs = {tuple(one.shape): one.detach().numpy() for one in drawn}
    for one in PlainHead.drawn(*shape, seed=seed).parameters:
        if one.ndim:
            assert np.array_equal(one, theirs[one.shape])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("clip", [None, 0.05])
def test_it_trains_as_torch_does(shape, weights, clip, make_samples):
    samples = make_samples(shape[1], shape[3], weights=weights)
    how = OptimizerConfig(learning_rate=0.1, momentum=0.9, weight_decay=0.01, clip_norm=clip)
    theirs = TrainState.start(build_head(*shape, seed=1), how)
    ours = PlainHead.drawn(*shape, seed=1)
    before = ours.logits(samples.features)
    for steps in (1, 30):
        train_epochs(theirs, samples, steps)
        ours = ours.trained(samples, how, steps)
        expected = theirs.model.logits(samples.features)
        assert np.abs(ours.logits(samples.features) - expected).max() < 1e-12
    assert np.abs(ours.logits(samples.features) - before).max() > 0.01
    found = evaluate(theirs.model, samples)
    assert ours.loss(samples) == pytest.approx(found.cross_entropy, abs=1e-12)
    assert ours.accuracy(samples) == found.accuracy
    folded = ours.folded().logits(samples.features)
    assert np.abs(folded - expected).max() < 1e-12


def test_a_training_that_diverges_is_refused(make_samples):
    samples = make_samples(5, 2)
    how = OptimizerConfig(learning_rate=1e200, clip_norm=None)
    with pytest.raises(ModelError, match="step 2 of 10: the training diverged"):
        PlainHead.drawn("quadratic", 5, 7, 2, seed=1).trained(samples, how, 10)


def test_nothing_is_evaluated_on_nobody(make_samples):
    with pytest.raises(DataError, match="0 samples"):
        PlainHead.drawn("linear", 5, 0, 2, seed=1).loss(make_samples(5, 2).take([]))


def test_parameters_never_print():
    head = PlainHead.drawn("linear", 2, 0, 2, seed=1)
    assert str(head.parameters[0][0, 0])[:6] not in repr(head)
    assert "(2, 2)" in repr(head)
