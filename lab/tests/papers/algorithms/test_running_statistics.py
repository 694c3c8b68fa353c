"""Batch norm's running statistics: averaged with models, no part of updates or distillation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from securefair.model.architectures import ARCHITECTURES
from securefair.model.stacked_training import TrainStates
from securefair_lab.algorithms.cycle import Cycle
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.algorithms.gossip_sgd import GossipSgd
from securefair_lab.algorithms.network_population import NetworkPopulation
from securefair_lab.algorithms.vpdl import Vpdl
from securefair_lab.papers.algorithms import (
    Apfl,
    Ditto,
    FedRep,
    KnnPer,
    Pacfl,
    PerFedAvg,
    PFedGraph,
)
from securefair_lab.papers.algorithms.cffl import Cffl
from securefair_lab.papers.algorithms.cgsv import Cgsv
from securefair_lab.papers.algorithms.dpfl import Dpfl
from securefair_lab.papers.algorithms.dssgd import Dssgd
from securefair_lab.papers.algorithms.fairsl import FairSl
from securefair_lab.papers.algorithms.fedavg import FedAvg
from securefair_lab.papers.algorithms.local_steps import local_steps
from securefair_lab.papers.algorithms.rffl import Rffl
from securefair_lab.papers.algorithms.updates import update_of, with_statistics

STATISTICS = 10  # running means and variances of five channels


def normed(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(shape[0], 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, classes)
    )


@pytest.fixture
def make_normed(make_networks: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Three participants with networks that have running statistics."""
    monkeypatch.setitem(ARCHITECTURES, "normed", normed)
    return lambda **settings: make_networks(
        network="normed", batch_size=10, validation=10, **settings
    )


def statistics(population: NetworkPopulation, vectors: torch.Tensor) -> torch.Tensor:
    found = population.stacked.parts(vectors)[1]
    assert found.shape[1] == STATISTICS
    return found


def trained_apart(population: NetworkPopulation, state: Any) -> torch.Tensor:
    """What the participants' networks are after the epoch of this round."""
    return population.train(
        state.train_states, epochs=1, seed=state.seed, clock=state.round
    ).vectors


def test_federated_averaging_averages_statistics_by_samples(make_normed: Any) -> None:
    population = make_normed(sizes=(20, 30, 50))
    state = FedAvg().init(population, 1)
    own = statistics(population, trained_apart(population, state))
    after, record = FedAvg().round(state, population)
    expected = 0.2 * own[0] + 0.3 * own[1] + 0.5 * own[2]
    for row in statistics(population, after.train_states.vectors):
        torch.testing.assert_close(row, expected)
    assert record.numbers_sent == [population.stacked.length] * 3  # they travel


def test_gossip_mixes_statistics_by_the_same_weights(make_normed: Any) -> None:
    population = make_normed()
    algorithm = GossipSgd(pretraining_epochs=0)
    state = algorithm.init(population, 1)
    own = statistics(population, trained_apart(population, state))
    after, _ = algorithm.round(state, population)
    torch.testing.assert_close(
        statistics(population, after.train_states.vectors), own.mean(dim=0).repeat(3, 1)
    )


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_an_own_model_has_the_statistics_of_its_mixture(make_normed: Any, alpha: float) -> None:
    """At these alphas the mixture is a model that `train` can train."""
    population = make_normed()
    algorithm = Apfl(alpha=alpha, adaptive=False)
    state, _ = algorithm.round(algorithm.init(population, 1), population)
    mixture = state.personal if alpha else state.train_states
    own = population.train(mixture, epochs=1, seed=1, clock=1).vectors
    versions = statistics(population, trained_apart(population, state))
    after, _ = algorithm.round(state, population)
    torch.testing.assert_close(
        statistics(population, after.personal.vectors), statistics(population, own)
    )
    torch.testing.assert_close(
        statistics(population, after.train_states.vectors),
        (torch.tensor([0.2, 0.3, 0.5]).double() @ versions).repeat(3, 1),
    )


def test_a_model_beside_the_common_one_keeps_its_statistics(make_normed: Any) -> None:
    population = make_normed()
    algorithm = Ditto(pull=0.0)
    state, _ = algorithm.round(algorithm.init(population, 1), population)
    own = statistics(population, trained_apart(population, state))
    after, _ = algorithm.round(state, population)
    torch.testing.assert_close(statistics(population, after.train_states.vectors), own)


def test_statistics_travel_with_a_body(make_normed: Any) -> None:
    population = make_normed()
    state, _ = FedRep(head_epochs=1).round(FedRep().init(population, 1), population)
    found = statistics(population, state.train_states.vectors)
    torch.testing.assert_close(found, found[:1].repeat(3, 1))


@pytest.mark.parametrize("algorithm", [Vpdl(), Cycle()])
def test_distillation_leaves_everyone_its_own_statistics(algorithm: Any, make_normed: Any) -> None:
    population = make_normed(lambda_0=0.0)  # then nobody learns anything from others
    state = algorithm.init(population, 1)
    own = statistics(population, trained_apart(population, state))
    after, record = algorithm.round(state, population)
    torch.testing.assert_close(statistics(population, after.train_states.vectors), own)
    classes, samples = population.classes, 100 - np.array([20, 30, 50])
    assert record.numbers_sent == (samples * classes).tolist()  # logits alone


