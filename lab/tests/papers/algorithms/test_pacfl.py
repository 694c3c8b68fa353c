"""PACFL: angles by hand, clusters of known data, and its limits."""

import numpy as np
import pytest
import torch

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair_lab.algorithms import Standalone
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.papers.algorithms import FedAvg, Pacfl
from securefair_lab.papers.algorithms.pacfl import angles, clustered, subspace


def last(algorithm, population, rounds=3):
    state = algorithm.init(population, 0)
    for _ in range(rounds):
        state, record = algorithm.round(state, population)
    return state, record


def samples(rows, labels=None):
    rows = np.array(rows, dtype=np.float64)
    return Samples(rows, np.array(labels or [0] * len(rows)), 2)


def test_singular_vectors_are_the_main_directions_of_the_data():
    data = samples([[3, 0, 0], [-3, 0, 0], [0, 1, 0]], [0, 0, 1])
    np.testing.assert_allclose(np.abs(subspace(data, 1)), [[1], [0], [0]], atol=1e-12)
    np.testing.assert_allclose(np.abs(subspace(data, 3)), [[1, 0], [0, 1], [0, 0]], atol=1e-12)
    by_class = subspace(data, 5, by_class=True)
    np.testing.assert_allclose(np.abs(by_class), [[1, 0], [0, 1], [0, 0]], atol=1e-12)
    assert subspace(samples([[0, 0, 0]]), 2).shape == (3, 0)


def test_angles_by_hand():
    x, y, z = np.eye(3)[:, :, None]
    tilted = np.cos(np.radians(30)) * x + np.sin(np.radians(30)) * z
    plane = np.concatenate([x, y], axis=1)
    found = angles([x, -tilted, y, plane])
    np.testing.assert_allclose(found[0], [0, 30, 90, 0], atol=1e-5)
    np.testing.assert_allclose(found[3], [0, 30, 0, 0], atol=1e-5)
    np.testing.assert_allclose(found, found.T)
    doubled = np.concatenate([x, x], axis=1)  # two vectors, one direction
    assert angles([doubled, y])[0, 1] == pytest.approx(90)


def test_sums_of_angles_are_of_as_many_for_all():
    axes = np.eye(6)
    line, plane, space, apart = axes[:, :1], axes[:, :2], axes[:, :3], axes[:, 3:]
    tilted = np.cos(np.radians(30)) * axes[:, :1] + np.sin(np.radians(30)) * axes[:, 5:]
    turned = np.concatenate([axes[:, 1:2], tilted], axis=1)
    assert angles([plane, turned], "sum")[0, 1] == pytest.approx(30)  # Eq. 3: 0 + 30
    nothing = np.empty((6, 0))
    found = angles([space, apart, line, line, nothing, nothing], "sum")
    np.testing.assert_allclose(found[0], [0, 270, 180, 180, 270, 270])
    np.testing.assert_allclose(found[1], [270, 0, 270, 270, 270, 270])
    np.testing.assert_allclose(found[2], [180, 270, 0, 0, 270, 270])
    np.testing.assert_allclose(found[4], [270, 270, 270, 270, 0, 270])
    assert angles([nothing, line])[0, 1] == 90


def test_at_0_degrees_those_with_a_direction_in_common_are_merged():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(50, 1))
    spaces = [np.concatenate([shared, rng.normal(size=(50, 2))], axis=1) for _ in range(9)]
    other = rng.normal(size=(50, 3))
    assert clustered(angles([*spaces, other]), 0.0, "average") == (0,) * 9 + (1,)
    near = shared + 1e-4 * rng.normal(size=(50, 1))
    assert 1e-4 < angles([shared, near])[0, 1] < 1.0


def test_clusters_are_merged_up_to_the_threshold():
    distances = np.array([[0, 2, 9, 9], [2, 0, 9, 4], [9, 9, 0, 9], [9, 4, 9, 0.0]])
    assert clustered(distances, 1.9, "average") == (0, 1, 2, 3)
    assert clustered(distances, 2.0, "average") == (0, 0, 1, 2)
    assert clustered(distances, 5.0, "average") == (0, 0, 1, 2)
    assert clustered(distances, 5.0, "single") == (0, 0, 1, 0)
    assert clustered(distances, 6.5, "average") == (0, 0, 1, 0)
    assert clustered(distances, 9.0, "complete") == (0, 0, 0, 0)


def directed(name, direction, seed):
    rng = np.random.default_rng(seed)

    def draw(count):
        labels = np.arange(count) % 2
        along = (1 + rng.random(count)) * (2 * labels - 1)
        noise = 0.05 * rng.normal(size=(count, len(direction)))
        return Samples(along[:, None] * direction + noise, labels, 2)

    return ParticipantData(name, draw(20), draw(20))


