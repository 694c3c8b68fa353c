"""CFFL, DSSGD, RFFL and CGSV: hand-computed steps, invariants, and who is punished."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError, ModelError
from securefair.model.optimizer import OptimizerConfig
from securefair.model.stacked import Slot
from securefair.worth.algorithm import run
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.cffl import Cffl
from securefair_lab.papers.algorithms.cgsv import Cgsv
from securefair_lab.papers.algorithms.coordinates import largest, largest_of_each_layer
from securefair_lab.papers.algorithms.dssgd import Dssgd
from securefair_lab.papers.algorithms.rffl import Rffl

CLASSES, FEATURES = 3, 4
CENTRES = 3 * np.eye(CLASSES, FEATURES)
PLAIN = OptimizerConfig(learning_rate=0.1, momentum=0.0, weight_decay=0.0, clip_norm=None)


def blobs(count: int, seed: int) -> Samples:
    """An easy task: unit noise around three distant centres."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    return Samples(CENTRES[labels] + rng.normal(size=(count, FEATURES)), labels, CLASSES)


def population_of(sizes: Sequence[int], **more: Any) -> StackedPopulation:
    return StackedPopulation(
        participants=tuple(
            ParticipantData(f"p{n}", blobs(size, n), blobs(60, 50 + n), blobs(40, 90 + n))
            for n, size in enumerate(sizes)
        ),
        network="linear-head",
        optimizer=PLAIN,
        batch_size=None,
        double=True,
        **more,
    )


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12), st.integers(0, 14))
def test_the_largest_coordinates_are_kept(values: list[int], count: int) -> None:
    vector = torch.tensor(values, dtype=torch.float64)
    kept = largest(vector, count)
    assert ((kept == 0) | (kept == vector)).all()
    assert int((kept != 0).sum()) == min(count, int((vector != 0).sum()))
    dropped = vector[kept != vector].abs()
    if len(dropped) and (kept != 0).any():
        assert dropped.max() <= kept[kept != 0].abs().min()


def test_quotas_hold_for_each_layer_on_its_own() -> None:
    layers = (Slot("a", 0, 4, (4,)), Slot("b", 4, 7, (3,)))
    vector = torch.tensor([9.0, 8.0, 7.0, 6.0, 1.0, 3.0, 2.0])
    assert largest_of_each_layer(vector, 0.5, layers).tolist() == [9, 8, 0, 0, 0, 3, 2]
    assert largest_of_each_layer(vector, 1.0, layers).tolist() == vector.tolist()


def test_cffl_rates_and_rewards_as_computed_by_hand() -> None:
    members = population_of([30, 10])
    algorithm = Cffl(local_epochs=1, clip=100.0, schedule=None)
    state = algorithm.init(members, 0)
    after, record = algorithm.round(state, members)

    before = state.train_states.vectors
    trained = members.train(state.train_states, epochs=1, seed=0, clock=0)
    update = trained.vectors - before
    aggregate = 0.75 * update[0] + 0.25 * update[1]
    accuracy = members.scores_on_all(before + update).accuracy
    c = 0.5 * 0.5 + 0.5 * torch.sinh(5 * accuracy / accuracy.sum())
    c = c / c.sum()
    expected = before + update
    for j, (share, size) in enumerate(((0.75, 1.0), (0.25, 1 / 3))):
        reward = largest(aggregate, round(float(c[j] / c.max()) * size * len(aggregate)))
        expected[j] += torch.where(reward != 0, reward - share * update[j], 0)
    torch.testing.assert_close(after.train_states.vectors, expected)
    torch.testing.assert_close(after.reputation, c)
    assert record.present == [True, True]


def test_cffl_rates_sparse_uploads_by_the_servers_own_model() -> None:
    members = population_of([30, 10])
    algorithm = Cffl(local_epochs=1, clip=100.0, schedule=None, upload_rate=0.3, alpha=2.0)
    state = algorithm.init(members, 0)
    after, record = algorithm.round(state, members)

    trained = members.train(state.train_states, epochs=1, seed=0, clock=0)
    count = math.ceil(0.3 * members.stacked.length)
    update = trained.vectors - state.train_states.vectors
    upload = torch.stack([largest(row, count) for row in update])
    accuracy = members.scores_on_all(state.server + upload).accuracy
    c = 0.5 * 0.5 + 0.5 * torch.sinh(2 * accuracy / accuracy.sum())
    torch.testing.assert_close(after.reputation, c / c.sum())
    torch.testing.assert_close(after.server, state.server + 0.75 * upload[0] + 0.25 * upload[1])
    assert record.numbers_sent == [count] * 2


