"""What every personalised method of DPFL's comparison has to keep, whatever its formulas are."""

import msgspec
import pytest
import torch

from securefair.errors import ModelError
from securefair.model.optimizer import OptimizerConfig
from securefair.worth import run
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.papers.algorithms import (
    Apfl,
    Ditto,
    FedAvg,
    FedRep,
    KnnPer,
    Pacfl,
    PerFedAvg,
    PFedGraph,
)

METHODS = (
    Apfl(),
    Ditto(of=FedAvg(local_epochs=2)),
    FedRep(head_epochs=2),
    KnnPer(weight=None),
    Pacfl(threshold=40.0),
    PerFedAvg(variant="hessian_free", adaptation_epochs=1),
    PFedGraph(lam=0.1),
)


@pytest.fixture(params=METHODS, ids=lambda method: method.name)
def method(request):
    return request.param


@pytest.fixture
def make_members(make_networks):
    """Small networks with momentum and mini-batches, so that all that a state keeps matters."""
    defaults = {
        "network": "mlp-32",
        "batch_size": 16,
        "validation": 20,
        "optimizer": OptimizerConfig(learning_rate=0.05, momentum=0.9),
    }
    return lambda **more: make_networks(**(defaults | more))


def encoded(records):
    return msgspec.json.encode(list(records))


def test_equal_seeds_give_identical_records(method, make_members):
    population = make_members()
    first, again, other = (encoded(run(method, population, seed, 2)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_round_leaves_its_state_as_it_was(method, make_members):
    population = make_members()
    state, _ = method.round(method.init(population, 0), population)
    before = {name: value.clone() for name, value in tensors(state)}
    assert before
    method.round(state, population)
    assert all(torch.equal(value, before[name]) for name, value in tensors(state))


def tensors(state, path=""):
    for name, value in vars(state).items():
        if isinstance(value, torch.Tensor):
            yield path + name, value
        elif hasattr(value, "__dict__"):
            yield from tensors(value, f"{path}{name}.")


def test_records_say_what_others_do(method, make_members):
    population = make_members()
    records = list(run(method, population, 0, 2))
    for t, record in enumerate(records):
        assert (record.algorithm, record.round, record.forced) == (method.name, t, False)
        for scores in (record.accuracy, record.validation_accuracy):
            assert len(scores) == 3
            assert all(0 <= score <= 1 for score in scores)
        assert len(record.numbers_sent) == 3
        assert not any(record.answered[n][n] for n in range(3))


def test_it_learns(method, make_members):
    records = list(run(method, make_members(), 0, 6))
    assert sum(records[-1].accuracy) / 3 > 0.8


def test_what_leaves_a_free_rider_is_not_what_it_has(method, make_members):
    honest, cheated = (
        make_members(free_riders=riders) for riders in ({}, {"b": FreeRide(scale=5.0)})
    )
    if isinstance(method, Pacfl):
        assert set(method.init(honest, 0).clusters) == {0}  # a cheat matters to its cluster only
    states = [
        method.round(method.init(population, 0), population)[0] for population in (honest, cheated)
    ]
    common = [getattr(state, "common", state.train_states).vectors[0] for state in states]
    assert not torch.allclose(*common)


def test_diverging_training_names_the_participants(method, make_members):
    wild = make_members(optimizer=OptimizerConfig(learning_rate=1e200, clip_norm=None))
    with pytest.raises(ModelError, match="diverged"):
        list(run(method, wild, 0, 3))
