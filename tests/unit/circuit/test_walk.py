"""A model on paper: how long its steps take, whoever counts them."""

import pytest

from securefair.circuit import candidates
from securefair.circuit.network import affine_specs
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.walk import steps_seconds
from securefair.ckks.security import MAX_LOG_QP

HEAD = ExchangeSpec(features=32, hidden=8, samples=4096, classes=3, release="logits")


@pytest.mark.parametrize("way", [candidates.kept_whole, candidates.rescaled])
def test_a_plan_takes_the_seconds_for_which_it_was_chosen(way):
    found = list(way(HEAD, affine_specs(HEAD), 16384, MAX_LOG_QP[16384]))
    assert found
    for plan, seconds in found:
        assert steps_seconds(plan) == pytest.approx(seconds, rel=1e-12)


def test_larger_models_take_longer():
    small = plan_exchange(HEAD, coefficients=False)
    wide = plan_exchange(
        ExchangeSpec(features=64, hidden=8, samples=4096, classes=3, release="logits"),
        coefficients=False,
    )
    assert 0 < steps_seconds(small) < steps_seconds(wide)