def test_cffl_by_class_numbers_weighs_by_the_most_classes() -> None:
    every, one = population_of([20, 20]).participants
    rows = np.flatnonzero(one.train.labels == 0)
    only = Samples(one.train.features[rows], one.train.labels[rows], one.train.classes)
    members = replace(population_of([20, 20]), participants=(every, replace(one, train=only)))
    algorithm = Cffl(imbalance="classes", local_epochs=1, clip=100.0, schedule=None)
    state = algorithm.init(members, 0)
    after, _ = algorithm.round(state, members)

    trained = members.train(state.train_states, epochs=1, seed=0, clock=0).vectors
    update = trained - state.train_states.vectors
    aggregate = update[0] + update[1] / 3  # class_j / max(class), which need not sum to 1
    c = after.reputation
    for j, part in enumerate((1.0, 1 / 3)):
        reward = largest(aggregate, round(float(c[j] / c.max()) * part * len(aggregate)))
        own = torch.where(reward != 0, part * update[j], 0)
        torch.testing.assert_close(after.train_states.vectors[j], trained[j] + reward - own)


def test_cffl_reputations_are_a_distribution_over_who_is_left() -> None:
    members = population_of([40] * 4, free_riders={"p3": FreeRide(scale=1.0)})
    algorithm = Cffl(local_epochs=2, clip=1.0, threshold=0.6)
    state = algorithm.init(members, 0)
    for _ in range(15):
        state, record = algorithm.round(state, members)
        assert ((state.reputation >= 0) & (state.reputation <= 1)).all()
        assert math.isclose(float(state.reputation.sum()), 1.0)
        assert not state.reputation[~state.present].any()
        assert record.present == state.present.tolist()
    assert not state.present[3]


def test_whoever_is_isolated_goes_on_alone() -> None:
    members = population_of([40] * 4, free_riders={"p3": FreeRide(scale=1.0)})
    algorithm = Cffl(local_epochs=1, clip=100.0, threshold=0.6, schedule=None)
    state = algorithm.init(members, 0)
    while state.present[3]:
        state, _ = algorithm.round(state, members)
    after, _ = algorithm.round(state, members)
    alone = members.train(state.train_states, epochs=1, seed=0, clock=state.round).vectors
    torch.testing.assert_close(after.train_states.vectors[3], alone[3])
    assert not torch.equal(after.train_states.vectors[0], alone[0])


@pytest.mark.parametrize("algorithm", [Cffl(), Dssgd(), Rffl(), Cgsv()])
def test_diverging_training_is_an_error_that_says_whose(algorithm: Any) -> None:
    wild = OptimizerConfig(learning_rate=1e200, momentum=0.9, weight_decay=1.0, clip_norm=None)
    members = replace(population_of([20, 10]), optimizer=wild)
    with pytest.raises(ModelError, match=r"p[01]: the training diverged"):
        list(run(replace(algorithm, local_epochs=5), members, 0, 2))


def test_cffl_isolates_a_free_rider_and_keeps_everyone_else() -> None:
    members = population_of([40] * 4, free_riders={"p3": FreeRide(scale=1.0)})
    algorithm = Cffl(local_epochs=2, clip=1.0, upload_rate=1.0, threshold=0.6)
    records = list(run(algorithm, members, 0, 15))
    assert records[0].present == [True] * 4
    assert records[-1].present == [True, True, True, False]
    sent = records[-1].numbers_sent
    assert sent is not None
    assert sent[3] == 0
    assert not any(records[-1].answered[3])


def test_cffl_gives_more_to_whoever_has_more() -> None:
    members = population_of([60, 10])
    algorithm = Cffl(local_epochs=1, clip=100.0, own_part="everywhere")
    state = algorithm.init(members, 0)
    after, _ = algorithm.round(state, members)
    trained = members.train(state.train_states, epochs=1, seed=0, clock=0).vectors
    update = trained - state.train_states.vectors
    received = (
        after.train_states.vectors
        - trained
        + torch.tensor([[6.0], [1.0]], dtype=torch.float64) / 7 * update
    )
    counts = (received.abs() > 1e-12).sum(dim=1)
    assert counts[0] == members.stacked.length
    assert counts[1] <= math.ceil(members.stacked.length / 6)


def test_as_printed_cffl_gives_whoever_has_most_the_aggregate_alone() -> None:
    members = population_of([60, 10])
    # Hardly anything but the reputation of before counts, so that the first gets all there is.
    algorithm = Cffl(
        local_epochs=1, clip=100.0, schedule=None, own_part="printed", alpha=1e-3, threshold=0.0
    )
    state = algorithm.init(members, 0)
    state = replace(state, reputation=torch.tensor([0.9, 0.1], dtype=torch.float64))
    after, _ = algorithm.round(state, members)
    trained = members.train(state.train_states, epochs=1, seed=0, clock=0).vectors
    update = trained - state.train_states.vectors
    torch.testing.assert_close(
        after.train_states.vectors[0],
        state.train_states.vectors[0] + (6 * update[0] + update[1]) / 7,
    )


