"""FedRep: what is trained when, what is averaged, and that heads stay at home."""

import pytest
import torch

from securefair.errors import ConfigError, ModelError
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.papers.algorithms import FedRep
from securefair_lab.papers.last_layer import head_mask


@pytest.fixture
def make_members(make_networks):
    return lambda **more: make_networks(**({"network": "mlp-32"} | more))


def test_a_round_trains_heads_then_bodies_and_averages_bodies(make_members):
    population = make_members()
    head = head_mask(population.stacked)
    algorithm = FedRep(head_epochs=1, body_epochs=1)
    state = algorithm.init(population, 0)
    first = state.train_states
    heads = torch.where(head, first.vectors - 0.1 * population.gradients(first), first.vectors)
    bodies = heads - 0.1 * population.gradients(first.moved(heads))
    shares = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    expected = torch.where(head, heads, shares @ bodies)
    state, record = algorithm.round(state, population)
    torch.testing.assert_close(state.train_states.vectors, expected)
    assert record.numbers_sent == [population.stacked.length - (32 * 2 + 2)] * 3


def test_bodies_are_common_and_heads_are_not(make_members):
    population = make_members()
    head = head_mask(population.stacked)
    state, _ = FedRep(head_epochs=2).round(FedRep().init(population, 0), population)
    vectors = state.train_states.vectors
    assert torch.equal(vectors[0, ~head], vectors[2, ~head])
    assert not torch.allclose(vectors[0, head], vectors[2, head])


def test_heads_never_leave(make_members, monkeypatch):
    """Everything that leaves a participant passes `sent`: no head may be in it."""
    population = make_members()
    head, left = head_mask(population.stacked), []

    def seen(self, values, *args, unchanged=None, **kwargs):
        left.extend([values, unchanged])
        return values

    monkeypatch.setattr(type(population), "sent", seen)
    state = FedRep(head_epochs=1).init(population, 0)
    for _ in range(2):
        state, _ = FedRep(head_epochs=1).round(state, population)
    assert len(left) == 4
    assert all(values.shape == (3, int((~head).sum())) for values in left)


def test_whose_head_others_have_cannot_be_seen_from_what_they_get(make_members):
    """Another head of one participant changes bodies only through that participant's own body."""
    silent = {"c": FreeRide(sends="unchanged")}
    population = make_members(free_riders=silent)
    head = head_mask(population.stacked)
    algorithm = FedRep(head_epochs=1)
    state = algorithm.init(population, 0)
    vectors = state.train_states.vectors.clone()
    vectors[2, head] += 1.0
    other = type(state)(state.seed, state.round, state.train_states.moved(vectors))
    one, two = (algorithm.round(s, population)[0].train_states.vectors for s in (state, other))
    assert torch.equal(one[:2], two[:2])


def test_a_network_without_a_body_is_refused(make_networks):
    with pytest.raises(ModelError, match="no body"):
        FedRep().init(make_networks(network="logistic"), 0)


@pytest.mark.parametrize("settings", [{"head_epochs": 0}, {"body_epochs": 0}])
def test_settings_out_of_range_are_named(settings):
    with pytest.raises(ConfigError) as error:
        FedRep(**settings)
    assert error.value.where == next(iter(settings))
