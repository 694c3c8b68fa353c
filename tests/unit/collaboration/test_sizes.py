"""No number of samples that an agreement admits needs longer messages than its limits allow."""

from functools import cache
from types import SimpleNamespace

import msgspec
import pytest

from securefair import ExchangeSpec, plan_exchange
from securefair.circuit.planner import ExchangePlan
from securefair.collaboration.sizes import longest_plans
from securefair.errors import PlanError
from support.agreements import agree

SLOTS = 4096
IN_SLOTS = {"packing": "alone", "parts": 1}
UPLOADS = ("feature_bytes", "evaluation_key_bytes", "public_key_bytes", "answer_bytes")


@cache
def plan_for(spec: ExchangeSpec, samples: int) -> ExchangePlan:
    return plan_exchange(msgspec.structs.replace(spec, samples=samples))


@pytest.mark.parametrize(
    ("features", "release", "blocks"),
    [(65, "projection", 4), (65, "logits", 6), (100, "logits", 4)],
)
def test_every_number_of_blocks_keeps_the_limits(features, release, blocks):
    most = blocks * SLOTS
    spec = ExchangeSpec(features=features, classes=10, hidden=64, samples=most, release=release)
    longest = longest_plans(most, lambda samples: plan_for(spec, samples), fewest=2)
    plans = [plan_for(spec, count * SLOTS) for count in range(1, blocks + 1)]
    for name in UPLOADS:
        most_bytes = max(getattr(plan, name) for plan in longest)
        found = max(getattr(plan, name) for plan in plans)
        # Of few samples, which travel otherwise, some parts are longer.
        assert found <= most_bytes if release == "logits" else found == most_bytes


@pytest.mark.slow
@pytest.mark.parametrize(("features", "most"), [(784, 14), (64, 30), (32, 62)])
def test_every_number_of_few_samples_keeps_the_limits(features, most):
    """As products of features, or with features beside each other: more bytes at times than more
    samples take."""
    spec = ExchangeSpec(features=features, classes=10, hidden=64, samples=most, release="logits")
    longest = longest_plans(most, lambda samples: plan_for(spec, samples))
    plans = [plan_for(spec, samples) for samples in range(1, most + 1)]
    assert len({(plan.schedule.packing, plan.schedule.parts) for plan in plans}) > 1
    for name in UPLOADS:
        expected = max(getattr(plan, name) for plan in plans)
        assert max(getattr(plan, name) for plan in longest) == expected


@pytest.mark.slow
def test_samples_that_fill_their_places_keep_the_limits():
    """Of 115 to 128 samples more bytes travel than of 129, and of 229 to 256 than of 257."""
    most = 266
    spec = ExchangeSpec(features=8, classes=1, hidden=0, samples=most, release="logits")
    longest = longest_plans(most, lambda samples: plan_for(spec, samples))
    plans = [plan_for(spec, samples) for samples in range(110, most + 1)]
    sizes = [plan.feature_bytes for plan in plans]
    assert sizes != sorted(sizes)
    for name in UPLOADS:
        expected = max(getattr(plan, name) for plan in plans)
        assert max(getattr(plan, name) for plan in longest) >= expected


def test_a_transfer_admits_the_question_of_an_odd_number_of_blocks():
    agreed = agree("transfer", ("a", "b", "c"), shape=60, samples=16384, fit="quadratic")
    asked = plan_exchange(agreed.spec_for(3 * SLOTS))
    size = asked.public_key_bytes + asked.evaluation_key_bytes + asked.feature_bytes
    assert size < agreed.limits.question


def test_an_impossible_half_ends_the_search_and_an_impossible_whole_is_told():
    def planned(samples):
        if samples < 10:
            raise PlanError("too few")
        schedule = SimpleNamespace(**IN_SLOTS)
        return SimpleNamespace(schedule=schedule, spec=SimpleNamespace(samples=samples))

    assert [plan.spec.samples for plan in longest_plans(45, planned)] == [*(45, 44, 40, 32, 22, 11)]
    with pytest.raises(PlanError):
        longest_plans(5, planned)