def test_samples_that_all_hold_count_once_in_a_score_on_all() -> None:
    members = population_of([20, 30, 40])
    vectors = members.start(0, common=False).vectors
    counts = members.scores_on_all(vectors).accuracy * (3 * 40)
    torch.testing.assert_close(counts, counts.round())
    held = blobs(7, 3)
    shared = replace(
        members, participants=tuple(replace(p, validation=held) for p in members.participants)
    )
    torch.testing.assert_close(
        shared.scores_on_all(vectors).accuracy, shared.scores_at(vectors, 0).accuracy
    )


def test_dssgd_hands_the_server_model_from_turn_to_turn() -> None:
    members = population_of([20, 20, 20])
    algorithm = Dssgd(upload_rate=1.0, clip=100.0, local_epochs=1, schedule=None)
    state = algorithm.init(members, 3)
    after, record = algorithm.round(state, members)
    # Nothing is held back, so the last one's model is the server's.
    assert (after.train_states.vectors == after.server).all(dim=1).sum() == 1
    assert record.numbers_sent == [members.stacked.length] * 3


def test_dssgd_uploads_no_more_than_its_share() -> None:
    members = population_of([20, 20])
    algorithm = Dssgd(upload_rate=0.1, clip=0.01, local_epochs=1)
    state = algorithm.init(members, 3)
    after, _ = algorithm.round(state, members)
    moved = after.server - state.server
    assert 0 < (moved != 0).sum() <= 2 * math.ceil(0.1 * members.stacked.length)
    assert moved.abs().max() <= 0.02 + 1e-12


@pytest.mark.parametrize("algorithm", [Rffl(warm_up=2), Cgsv()])
def test_reputations_stay_a_distribution(algorithm: Rffl | Cgsv) -> None:
    members = population_of([30, 20, 10], free_riders={"p2": FreeRide(scale=1.0)})
    state = algorithm.init(members, 0)
    for _ in range(6):
        state, record = algorithm.round(state, members)
        assert ((state.reputation >= 0) & (state.reputation <= 1)).all()
        assert math.isclose(float(state.reputation.sum()), 1.0)
        assert record.reputation[0][1] is not None


def test_cgsv_rewards_are_quotas_of_the_aggregate() -> None:
    members = population_of([30, 20, 10])
    algorithm = Cgsv(gamma=0.5, beta=1.0, schedule=None)
    state = algorithm.init(members, 0)
    after, _ = algorithm.round(state, members)
    trained = members.train(state.train_states, epochs=1, seed=0, clock=0).vectors
    update = trained - state.train_states.vectors
    update = 0.5 * update / update.norm(dim=1, keepdim=True)
    aggregate = update.mean(dim=0)
    phi = torch.cosine_similarity(update, aggregate[None], dim=1)
    r = 0.95 / 3 + 0.05 * phi
    r = r / r.sum()
    torch.testing.assert_close(after.reputation, r)
    quotas = torch.tanh(r) / torch.tanh(r).max()
    for n in range(3):
        expected = largest_of_each_layer(aggregate, float(quotas[n]), members.stacked.layers)
        torch.testing.assert_close(
            after.train_states.vectors[n] - state.train_states.vectors[n], expected
        )


def test_equal_participants_of_cgsv_with_a_large_beta_get_everything() -> None:
    members = population_of([30, 20, 10])
    state = Cgsv(beta=1e7).init(members, 0)
    after, _ = Cgsv(beta=1e7).round(state, members)
    moved = after.train_states.vectors - state.train_states.vectors
    torch.testing.assert_close(moved, moved[:1].expand_as(moved))


def test_rffl_clips_what_is_too_long_and_removes_who_opposes() -> None:
    members = population_of([30, 30, 30, 30], free_riders={"p3": FreeRide(scale=1.0)})
    algorithm = Rffl(gamma=0.1, warm_up=0, weights="reputation")
    records = list(run(algorithm, members, 1, 60))
    assert records[-1].present == [True, True, True, False]
    state = algorithm.init(members, 1)
    after, _ = algorithm.round(state, members)
    assert (after.train_states.vectors - state.train_states.vectors)[:3].norm(
        dim=1
    ).max() <= 0.1 + 1e-9


@pytest.mark.parametrize("algorithm", [Cffl(), Dssgd(), Rffl(), Cgsv()])
def test_equal_seeds_give_equal_records(algorithm: Any) -> None:
    first = list(run(algorithm, population_of([20, 10]), 7, 2))
    assert first == list(run(algorithm, population_of([20, 10]), 7, 2))
    assert first != list(run(algorithm, population_of([20, 10]), 8, 2))


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: Cffl(upload_rate=0.0), "upload_rate"),
        (lambda: Cffl(clip=0.0), "clip"),
        (lambda: Dssgd(upload_rate=1.1), "upload_rate"),
        (lambda: Rffl(gamma=-1.0), "gamma"),
        (lambda: Cgsv(beta=0.0), "beta"),
    ],
)
def test_settings_out_of_range_are_refused(make: Any, where: str) -> None:
    with pytest.raises(ConfigError, match=where):
        make()