def test_whose_data_lie_in_one_direction_learn_together(make_networks):
    x, y = np.eye(3)[:2]
    people = tuple(
        directed(name, way, seed)
        for seed, (name, way) in enumerate(zip("abcd", [x, y, x, y], strict=True))
    )
    population = make_networks(participants=people)
    state, record = last(Pacfl(threshold=20.0, vectors=1), population, 1)
    assert state.clusters == (0, 1, 0, 1)
    assert record.answered[0] == [False, False, True, False]
    assert record.numbers_sent == [population.stacked.length + 3] * 4
    trained = population.train(
        Pacfl(threshold=20.0).init(population, 0).train_states, epochs=1, seed=0, clock=0
    )
    expected = trained.vectors[[0, 2]].mean(dim=0)
    torch.testing.assert_close(state.train_states.vectors[2], expected)
    own = last(Pacfl(threshold=20.0, vectors=1, scored="trained"), population, 1)[1]
    assert own.cross_entropy == population.scores(trained.vectors, "train").cross_entropy.tolist()
    assert own.cross_entropy != record.cross_entropy


def test_one_cluster_is_fedavg(make_momentum_networks):
    for riders in ({}, {"b": FreeRide(scale=0.1)}):
        population = make_momentum_networks(free_riders=riders)
        state, record = last(Pacfl(threshold=180.0, local_epochs=2), population)
        expected, plain = last(FedAvg(local_epochs=2), population)
        torch.testing.assert_close(state.train_states.vectors, expected.train_states.vectors)
        assert record.answered == plain.answered
        assert record.numbers_sent == plain.numbers_sent


def test_without_any_merging_everyone_trains_alone(make_networks):
    population = make_networks(
        batch_size=8, pretraining_epochs=0, common_start=True, local_epochs=2
    )
    state, record = last(Pacfl(threshold=0.0, local_epochs=2, vectors=1), population)
    assert state.clusters == (0, 1, 2)
    alone, _ = last(Standalone(), population)
    torch.testing.assert_close(state.train_states.vectors, alone.train_states.vectors)
    assert record.numbers_sent == [0, 0, 0]
    assert not any(map(any, record.answered))


def test_momentum_rests_between_rounds_in_clusters_of_any_size(make_momentum_networks):
    population = make_momentum_networks()
    algorithm = Pacfl(threshold=0.0, vectors=1)
    state, _ = last(algorithm, population, 1)
    after, _ = algorithm.round(state, population)
    momentum_reset = population.train(
        state.train_states.momentum_reset(), epochs=1, seed=0, clock=1
    )
    torch.testing.assert_close(after.train_states.vectors, momentum_reset.vectors)


def test_a_free_rider_alone_keeps_the_model_that_it_trained(make_networks):
    population = make_networks(
        pretraining_epochs=0,
        common_start=True,
        local_epochs=1,
        free_riders={"b": FreeRide(scale=5.0)},
    )
    state, record = last(Pacfl(threshold=0.0, vectors=1), population, 2)
    assert state.clusters == (0, 1, 2)
    alone, _ = last(Standalone(), population, 2)
    torch.testing.assert_close(state.train_states.vectors, alone.train_states.vectors)
    assert record.numbers_sent == [0, 0, 0]


@pytest.mark.parametrize("pretence", ["zeros", "noise"])
def test_a_free_riders_singular_vectors_are_as_worthless_as_its_models(make_networks, pretence):
    along = np.eye(40)[0]
    people = tuple(directed(name, along, seed) for seed, name in enumerate("abc"))
    algorithm = Pacfl(threshold=45.0, vectors=1)
    honest = algorithm.init(make_networks(participants=people), 0)
    assert honest.clusters == (0, 0, 0)
    riders = {"b": FreeRide(sends=pretence)}
    cheated = algorithm.init(make_networks(participants=people, free_riders=riders), 0)
    assert cheated.clusters == (0, 1, 0)
    assert cheated.sent == honest.sent


@pytest.mark.parametrize(
    "settings",
    [
        {"threshold": -1.0},
        {"vectors": 0},
        {"angle": "largest"},
        {"linkage": "ward"},
        {"local_epochs": 0},
        {"scored": "best"},
    ],
)
def test_settings_out_of_range_are_named(settings):
    with pytest.raises(ConfigError) as error:
        Pacfl(**({"threshold": 1.0} | settings))
    assert error.value.where == next(iter(settings))