@pytest.mark.parametrize("algorithm", [Rffl(), Cgsv(), Cffl(local_epochs=1)])
def test_rewarded_participants_keep_the_statistics_of_their_own_training(
    algorithm: Any, make_normed: Any
) -> None:
    population = make_normed()
    state = algorithm.init(population, 1)
    own = statistics(population, trained_apart(population, state))
    after, _ = algorithm.round(state, population)
    torch.testing.assert_close(statistics(population, after.train_states.vectors), own)


def test_turns_keep_ones_own_statistics(make_normed: Any) -> None:
    population = make_normed()
    algorithm = Dssgd(local_epochs=1)
    state, _ = algorithm.round(algorithm.init(population, 1), population)
    found = statistics(population, state.train_states.vectors)
    assert len({tuple(row.tolist()) for row in found}) == 3
    assert state.server.shape == (population.stacked.trained,)


def test_steps_of_ones_own_measure_what_training_does(make_normed: Any) -> None:
    population = replace(make_normed(), batch_size=None)  # batches of 20, 30 and 50 samples
    train_states = population.start(0, common=True)
    expected = population.train(train_states, epochs=2, seed=3, clock=4)
    (found,) = local_steps(
        population,
        [train_states],
        lambda step, models: [step.gradients(models[0])],
        epochs=2,
        seed=3,
        clock=4,
        optimizer=population.optimizer,
    )
    torch.testing.assert_close(found.vectors, expected.vectors)


ALL = [
    FedAvg(),
    GossipSgd(),
    Dpfl(pretraining_epochs=1, local_epochs=1),
    FairSl(epochs_per_cycle=(2,)),
    Dssgd(),
    Cffl(),
    Rffl(warm_up=1),
    Cgsv(),
    Cycle(),
    Apfl(),
    Ditto(),
    FedRep(head_epochs=1),
    KnnPer(),
    Pacfl(threshold=90.0),
    PerFedAvg(),
    PFedGraph(),
]


@pytest.mark.parametrize("algorithm", ALL, ids=lambda one: one.name)
def test_variances_stay_above_zero_and_everyone_learns(algorithm: Any, make_normed: Any) -> None:
    population = make_normed(free_riders={"c": FreeRide(scale=5.0)})
    state = algorithm.init(population, 3)
    for _ in range(4):
        state, record = algorithm.round(state, population)
        for models in (one for one in vars(state).values() if isinstance(one, TrainStates)):
            variances = statistics(population, models.vectors)[:, 5:]
            assert (variances > 0).all()
        assert np.isfinite(record.cross_entropy).all()


def test_a_free_riders_model_goes_with_the_statistics_that_it_received(make_normed: Any) -> None:
    population = make_normed(free_riders={"b": FreeRide(sends="zeros")})
    vectors = population.start(1, common=False).vectors
    sent = population.sent(vectors + 1, 0, 1, unchanged=vectors)
    parameters, kept = population.stacked.parts(sent)
    assert not parameters[1].any()
    assert torch.equal(kept[1], population.stacked.parts(vectors)[1][1])
    assert torch.equal(sent[[0, 2]], vectors[[0, 2]] + 1)


def test_a_part_of_a_free_riders_model_does_too(make_normed: Any) -> None:
    population = make_normed(free_riders={"b": FreeRide(sends="zeros")})
    vectors = population.start(1, common=False).vectors
    part = torch.arange(population.stacked.length) >= 7
    sent = population.sent((vectors + 1)[:, part], 0, 1, unchanged=vectors[:, part], part=part)
    assert not sent[1, :-STATISTICS].any()
    assert torch.equal(sent[1, -STATISTICS:], vectors[1, -STATISTICS:])
    assert torch.equal(sent[[0, 2]], (vectors + 1)[[0, 2]][:, part])


def test_which_statistics_per_fedavg_adapts_with(
    make_normed: Any,
) -> None:
    population = replace(make_normed(), batch_size=None)
    train_states = population.start(1, common=True)
    stepped = population.train(train_states, epochs=1, seed=0, clock=0)
    rate = population.optimizer.learning_rate
    in_training = population.stacked.parts(train_states.vectors - stepped.vectors)[0] / rate
    in_evaluation = population.gradients(train_states)
    assert not torch.allclose(in_training, in_evaluation, rtol=0.1)
    for epochs, gradients in ((0, in_evaluation), (1, in_training)):
        method = PerFedAvg(alpha=0.5, adaptation_epochs=epochs)
        adapted = population.stacked.parts(method.adapted(train_states, population, 0, 0))[0]
        before = population.stacked.parts(train_states.vectors)[0]
        torch.testing.assert_close(adapted, before - 0.5 * gradients)


def test_an_update_is_of_parameters_and_goes_back_to_a_whole_model(make_normed: Any) -> None:
    stacked = make_normed().stacked
    before, after = stacked.initial([1, 2]), stacked.initial([3, 4])
    after[:, stacked.trained :] += 7
    update = update_of(stacked, before, after)
    assert update.shape == (2, stacked.trained)
    whole = with_statistics(stacked, stacked.parts(before)[0] + update, after)
    torch.testing.assert_close(whole, after)
