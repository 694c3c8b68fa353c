"""Per-FedAvg: its two gradients against autograd, and its limits."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from securefair.errors import ConfigError
from securefair_lab.papers.algorithms import FedAvg, PerFedAvg


def last(algorithm, population, rounds=3):
    state = algorithm.init(population, 0)
    for _ in range(rounds):
        state, record = algorithm.round(state, population)
    return state, record


def loss(population, n, vector):
    own = population.participants[n].train
    weights, bias = vector[: 2 * 4].view(2, 4), vector[2 * 4 :]
    logits = torch.from_numpy(own.features) @ weights.T + bias
    return cross_entropy(logits, torch.from_numpy(own.labels))


def meta_gradient(population, n, vector, alpha, second_order):
    """Of f(w - alpha grad f(w)), the Hessian by automatic differentiation."""
    w = vector.clone().requires_grad_()
    (inner,) = torch.autograd.grad(loss(population, n, w), w, create_graph=second_order)
    ahead = w - alpha * (inner if second_order else inner.detach())
    return torch.autograd.grad(loss(population, n, ahead), w)[0]


@pytest.mark.parametrize("variant", ["first_order", "hessian_free"])
def test_a_round_is_a_step_along_the_mean_meta_gradient(make_networks, variant):
    population = make_networks()
    algorithm = PerFedAvg(alpha=0.8, variant=variant)
    state, _ = last(algorithm, population, 2)
    w = state.train_states.vectors[0]
    exact = [meta_gradient(population, n, w, 0.8, variant == "hessian_free") for n in range(3)]
    expected = w - 0.1 * torch.tensor([0.2, 0.3, 0.5]).double() @ torch.stack(exact)
    after, _ = algorithm.round(state, population)
    torch.testing.assert_close(after.train_states.vectors[0], expected, rtol=1e-6, atol=1e-8)


def test_the_variants_differ_by_the_hessian(make_networks):
    states = [
        last(PerFedAvg(alpha=0.8, variant=v), make_networks(), 1)[0]
        for v in ("first_order", "hessian_free")
    ]
    apart = (states[0].train_states.vectors - states[1].train_states.vectors).norm()
    assert apart > 1e-3


@pytest.mark.parametrize("precision", ["full", "bfloat16"])
def test_the_hessian_is_no_noise_in_single_precision(make_networks, precision):
    def hessian_part(**settings):
        population = make_networks(network="mlp-32", **settings)
        first, free = (
            last(PerFedAvg(alpha=0.8, variant=v), population, 1)[0].train_states.vectors[0].double()
            for v in ("first_order", "hessian_free")
        )
        return free - first

    exact = hessian_part()
    found = hessian_part(double=False, precision=precision)
    assert (found - exact).norm() < 0.03 * exact.norm()


def test_records_score_the_model_after_one_step_on_own_samples(make_networks):
    population = make_networks()
    state, record = last(PerFedAvg(alpha=0.5), population)
    own = state.train_states.vectors - 0.5 * population.gradients(state.train_states)
    assert record.cross_entropy == population.scores(own, "train").cross_entropy.tolist()
    assert (
        record.cross_entropy
        != population.scores(state.train_states.vectors, "train").cross_entropy.tolist()
    )


def test_more_epochs_adapt_further(make_networks):
    population = make_networks(batch_size=8)
    once, longer = (last(PerFedAvg(alpha=0.05, adaptation_epochs=n), population) for n in (0, 10))
    assert torch.equal(once[0].train_states.vectors, longer[0].train_states.vectors)
    pairs = zip(longer[1].cross_entropy, once[1].cross_entropy, strict=True)
    assert all(mine < other for mine, other in pairs)


@pytest.mark.parametrize("variant", ["first_order", "hessian_free"])
def test_without_adaptation_it_is_fedavg(make_momentum_networks, variant):
    population = make_momentum_networks()
    state, record = last(PerFedAvg(alpha=0.0, variant=variant, local_epochs=2), population)
    expected, plain = last(FedAvg(local_epochs=2), population)
    torch.testing.assert_close(state.train_states.vectors, expected.train_states.vectors)
    assert record.accuracy == plain.accuracy


@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": -1.0},
        {"variant": "second_order"},
        {"delta": 0.0},
        {"local_epochs": 0},
        {"adaptation_epochs": -1},
    ],
)
def test_settings_out_of_range_are_named(settings):
    with pytest.raises(ConfigError) as error:
        PerFedAvg(**settings)
    assert error.value.where == next(iter(settings))
