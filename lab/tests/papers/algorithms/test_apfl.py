"""APFL: a step computed by hand, and the limits of its mixture."""

from dataclasses import replace

import pytest
import torch

from securefair.errors import ConfigError
from securefair_lab.algorithms import Standalone
from securefair_lab.papers.algorithms import Apfl, FedAvg
from securefair_lab.papers.algorithms.apfl import mixture


def last(algorithm, population, rounds=3):
    state = algorithm.init(population, 0)
    for _ in range(rounds):
        state, record = algorithm.round(state, population)
    return state, record


def test_a_round_by_hand(make_networks):
    population = make_networks()
    algorithm = Apfl()
    state, _ = last(algorithm, population, 2)
    state = replace(state, alpha=torch.tensor([0.2, 0.5, 0.7], dtype=torch.float64))
    w, v, a = state.train_states.vectors, state.personal.vectors, state.alpha[:, None]
    at_mixture = population.gradients(state.train_states.moved(a * v + (1 - a) * w))
    versions = w - 0.1 * population.gradients(state.train_states)
    common = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64) @ versions
    after, record = algorithm.round(state, population)
    torch.testing.assert_close(after.train_states.vectors, common.repeat(3, 1))
    torch.testing.assert_close(after.personal.vectors, v - 0.1 * a * at_mixture)
    slope = ((v - w) * at_mixture).sum(dim=1)
    assert (slope != 0).all()
    torch.testing.assert_close(after.alpha, state.alpha - 0.1 * slope)
    mixed = mixture(after.alpha, after.personal.vectors, after.train_states.vectors)
    assert record.accuracy == population.scores(mixed).accuracy.tolist()
    assert record.numbers_sent == [population.stacked.length] * 3


def test_with_alpha_0_it_is_fedavg(make_momentum_networks):
    population = make_momentum_networks()
    state, record = last(Apfl(alpha=0.0, adaptive=False, local_epochs=2), population)
    expected, plain = last(FedAvg(local_epochs=2), population)
    torch.testing.assert_close(state.train_states.vectors, expected.train_states.vectors)
    assert record.accuracy == plain.accuracy
    assert record.cross_entropy == pytest.approx(plain.cross_entropy)


def test_with_alpha_1_everyone_predicts_with_a_model_trained_alone(make_momentum_networks):
    population = make_momentum_networks(pretraining_epochs=0, common_start=True, local_epochs=2)
    state, record = last(Apfl(alpha=1.0, adaptive=False, local_epochs=2), population)
    alone, plain = last(Standalone(), population)
    torch.testing.assert_close(state.personal.vectors, alone.train_states.vectors)
    assert record.accuracy == plain.accuracy


def test_alpha_grows_where_the_common_model_is_wrong(make_networks, make_participant):
    people = tuple(
        make_participant(name, n, flipped=name == "d", train=40) for n, name in enumerate("abcd")
    )
    state, _ = last(Apfl(local_epochs=5), make_networks(participants=people), 15)
    assert ((state.alpha >= 0) & (state.alpha <= 1)).all()
    assert state.alpha[3] == state.alpha.max()
    assert state.alpha[3] > 0.9


@pytest.mark.parametrize("settings", [{"alpha": 1.5}, {"alpha": -0.5}, {"local_epochs": 0}])
def test_settings_out_of_range_are_named(settings):
    with pytest.raises(ConfigError) as error:
        Apfl(**settings)
    assert error.value.where == next(iter(settings))
