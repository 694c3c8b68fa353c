"""Costs are lines through samples and features, and small batches take a small ring."""

from unittest.mock import patch

import pytest

from securefair.circuit import planner
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.security import MAX_LOG_QP
from securefair.profiling.cost import cost, total
from securefair.profiling.trace import trace


def work(plan):
    return total(cost(step) for step in trace(plan))


def plan_at(spec, ring_degree):
    only = {ring_degree: MAX_LOG_QP[ring_degree]}
    with patch.dict(MAX_LOG_QP, only, clear=True):
        return planner._search(spec, coefficients=False)


def head(**changes):
    return ExchangeSpec(
        **({"features": 64, "hidden": 8, "classes": 3, "release": "logits"} | changes)
    )


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [3, 5])
def test_work_and_bytes_are_proportional_to_blocks(blocks):
    one = plan_exchange(head(samples=4096))
    many = plan_exchange(head(samples=blocks * 4096))
    assert many.params == one.params
    assert work(many) == total([work(one)] * blocks)
    assert many.feature_bytes == blocks * one.feature_bytes
    assert many.answer_bytes == blocks * one.answer_bytes


def test_only_the_first_layer_and_the_upload_grow_with_the_features():
    plans = [plan_exchange(head(samples=4096, features=d)) for d in (64, 128, 192)]
    assert len({plan.params for plan in plans}) == 1
    few, more, most = (work(plan) for plan in plans)
    assert most.multiply_adds - more.multiply_adds == more.multiply_adds - few.multiply_adds > 0
    assert most.transforms == few.transforms
    assert plans[2].feature_bytes == 3 * plans[0].feature_bytes
    assert plans[2].answer_bytes == plans[0].answer_bytes


@pytest.mark.parametrize("samples", [2, 500, 2048, 2049, 6000])
@pytest.mark.parametrize(("hidden", "smallest"), [(0, 4096), (8, 8192)])
def test_the_smallest_ring_that_holds_the_circuit_is_chosen_and_never_dearer(
    samples, hidden, smallest
):
    spec = head(samples=samples, hidden=hidden)
    chosen = plan_exchange(spec, coefficients=False)
    assert chosen.params.ring_degree == smallest
    larger = plan_at(spec, 2 * smallest)
    assert chosen.feature_bytes <= 1.001 * larger.feature_bytes  # a seed for each ciphertext
    assert work(chosen).multiply_adds <= work(larger).multiply_adds
    assert work(chosen).bytes <= work(larger).bytes
