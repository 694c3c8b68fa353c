"""What free riders send, and that everybody else's values pass unchanged."""

import pytest
import torch

from securefair.errors import ConfigError
from securefair_lab.algorithms.free_riding import FreeRide

VALUES = torch.arange(12.0).reshape(3, 4)


def test_honest_participants_send_what_they_computed(make_networks):
    assert torch.equal(make_networks().sent(VALUES, 0, 0), VALUES)


@pytest.mark.parametrize(
    ("pretence", "unchanged", "expected"),
    [("unchanged", None, 0.0), ("unchanged", 7.0, 7.0), ("zeros", 7.0, 0.0)],
)
def test_a_free_rider_sends_what_it_did_not_compute(make_networks, pretence, unchanged, expected):
    population = make_networks(free_riders={"b": FreeRide(sends=pretence)})
    idle = None if unchanged is None else torch.full_like(VALUES, unchanged)
    sent = population.sent(VALUES, 0, 0, unchanged=idle)
    assert torch.equal(sent[[0, 2]], VALUES[[0, 2]])
    assert torch.equal(sent[1], torch.full((4,), expected))
    assert VALUES[1, 0] == 4.0  # the argument is left alone


def test_noise_is_bounded_and_depends_on_the_seed_and_the_round(make_networks):
    population = make_networks(free_riders={"a": FreeRide(scale=0.1), "b": FreeRide(scale=0.1)})
    values = torch.zeros(3, 1000)
    one, again, later, other = (
        population.sent(values, *at) for at in ((1, 0), (1, 0), (2, 0), (1, 5))
    )
    assert torch.equal(one, again)
    assert not torch.equal(one, later)
    assert not torch.equal(one, other)
    assert not torch.equal(one[0], one[1])
    assert 0.09 < one[0].abs().max() <= 0.1
    assert abs(one[0].mean()) < 0.01


def test_what_cannot_be_is_refused(make_networks):
    with pytest.raises(ConfigError, match="free_riders"):
        make_networks(free_riders={"z": FreeRide()})
    with pytest.raises(ConfigError, match="sends"):
        FreeRide(sends="nothing")
    with pytest.raises(ConfigError, match="scale"):
        FreeRide(scale=0.0)
