"""The demonstration's plans cost what was recorded, and no more than before they were flooded up
to their precision, and samples could travel as monomials: parameters, bytes, bits, precision."""

import json
from pathlib import Path

import msgspec
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec

RECORDED = json.loads((Path(__file__).parents[2] / "vectors" / "plans.json").read_text())

SCHEDULED = (
    "feature_scale",
    "factor_scale",
    "product_limbs",
    "relinearize",
    "flooding_bits",
    "flooding_limbs",
    "answer_limbs",
)
PLANNED = (
    "blocks",
    "key_bytes",
    "feature_bytes",
    "basis_bytes",
    "query_bytes",
    "answer_bytes",
    "numbers",
    "number_bits",
)


def _words(case):
    spec = case["spec"]
    words = (spec["release"], spec["basis"], spec["hidden"], spec["samples"])
    return "-".join(map(str, (*words, *(["monomials"] if "monomials" in case else []))))


@pytest.mark.parametrize("case", RECORDED, ids=_words)
def test_a_plan_costs_what_was_recorded(case):
    spec = msgspec.convert(case["spec"], ExchangeSpec)
    plan = plan_exchange(spec, coefficients=case.get("monomials", False))
    assert (plan.schedule.packing == "monomials") == case.get("monomials", False)
    params = plan.params
    assert params.ring_degree == case["ring_degree"]
    assert [*params.primes, params.special_prime] == [*case["primes"], case["special_prime"]]
    for name in SCHEDULED:
        assert getattr(plan.schedule, name) == case[name], name
    for name in PLANNED:
        assert getattr(plan, name) == case[name], name
    assert plan.error_bound == pytest.approx(case["error_bound"], rel=1e-12)
    assert plan.relative_error == pytest.approx(case["relative_error"], rel=1e-12)
    assert plan.relative_error <= plan.spec.precision
    for name, most in case["former"].items():
        assert getattr(plan, name) <= most, name
