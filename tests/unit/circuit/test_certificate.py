"""Plans hold by arithmetic that shares nothing with the planner, and bent plans do not."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.circuit.certificate import certificate
from securefair.circuit.exact import power_above, root_above
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import MAX_WEIGHT_BITS, ExchangeSpec, HeadBounds
from securefair.errors import PlanError
from support.examples import examples

RECORDED = json.loads((Path(__file__).parents[2] / "vectors" / "plans.json").read_text())
SPEC = ExchangeSpec(features=6, classes=2, samples=200, hidden=4, q=8)
HIDING, ERROR = "flooding hides the noise", "the promised error covers it"


def failing(plan):
    return [fact.name for fact in certificate(plan) if not fact.holds]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: str(case["ring_degree"]))
def test_every_recorded_plan_is_certified(case):
    plan = plan_exchange(msgspec.convert(case["spec"], ExchangeSpec))
    assert failing(plan) == []
    assert len(certificate(plan)) == 6


COARSE = ExchangeSpec(
    features=6, classes=10, samples=500, hidden=8, weight_bits=2, bounds=HeadBounds(row_norm=9.0)
)
"""Its integers count multiples of 4: the scale of the first map is 2^-2."""

SWITCHED = ExchangeSpec(
    features=200,
    classes=100,
    samples=1000,
    hidden=64,
    release="logits",
    flooding_bits=0,
    answers=40,
)
"""Nearly all of its error comes from switched keys, hardly any from flooding."""


@pytest.mark.parametrize("spec", [COARSE, SWITCHED])
def test_coarse_weights_and_little_flooding_are_certified(spec):
    assert failing(plan_exchange(spec)) == []


SHAPES = st.builds(
    ExchangeSpec,
    features=st.sampled_from([1, 6, 64, 512]),
    classes=st.sampled_from([1, 3, 100]),
    samples=st.sampled_from([2, 100, 5000]),
    hidden=st.sampled_from([0, 1, 8, 64]),
    release=st.sampled_from(["loss", "class_sums", "projection", "logits"]),
    basis=st.sampled_from(["public", "student"]),
    q=st.just(1),
    flooding_bits=st.sampled_from([0, 1, 20, 60]),
    precision=st.sampled_from([2.0**-30, 2.0**-10, 0.5]),
    weight_bits=st.sampled_from([2, 7, MAX_WEIGHT_BITS]),
    bounds=st.builds(
        HeadBounds,
        **dict.fromkeys(
            HeadBounds.__struct_fields__, st.sampled_from([1 / 256, 1.0, 16.0, 1000.0])
        ),
    ),
    answers=st.sampled_from([1, 40, 10**6]),
)


FINE = ExchangeSpec(
    features=64,
    classes=3,
    samples=100,
    hidden=8,
    q=1,
    flooding_bits=20,
    weight_bits=MAX_WEIGHT_BITS,
)
NARROW = HeadBounds(**dict.fromkeys(HeadBounds.__struct_fields__, 1 / 256))


@pytest.mark.parametrize("release", ["loss", "class_sums", "projection", "logits"])
@pytest.mark.parametrize("hidden", [0, 8])
@pytest.mark.parametrize("bounds", [FINE.bounds, NARROW], ids=["usual", "narrow"])
def test_weights_of_most_bits_are_granted_and_certified(release, hidden, bounds):
    """The property below may refuse what it draws; none of these is refused."""
    spec = msgspec.structs.replace(FINE, release=release, hidden=hidden, bounds=bounds)
    assert failing(plan_exchange(spec)) == []


@pytest.mark.slow
@given(SHAPES)
@settings(max_examples=examples(10), deadline=None)
def test_heads_within_any_bounds_are_certified(spec):
    try:
        plan = plan_exchange(spec)
    except PlanError:
        return
    assert failing(plan) == []


@pytest.mark.parametrize("squares", [1, 2, 3])
@pytest.mark.parametrize("release", ["logits", "projection"])
def test_networks_are_certified(make_network, squares, release):
    network, _ = make_network(squares=squares, release=release)
    assert failing(plan_exchange(network.spec)) == []


def test_the_certificate_agrees_with_the_planner_on_the_error():
    """Two derivations of one number: their margin is a rounding error."""
    facts = {fact.name: fact for fact in certificate(plan_exchange(SPEC))}
    assert 0 <= facts[ERROR].margin_bits < 2.0**-20


def test_a_plan_that_switches_keys_elsewhere_is_not_certified(monkeypatch):
    plan = plan_exchange(msgspec.structs.replace(SPEC, release="loss"))
    assert failing(plan) == []
    assert 0 < plan.relinearization_limbs < plan.params.limbs
    monkeypatch.setattr("securefair.circuit.network.switching_limbs", lambda x, _: x.limbs)
    assert "keys are as long as their switches" in failing(replace(plan))


def bent(plan, **released):
    return replace(plan, answer=msgspec.structs.replace(plan.answer, **released))


def test_plans_that_were_bent_are_not_certified():
    plan = plan_exchange(SPEC)
    (answer,) = plan.released
    assert failing(bent(plan, flood=answer.flood / 2**8)) == [HIDING]
    assert ERROR in failing(bent(plan, flood=answer.flood * 4))
    assert failing(replace(plan, error_bound=plan.error_bound * 0.999)) == [ERROR]
    scale = plan.schedule.feature_scale + 2
    wide = replace(plan, schedule=msgspec.structs.replace(plan.schedule, feature_scale=scale))
    assert "fits the modulus" in failing(wide)
    many = replace(plan, spec=msgspec.structs.replace(plan.spec, q=4000))
    assert "masks outlast a dishonest key" in failing(many)
    heavy = replace(plan, specs=tuple(replace(s, l1=s.l1 * 2**40) for s in plan.specs))
    assert HIDING in failing(heavy)


@given(st.fractions(min_value=0, max_value=10**12))
def test_roots_are_rounded_upwards(x):
    root = root_above(x)
    assert root**2 >= x
    assert root**2 <= x * (1 + Fraction(1, 1 << 40)) + Fraction(1, 1 << 100)


@given(st.floats(-200, 200))
def test_powers_are_rounded_upwards(exponent):
    power = power_above(exponent)
    assert float(power) == pytest.approx(2.0**exponent, rel=1e-11)
    assert float(power) >= 2.0**exponent
