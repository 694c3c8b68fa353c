"""Hospitals that train alone: their settings, and that networks train as hospitals do in a run."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from securefair.data import Samples
from securefair.errors import ConfigError
from securefair.model.optimizer import OptimizerConfig
from securefair.model.seeds import derive_seed
from securefair.worth import EarlyStopping, LearningState, NetworkLearners, run


@pytest.fixture
def networks(make_participant):
    people = tuple(make_participant(n, seed, train=20 + seed) for seed, n in enumerate("abc"))
    optimizer = OptimizerConfig(learning_rate=0.1, momentum=0.0, weight_decay=0.0, clip_norm=None)
    return NetworkLearners(participants=people, network="linear-head", optimizer=optimizer)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden", 0),
        ("range_penalty", -1.0),
        ("local_epochs", -1),
        ("local_steps", 0),
    ],
)
def test_settings_out_of_range_are_refused_by_name(make_learners, name, value):
    with pytest.raises(ConfigError) as error:
        make_learners(**{name: value})
    assert error.value.where == name


def test_participants_must_be_distinct_and_alike(make_learners, networks, make_participant):
    one, wide = make_participant("a", 0), make_participant("w", 1)
    wide = replace(wide, train=Samples(np.zeros((4, 5)), np.arange(4) % 2, 2))
    for people in ((one, one), (one, wide), ()):
        with pytest.raises(ConfigError):
            make_learners(participants=people)
        with pytest.raises(ConfigError):
            networks.joined_by(people)


def test_an_epoch_of_a_network_is_one_step_of_full_batches(networks):
    start = networks.trained_alone(7)
    assert torch.equal(start.vectors[0], start.vectors[2])  # one initialisation for all
    moved = networks.trained_locally(LearningState(7, 0, start), ["b"])
    assert torch.equal(moved.vectors[0], start.vectors[0])
    own = networks.participants[1].train
    weights = start.vectors[1].clone().requires_grad_()
    logits = torch.func.functional_call(
        torch.nn.Linear(4, 2, dtype=torch.float64),
        {"weight": weights[:8].view(2, 4), "bias": weights[8:10]},
        torch.from_numpy(own.features),
    )
    torch.nn.functional.cross_entropy(logits, torch.from_numpy(own.labels)).backward()
    expected = start.vectors[1] - 0.1 * weights.grad
    torch.testing.assert_close(moved.vectors[1], expected)


def test_records_and_kept_models_are_of_the_same_networks(networks):
    (record,) = run(EarlyStopping(rounds=3), networks, 1, 1)
    state = EarlyStopping(rounds=3).init(networks, 1)
    kept = networks.models(state.train_states)
    for own, accuracy in zip(networks.participants, record.accuracy, strict=True):
        found = kept[own.name].logits(own.test.features).argmax(axis=1)
        assert np.mean(found == own.test.labels) == pytest.approx(accuracy)
    assert record.asked == [[False] * 3] * 3
    assert derive_seed(1, "network", "") != derive_seed(2, "network", "")
