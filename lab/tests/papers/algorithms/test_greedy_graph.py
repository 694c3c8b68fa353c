"""GGC and BGGC: hand-computed choices, budgets, and Theorem 1."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from securefair_lab.papers.algorithms.greedy_graph import Search, bggc, ggc


def towards(target):
    """Rewards of a loss that everybody can compute: minus the squared distance to a target."""
    return lambda models: tuple((-((models - target) ** 2).sum(dim=1)).tolist())


def drive(walk, rewards, seen=None):
    try:
        models = next(walk)
        while True:
            if seen is not None:
                seen.append(models)
            models = walk.send(rewards(models))
    except StopIteration as over:
        return over.value


def search(order, *, coins=None, sizes=None, count=None, **more):
    count = count or 1 + len(order)
    return Search(
        own=0,
        order=order,
        coins=coins or [0.5] * len(order),
        sizes=torch.ones(count, dtype=torch.float64) if sizes is None else torch.tensor(sizes),
        **more,
    )


def column(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)[:, None]


def test_the_listing_by_hand():
    # own model at 0, the target at 1; peers at 2, 10 and -4
    models, rewards, seen = column(0.0, 2.0, 10.0, -4.0), towards(1.0), []
    chosen = drive(ggc(search([1, 2, 3]), models[0], models), rewards, seen)
    flat = [pair.flatten().tolist() for pair in seen]
    assert flat[0] == [0.0, 2.0]  # X = {0}: 0, Y = {0, 1, 2, 3}: 8 / 4
    assert flat[1] == [1.0, 2.0]  # X + 1: 1; Y - 1: 6 / 3. Adding gains 1, removing nothing: add.
    assert flat[2] == [4.0, pytest.approx(-2 / 3)]  # adding 2 loses, removing it loses: 0/0, add
    # X = {0, 1, 2} at 4, Y at 2: adding 3 gains 9 - 1, removing it loses: add
    assert flat[3] == [2.0, 4.0]
    assert chosen == {1, 2, 3}
    # From the other end: adding 3 loses (-2 for 0), and removing it loses (2 -> 4): 0/0, add.
    # Then 1: X = {0, 3} at -2 -> -2/3 gains. Then 2: adding gains (2), removing loses: add.
    assert drive(ggc(search([3, 1, 2]), models[0], models), rewards) == {1, 2, 3}


def test_who_only_harms_is_removed():
    models, rewards = column(0.0, 9.0), towards(0.0)
    # adding it loses, removing it from Y gains: it goes for certain, whatever the coin
    for coin in (0.0, 0.99):
        assert drive(ggc(search([1], coins=[coin]), models[0], models), rewards) == set()


def test_the_coin_decides_where_adding_and_removing_both_gain():
    # Target 1.9, own model at 0, two peers at 4: X + 1 is at 2, Y at 8/3, Y - 1 at 2.
    both, rewards = column(0.0, 4.0, 4.0), towards(1.9)
    a = 1.9**2 - 0.1**2
    b = (8 / 3 - 1.9) ** 2 - 0.1**2
    edge = a / (a + b)
    for coin, expected in ((edge - 1e-9, 1), (edge + 1e-9, 2)):
        first = search([1, 2], coins=[coin, 0.0], budget=1)
        assert drive(ggc(first, both[0], both), rewards) == {expected}


def test_who_neither_helps_nor_harms_is_added():
    same = column(1.0, 1.0, 1.0)
    assert drive(ggc(search([2, 1]), same[0], same), towards(3.0)) == {1, 2}


def test_gains_below_the_resolution_are_none():
    models = column(0.0, -1e-9)  # adding harms and removing gains, by a rounding error
    exact, tolerant = (
        drive(ggc(search([1], resolution=r), models[0], models), towards(1.0)) for r in (0.0, 1e-6)
    )
    assert (exact, tolerant) == (set(), {1})


def test_averages_are_weighted_by_samples():
    models, seen = column(0.0, 4.0), []
    drive(ggc(search([1], sizes=[30.0, 10.0]), models[0], models), towards(0.0), seen)
    assert seen[0].flatten().tolist() == [0.0, 1.0]


def test_the_budget_counts_peers_only_unless_told_otherwise():
    same = column(*[1.0] * 6)
    order = [5, 3, 1, 2, 4]
    for budget in (1, 2, 4):
        chosen = drive(ggc(search(order, budget=budget), same[0], same), towards(0.0))
        assert chosen == set(order[:budget])
    published = search(order, budget=3, count_self=True)
    assert drive(ggc(published, same[0], same), towards(0.0)) == {5, 3}


@st.composite
def problems(draw):
    count = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = torch.from_numpy(rng.integers(1, 50, count).astype(np.float64))
    models = torch.from_numpy(rng.normal(size=(count, 3)))
    target = torch.from_numpy(rng.normal(size=3))
    order = rng.permutation(np.arange(1, count)).tolist()
    budget = draw(st.none() | st.integers(1, 10))
    made = Search(
        own=0,
        order=order,
        coins=rng.random(len(order)).tolist(),
        sizes=sizes,
        budget=budget,
        count_self=draw(st.booleans()),
        resolution=1e-12,
    )
    return made, models, target


@given(problems())
def test_theorem_1_batches_choose_what_all_models_at_once_choose(problem):
    made, models, target = problem
    batches = []

    def receive(senders):
        batches.append(list(senders))
        return models[list(senders)]

    whole = drive(ggc(made, models[0], models), towards(target))
    assert drive(bggc(made, models[0], receive), towards(target)) == whole
    assert whole <= set(made.order)
    if made.budget is not None:
        assert len(whole) <= made.budget
        assert all(len(batch) <= made.budget for batch in batches)
    downloads = [sender for batch in batches for sender in batch]
    fits = made.budget is None or len(made.order) <= made.budget
    assert sorted(set(downloads)) == sorted(made.order)
    assert max((downloads.count(sender) for sender in made.order), default=1) <= (1 if fits else 2)


def test_nobody_to_choose_from():
    own = column(1.0)
    assert drive(ggc(search([]), own[0], own), towards(0.0)) == set()
    assert drive(bggc(search([]), own[0], lambda _: own), towards(0.0)) == set()
