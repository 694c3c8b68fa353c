"""Samples that count more or less, in everything that trains."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from securefair.collaboration.kinds import kinds_of
from securefair.config import demo_config, override
from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError
from securefair.model import OptimizerConfig, TrainState, build_head, train_epochs
from securefair.model.training import weighed_cross_entropy
from securefair.model.transfer import own_fit, transfer
from securefair.user.participants import load_participants


def rare(count=120, share=0.15):
    """Samples of which few are of class 1, which overlaps the other."""
    rng = np.random.default_rng(0)
    labels = (rng.uniform(size=count) < share).astype(np.int64)
    features = 0.3 * rng.normal(size=(count, 3)) + 0.3 * labels[:, None]
    return Samples(features.clip(-1, 1), labels, 2)


def repeated(samples, times):
    """Each sample as often as `times` says."""
    return samples.take(np.repeat(np.arange(len(samples)), times))


def test_classes_count_alike_and_samples_one_on_average():
    samples = rare().balanced()
    sums = np.bincount(samples.labels, samples.weights)
    assert sums[0] == pytest.approx(sums[1])
    assert samples.weights.mean() == pytest.approx(1)
    assert samples.take(np.array([3, 5])).weights.tolist() == samples.weights[[3, 5]].tolist()
    only = Samples(samples.features, np.zeros(len(samples), np.int64), 3).balanced()
    assert set(only.weights) == {1.0}


@pytest.mark.parametrize("weights", [np.ones(2), np.zeros(3), np.array([1.0, np.nan, 1.0])])
def test_weights_that_do_not_fit(weights):
    with pytest.raises(DataError, match="weights do not fit"):
        Samples(np.zeros((3, 1)), np.zeros(3, np.int64), 2, weights=weights)


def test_a_weight_of_two_is_a_sample_twice():
    samples = rare(40)
    times = np.where(samples.labels == 1, 3, 1)
    weighed = Samples(samples.features, samples.labels, 2, weights=times.astype(float))
    logits = torch.tensor(np.random.default_rng(1).normal(size=(40, 2)))
    twice = repeated(samples, times)
    expected = cross_entropy(
        logits[torch.tensor(np.repeat(np.arange(40), times))], torch.tensor(twice.labels)
    )
    assert float(weighed_cross_entropy(logits, weighed)) == pytest.approx(float(expected))


def test_a_head_and_a_fit_find_more_of_a_rare_class():
    samples = rare()
    for fit in (fitted, trained):
        plain, balanced = (fit(one)(samples.features) for one in (samples, samples.balanced()))
        ill = samples.labels == 1
        assert balanced[ill].mean() > plain[ill].mean() + 0.2
        assert balanced[~ill].mean() < 0.5


def fitted(samples):
    own = own_fit(samples, rng=np.random.default_rng(0))
    peers = np.zeros((len(samples), 1))
    peers[:, 0] = samples.features.sum(axis=1)
    model = transfer(own, peers).model
    return lambda features: model.predict_proba(features)[:, 1]


def trained(samples):
    head = build_head("linear", 3, 1, 2, 0)
    train_epochs(TrainState.start(head, OptimizerConfig()), samples, 200)
    return lambda features: torch.softmax(torch.tensor(head.logits(features)), 1)[:, 1].numpy()


def test_the_configuration_weighs_training_samples_only():
    config = override(demo_config(), {"training.class_weight": "balanced"}, source="test")
    for own in load_participants(config, 0):
        assert own.train.weights is not None
        assert own.test.weights is None


def test_what_cannot_weigh_is_refused():
    for changes in (
        {"run.algorithms": ["standalone", "cycle-gossip"]},
        {"privacy": {"epsilon": 2.0}},
    ):
        with pytest.raises(ConfigError, match="class_weight"):
            kinds_of(
                override(
                    demo_config(), changes | {"training.class_weight": "balanced"}, source="test"
                )
            )
