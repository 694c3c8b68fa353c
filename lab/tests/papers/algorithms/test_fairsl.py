"""FairSL: sections, who leaves when, and what trees are worth."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.model.optimizer import OptimizerConfig
from securefair.worth.algorithm import run
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.fairsl import FairSl, cycles
from securefair_lab.papers.algorithms.fairsl_forest import (
    FairSlForest,
    ForestPopulation,
    grown,
    trees_in_proportion,
    trees_sent,
)

CLASSES, FEATURES = 3, 4


def blobs(count: int, seed: int, classes: int = CLASSES) -> Samples:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    features = 2 * np.eye(CLASSES, FEATURES)[labels] + rng.normal(size=(count, FEATURES))
    return Samples(features, labels, CLASSES)


def members(*sizes: int) -> tuple[ParticipantData, ...]:
    return tuple(
        ParticipantData(f"p{n}", blobs(size, n), blobs(60, 50)) for n, size in enumerate(sizes)
    )


def population_of(*sizes: int) -> StackedPopulation:
    return StackedPopulation(
        participants=members(*sizes),
        network="quadratic-head-3",
        optimizer=OptimizerConfig(learning_rate=0.1),
        batch_size=8,
        double=True,
    )


def test_sections_are_the_differences_of_sizes() -> None:
    # The paper's example: 0.1, 0.3 and 0.6 give sections of 0.1, 0.2 and 0.3.
    assert cycles([10, 30, 60]) == [(0, 10), (10, 30), (30, 60)]
    assert cycles([12, 10, 12]) == [(0, 10), (10, 12)]


@given(st.lists(st.integers(1, 40), min_size=2, max_size=5))
def test_every_sample_is_in_exactly_one_section(sizes: list[int]) -> None:
    state = FairSl().init(population_of(*sizes), 0)
    for n, size in enumerate(sizes):
        rows = np.concatenate([sections[n] for sections in state.sections])
        assert sorted(rows.tolist()) == list(range(size))


def test_the_smallest_leaves_first_and_keeps_the_model_it_helped_to_make() -> None:
    population = population_of(10, 30, 60)
    algorithm = FairSl(epochs_per_cycle=(2, 1))
    assert algorithm.rounds(population) == 4
    state, present, vectors = algorithm.init(population, 0), [], []
    for _ in range(5):
        state, record = algorithm.round(state, population)
        present.append(record.present)
        vectors.append(state.train_states.vectors)
    assert present == [
        [True, True, True],
        [True, True, True],
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]
    for together in vectors[:2]:
        assert torch.equal(together[0], together[1])
        assert torch.equal(together[0], together[2])
    assert torch.equal(vectors[2][1], vectors[2][2])
    assert not torch.equal(vectors[2][0], vectors[2][1])
    for before, after in pairwise([row[0] for row in vectors[1:]]):
        assert torch.equal(before, after)
    assert torch.equal(vectors[3], vectors[4])


def test_a_merge_is_the_mean_of_what_everyone_trained_on_its_section() -> None:
    population = population_of(10, 30)
    algorithm = FairSl(epochs_per_cycle=(1,))
    state = algorithm.init(population, 0)
    after, record = algorithm.round(state, population)
    trained = population.train(
        state.train_states, epochs=1, seed=0, clock=0, within=state.sections[0]
    )
    torch.testing.assert_close(after.train_states.vectors[0], trained.vectors.mean(dim=0))
    assert sorted(record.numbers_sent or ()) == [population.stacked.length] * 2


def test_participants_of_equal_size_leave_together_with_one_model() -> None:
    population = population_of(10, 10, 11)
    algorithm = FairSl(epochs_per_cycle=(1,))
    records = list(run(algorithm, population, 0, algorithm.rounds(population)))
    assert [record.present for record in records] == [[True] * 3, [False, False, True]]
    assert records[-1].accuracy[0] == records[-1].accuracy[1]


def test_frozen_layers_stay_after_the_first_cycle() -> None:
    population = population_of(10, 30)
    algorithm = FairSl(epochs_per_cycle=(1,), frozen_layers=1)
    state, _ = algorithm.round(algorithm.init(population, 0), population)
    later, _ = algorithm.round(state, population)
    first = population.stacked.layers[0]
    assert torch.equal(
        state.train_states.vectors[:, : first.stop], later.train_states.vectors[:, : first.stop]
    )
    assert not torch.equal(state.train_states.vectors[1], later.train_states.vectors[1])


def test_equal_seeds_give_equal_records() -> None:
    first = list(run(FairSl(epochs_per_cycle=(1,)), population_of(10, 20), 7, 2))
    assert first == list(run(FairSl(epochs_per_cycle=(1,)), population_of(10, 20), 7, 2))


@pytest.mark.parametrize(
    ("trees", "sender", "receiver", "expected"),
    [(50, 10, 60, 50), (50, 10, 10, 50), (90, 30, 10, 10), (50, 10, 1, 1), (7, 2, 1, 2)],
)
def test_trees_fall_with_the_square_of_the_ratio(
    trees: int, sender: int, receiver: int, expected: int
) -> None:
    assert trees_sent(trees, sender, receiver) == expected


@given(st.integers(1, 500), st.integers(1, 5000), st.integers(1, 5000))
def test_at_least_one_tree_and_never_more_than_all(trees: int, sender: int, receiver: int) -> None:
    number = trees_sent(trees, sender, receiver)
    assert 1 <= number <= trees
    assert number >= trees * min(1.0, (receiver / sender) ** 2) - 1e-6


def test_everyone_ends_with_its_own_trees_and_those_it_was_sent() -> None:
    population = ForestPopulation(
        participants=members(20, 60), trees=trees_in_proportion([20, 60], 9)
    )
    assert population.trees == (9, 27)
    algorithm = FairSlForest()
    state = algorithm.init(population, 0)
    after, record = algorithm.round(state, population)
    assert [len(forest) for forest in after.forests] == [9 + 3, 27 + 9]
    assert after.forests[0].trees[:9] == state.forests[0].trees
    assert record.numbers_sent == [9, 3]
    again, second = algorithm.round(after, population)
    assert [len(forest) for forest in again.forests] == [12, 36]
    assert second.numbers_sent == [0, 0]
    everything, _ = FairSlForest(equal=True).round(state, population)
    assert [len(forest) for forest in everything.forests] == [36, 36]


def test_trees_of_a_participant_that_lacks_a_class_are_aligned() -> None:
    lacking = grown(blobs(30, 1, classes=2), 5, 0)
    complete = grown(blobs(30, 2), 5, 0)
    joined = lacking.joined([complete])
    features = blobs(50, 3).features
    np.testing.assert_allclose(
        joined.probabilities(features),
        (lacking.probabilities(features) + complete.probabilities(features)) / 2,
    )
    assert not lacking.probabilities(features)[:, 2].any()
    np.testing.assert_allclose(joined.probabilities(features).sum(axis=1), 1)


def test_forests_of_equal_seeds_are_equal() -> None:
    population = ForestPopulation(participants=members(20, 40), trees=(5, 10))
    first = list(run(FairSlForest(), population, 3, 1))
    assert first == list(run(FairSlForest(), population, 3, 1))
    assert math.isfinite(first[0].cross_entropy[0])


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: FairSl(epochs_per_cycle=()), "epochs_per_cycle"),
        (lambda: FairSl(rate_factors=(0.0,)), "rate_factors"),
        (lambda: ForestPopulation(participants=members(5, 5), trees=(3,)), "trees"),
    ],
)
def test_settings_out_of_range_are_refused(make: Any, where: str) -> None:
    with pytest.raises(ConfigError, match=where):
        make()
