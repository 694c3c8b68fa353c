"""Ditto: its pull against steps computed by hand, and its limits."""

from dataclasses import replace

import pytest
import torch

from securefair.errors import ConfigError
from securefair.model.optimizer import OptimizerConfig
from securefair_lab.algorithms import Standalone
from securefair_lab.papers.algorithms import Ditto, FedAvg


def after(algorithm, population, rounds, seed=0):
    state = algorithm.init(population, seed)
    for _ in range(rounds):
        state, record = algorithm.round(state, population)
    return state, record


def test_personal_steps_follow_the_gradient_and_the_pull(make_networks):
    population = make_networks()
    algorithm = Ditto(pull=0.5)
    state, _ = after(algorithm, population, 2)
    v, w = state.train_states.vectors, state.common.vectors
    assert not torch.allclose(v, w)
    expected = v - 0.1 * (population.gradients(state.train_states) + 0.5 * (v - w))
    state, record = algorithm.round(state, population)
    torch.testing.assert_close(state.train_states.vectors, expected)
    assert record.accuracy == population.scores(state.train_states.vectors).accuracy.tolist()
    assert record.numbers_sent == [population.stacked.length] * 3


def test_the_common_model_is_that_of_fedavg(make_momentum_networks):
    population = make_momentum_networks()
    federated = FedAvg(local_epochs=2)
    state, _ = after(Ditto(of=federated, epochs=1), population, 3)
    expected, _ = after(federated, population, 3)
    assert torch.equal(state.common.vectors, expected.train_states.vectors)


def test_without_a_pull_it_is_training_alone(make_momentum_networks):
    population = make_momentum_networks(pretraining_epochs=0, common_start=True, local_epochs=2)
    state, record = after(Ditto(pull=0.0, epochs=2), population, 3)
    alone, alone_record = after(Standalone(), population, 3)
    assert torch.equal(state.train_states.vectors, alone.train_states.vectors)
    assert record.accuracy == alone_record.accuracy


def test_a_strong_pull_holds_the_personal_model_at_the_common_one(make_networks):
    population = make_networks()
    weak, strong = (after(Ditto(pull=pull, epochs=5), population, 10)[0] for pull in (0.01, 9.0))

    def distance(state):
        return (state.train_states.vectors - state.common.vectors).norm()

    assert distance(strong) < 0.2 * distance(weak)


@pytest.mark.parametrize(("momentum", "most"), [(0.0, 2.0), (0.9, 3.8)])
def test_pulls_hold_up_to_the_rate_at_which_steps_diverge(make_networks, momentum, most):
    optimizer = OptimizerConfig(
        learning_rate=0.01, momentum=momentum, weight_decay=0.0, clip_norm=None
    )
    population = make_networks(optimizer=optimizer)
    state = Ditto().init(population, 0)
    state = replace(state, train_states=state.train_states.moved(state.train_states.vectors + 1))

    def distance(part):
        after, _ = Ditto(epochs=200, pull=part * most / 0.01).round(state, population)
        return (after.train_states.vectors - state.common.vectors).norm()

    assert distance(0.9) < 0.1
    assert distance(1.1) > 1e6


@pytest.mark.parametrize("settings", [{"epochs": 0}, {"pull": -0.1}, {"pull": float("inf")}])
def test_settings_out_of_range_are_named(settings):
    with pytest.raises(ConfigError) as error:
        Ditto(**settings)
    assert error.value.where == next(iter(settings))
