"""pFedGraph: its graph against the definition, its pull against autograd, and its limits."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.errors import ConfigError
from securefair_lab.papers.algorithms import FedAvg, PFedGraph
from securefair_lab.papers.algorithms.pfedgraph import (
    collaboration,
    cosine_slope,
    cosines_of,
    onto_simplex,
)

numbers = st.floats(-5, 5, allow_nan=False)


def last(algorithm, population, rounds=3):
    state = algorithm.init(population, 0)
    for _ in range(rounds):
        state, record = algorithm.round(state, population)
    return state, record


def test_a_row_by_hand():
    cosines = torch.tensor([[1.0, 0.5, -1.0]], dtype=torch.float64)
    shares = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    # alpha = 1: p + cos / 2 = (0.7, 0.55, 0), of which the first two lose (1.25 - 1) / 2.
    expected = torch.tensor([[0.575, 0.425, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(collaboration(cosines, shares, 1.0), expected)


@given(st.lists(numbers, min_size=1, max_size=6), st.integers(0, 2**31))
@settings(deadline=None)
def test_projections_are_on_the_simplex_and_nearest(row, seed):
    rows = torch.tensor([row], dtype=torch.float64)
    found = onto_simplex(rows)
    assert found.min() >= 0
    assert found.sum().item() == pytest.approx(1.0)
    other = torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(len(row))))[None]
    assert (found - rows).norm() <= (other - rows).norm() + 1e-9


def test_a_huge_alpha_gives_shares_of_samples_and_a_tiny_one_the_own_model():
    cosines = torch.tensor([[1.0, 0.3], [0.3, 1.0]], dtype=torch.float64)
    shares = torch.tensor([0.25, 0.75], dtype=torch.float64)
    torch.testing.assert_close(collaboration(cosines, shares, 1e9), shares.repeat(2, 1))
    for alpha in (1e-3, 1e-17, 5e-324):
        assert collaboration(cosines, shares, alpha).tolist() == [[1, 0], [0, 1]]


def test_large_rows_are_projected_like_small_ones():
    rows = torch.tensor([[1e17, 0.0, -1e17], [1e17, 1e17, 0.0]], dtype=torch.float64)
    assert onto_simplex(rows).tolist() == [[1, 0, 0], [0.5, 0.5, 0]]


def test_cosines_by_hand():
    updates = torch.tensor([[2.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [0.0, 0.0]])
    half = 0.5**0.5
    expected = [[1, half, -1, 0], [half, 1, -half, 0], [-1, -half, 1, 0], [0, 0, 0, 0]]
    torch.testing.assert_close(cosines_of(updates), torch.tensor(expected, dtype=torch.float64))


def test_the_pull_is_the_gradient_of_the_cosine():
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(3, 7, generator=generator, dtype=torch.float64).requires_grad_()
    pull = torch.randn(3, 7, generator=generator, dtype=torch.float64)
    value = ((pull * theta).sum(dim=1) / theta.norm(dim=1)).sum()
    (expected,) = torch.autograd.grad(value, theta)
    torch.testing.assert_close(cosine_slope(theta.detach(), pull), expected)
    assert not cosine_slope(torch.zeros(1, 7), torch.ones(1, 7)).any()


def test_a_round_averages_along_the_graph(make_networks):
    population = make_networks()
    algorithm = PFedGraph(alpha=0.5, lam=0.3)
    state, _ = last(algorithm, population, 2)
    theta = state.train_states.vectors
    gradients = population.gradients(state.train_states) - 0.3 * cosine_slope(theta, state.pull)
    trained = theta - 0.1 * gradients
    cosines = cosines_of(trained - state.start)
    weights = collaboration(cosines, torch.tensor([0.2, 0.3, 0.5]).double(), 0.5)
    after, record = algorithm.round(state, population)
    torch.testing.assert_close(after.train_states.vectors, weights @ trained)
    torch.testing.assert_close(after.pull, weights @ (trained / trained.norm(dim=1, keepdim=True)))
    assert record.alignment[0][1] == pytest.approx(cosines[0, 1].item())
    assert record.answered[0] == [False, *(weights[0, 1:] > 0).tolist()]
    assert record.cross_entropy == pytest.approx(
        population.scores(weights @ trained, "train").cross_entropy.tolist()
    )
    _, own = PFedGraph(alpha=0.5, lam=0.3, scored="trained").round(state, population)
    losses = population.scores(trained, "train").cross_entropy.tolist()
    assert own.cross_entropy == pytest.approx(losses)
    assert own.cross_entropy != record.cross_entropy


def test_a_pull_tells_a_participant_two_others_models(make_networks):
    """What the docstring says that lambda discloses; without it there is nothing to solve."""
    population = make_networks()
    algorithm = PFedGraph(alpha=2.0, lam=0.3)
    state, _ = last(algorithm, population, 2)
    after, _ = algorithm.round(state, population)
    gradients = population.gradients(state.train_states) - 0.3 * cosine_slope(
        state.train_states.vectors, state.pull
    )
    models = state.train_states.vectors - 0.1 * gradients
    cosines = cosines_of(models - state.start)
    weights = collaboration(cosines, torch.tensor([0.2, 0.3, 0.5]).double(), 2.0)[0]
    norms = models.norm(dim=1)
    sums = torch.stack([weights, weights / norms])
    got = torch.stack([after.train_states.vectors[0], after.pull[0]]) - sums[:, :1] * models[0]
    torch.testing.assert_close(torch.linalg.solve(sums[:, 1:], got), models[1:])
    plain, _ = PFedGraph(alpha=2.0, lam=0.0).round(state, population)
    assert not plain.pull.any()


def test_a_huge_alpha_is_fedavg(make_momentum_networks):
    population = make_momentum_networks()
    state, record = last(PFedGraph(alpha=1e12, lam=0.0, local_epochs=2), population)
    expected, plain = last(FedAvg(local_epochs=2), population)
    torch.testing.assert_close(state.train_states.vectors, expected.train_states.vectors)
    assert record.accuracy == plain.accuracy


def test_the_pull_brings_models_together(make_networks, make_participant):
    people = tuple(make_participant(n, i, flipped=n == "b") for i, n in enumerate("ab"))

    def alike(lam):
        population = make_networks(participants=people)
        _, record = last(PFedGraph(alpha=2.0, lam=lam, local_epochs=3), population, 6)
        return record.alignment[0][1]

    assert alike(1.0) > alike(0.0) + 0.05


def test_whose_labels_mean_the_same_average(make_networks, make_participant):
    people = tuple(make_participant(n, i, flipped=n in "cd") for i, n in enumerate("abcd"))
    population = make_networks(participants=people)
    _, record = last(PFedGraph(alpha=0.8, local_epochs=5), population)
    same = [[i != j and i // 2 == j // 2 for j in range(4)] for i in range(4)]
    assert record.answered == same


@pytest.mark.parametrize(
    "settings", [{"alpha": 0.0}, {"lam": -1.0}, {"local_epochs": 0}, {"scored": "best"}]
)
def test_settings_out_of_range_are_named(settings):
    with pytest.raises(ConfigError) as error:
        PFedGraph(**settings)
    assert error.value.where == next(iter(settings))
