"""DPFL: its averages, budgets and settings, and whom it chooses."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
import torch

from securefair.errors import ConfigError, DataError
from securefair.worth import run
from securefair_lab.papers.algorithms.checkpoints import chosen_accuracy, chosen_rounds
from securefair_lab.papers.algorithms.dpfl import Dpfl

SIX = (20, 24, 28, 32, 36, 40)


@pytest.fixture
def make_members(make_networks):
    return lambda **more: make_networks(**({"sizes": SIX, "validation": 30} | more))


def short(**more):
    return Dpfl(**({"pretraining_epochs": 3, "local_epochs": 2} | more))


def test_a_round_averages_whom_it_chose_by_their_samples(make_members):
    population = make_members()
    algorithm = short(budget=3)
    state = algorithm.init(population, 1)
    trained = population.train(
        state.train_states.momentum_reset(), epochs=2, seed=1, clock=0
    ).vectors
    after, record = algorithm.round(state, population)
    sizes = torch.tensor(SIX, dtype=torch.float64)
    for k in range(6):
        rows = [j for j in range(6) if j == k or record.answered[k][j]]
        expected = sizes[rows] @ trained[rows] / sizes[rows].sum()
        torch.testing.assert_close(after.train_states.vectors[k], expected)
    used, omega = np.array(record.answered), np.array(record.asked)
    assert (omega == state.omega).all()
    assert not (used & ~omega).any()
    assert omega.sum(axis=1).max() <= 3


def test_records_may_score_the_models_before_the_average(make_members):
    """What everyone trained from its last average, which the published code keeps and tests."""
    population = make_members()
    state = short().init(population, 1)
    trained = population.train(
        state.train_states.momentum_reset(), epochs=2, seed=1, clock=0
    ).vectors
    after, averaged = short().round(state, population)
    same, record = short(scored="trained").round(state, population)
    assert record.accuracy == population.scores(trained).accuracy.tolist()
    assert record.validation_accuracy == population.scores(trained, "validation").accuracy.tolist()
    assert averaged.cross_entropy != record.cross_entropy
    assert record.answered == averaged.answered
    torch.testing.assert_close(
        same.train_states.vectors, after.train_states.vectors, rtol=0, atol=0
    )


def test_both_algorithms_choose_alike_on_networks(make_members):
    """Theorem 1, where every Omega holds everyone: repeating BGGC is what GGC does."""
    population = make_members()
    state = short().init(population, 2)
    everyone = replace(state, omega=~np.eye(6, dtype=bool))
    _, one = short().round(everyone, population)
    _, other = short(graph="rebuilt").round(everyone, population)
    assert one == other
    assert 0 < np.sum(one.answered) < 30


def test_equal_seeds_give_identical_records(make_members):
    population = make_members(batch_size=8)
    algorithm = short(budget=2, online=0.8, reach=0.6)
    first, again, other = (
        msgspec.json.encode(list(run(algorithm, population, seed, 3))) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_whose_labels_mean_something_else_is_not_chosen(make_members, make_participant):
    people = tuple(
        make_participant(name, n, flipped=name in "ef", validation=40)
        for n, name in enumerate("abcdef")
    )
    mirrored = tuple(
        replace(
            own,
            test=replace(own.test, labels=1 - own.test.labels),
            validation=replace(own.validation, labels=1 - own.validation.labels),
        )
        if own.name in "ef"
        else own
        for own in people
    )
    population = make_members(participants=mirrored)
    records = list(run(short(local_epochs=5), population, 0, 8))
    used = np.array(records[-1].answered)
    assert not used[:4, 4:].any()
    assert not used[4:, :4].any()
    assert used[:4, :4].sum() >= 3
    assert np.mean(records[-1].accuracy) > 0.8


def test_between_choices_the_last_one_stays(make_members):
    records = list(run(short(period=3), make_members(), 0, 6))
    used = [record.answered for record in records]
    assert used[0] == used[1] == used[2]
    assert used[3] == used[4] == used[5]
    length = make_members().stacked.length
    for t in (1, 2, 4, 5):  # only the chosen send; when choosing, all of Omega
        assert records[t].numbers_sent == (np.sum(used[t], axis=0) * length).tolist()
    assert records[3].numbers_sent == (np.sum(records[3].asked, axis=0) * length).tolist()


def test_preparation_is_counted_in_the_first_round(make_members):
    population = make_members()
    state = short(budget=5).init(population, 0)
    assert state.sent == (5 * population.stacked.length,) * 6  # one batch: each model once to each
    tight = short(budget=2).init(population, 0)
    assert max(tight.sent) > 5 * population.stacked.length  # once for the sum, again to be judged
    record = short(budget=5).round(state, population)[1]
    asked = np.sum(record.asked, axis=0) * population.stacked.length
    assert record.numbers_sent == (asked + np.array(state.sent)).tolist()


def test_partial_participation(make_members):
    population = make_members()
    algorithm = short(reach=0.5, online=0.5)
    state = algorithm.init(population, 3)
    assert state.omega.sum(axis=1).max() <= 2  # round(0.5 * 5)
    seen = []
    full = short(online=0.5)
    state = full.init(population, 3)
    for _ in range(5):
        state, record = full.round(state, population)
        online = np.array(record.asked)
        assert online.sum(axis=1).tolist() == [round(0.5 * n) for n in state.omega.sum(axis=1)]
        assert not (online & ~state.omega).any()
        seen.append(online.tobytes())
    assert len(set(seen)) > 1


def test_a_random_graph_is_drawn_once_and_used_whole(make_members):
    records = list(run(short(graph="random", budget=2), make_members(), 0, 3))
    for record in records:
        assert np.sum(record.answered, axis=1).tolist() == [2] * 6
        assert record.answered == records[0].answered == record.asked


def test_who_trains_alone_takes_nothing(make_members):
    population = make_members()
    algorithm = short(alone=("b",))
    state = algorithm.init(population, 0)
    assert not state.omega[1].any()
    after, record = algorithm.round(state, population)
    trained = population.train(state.train_states.momentum_reset(), epochs=2, seed=0, clock=0)
    torch.testing.assert_close(after.train_states.vectors[1], trained.vectors[1])
    assert not any(record.answered[1])
    assert any(row[1] for row in record.answered)
    with pytest.raises(ConfigError, match="alone"):
        short(alone=("z",)).init(population, 0)


def test_checkpoints_are_chosen_on_validation(make_members):
    records = list(run(short(), make_members(), 0, 5))
    rounds = chosen_rounds(records)
    for n, t in enumerate(rounds):
        scores = [record.validation_accuracy[n] for record in records]
        assert scores[t] == max(scores)
        assert max(scores) not in scores[:t]
    assert chosen_accuracy(records) == [records[t].accuracy[n] for n, t in enumerate(rounds)]


def test_without_validation_samples_nothing_can_be_chosen(make_networks):
    with pytest.raises(DataError, match="validation"):
        short().init(make_networks(), 0)
    with pytest.raises(DataError, match="validation"):
        chosen_rounds([])


@pytest.mark.parametrize(
    "settings",
    [
        {"budget": 0},
        {"pretraining_epochs": -1},
        {"local_epochs": 0},
        {"period": 0},
        {"graph": "best"},
        {"reach": 0.0},
        {"online": 1.5},
        {"scored": "best"},
    ],
)
def test_settings_out_of_range_are_named(settings):
    with pytest.raises(ConfigError) as error:
        Dpfl(**settings)
    assert error.value.where == next(iter(settings))
