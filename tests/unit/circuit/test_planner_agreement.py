"""Both sides have one plan: digests, and schedules that somebody else has found."""

import subprocess
import sys
from dataclasses import replace

import msgspec
import pytest

from securefair.circuit import planner
from securefair.circuit.evaluation import evaluate
from securefair.circuit.flooding import most_flooding
from securefair.circuit.planner import plan_exchange, verified_plan
from securefair.circuit.schedule import LayerSteps, RescaleStep
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.ckks.parameters import CkksParameters
from securefair.errors import PlanError

BASE = ExchangeSpec(features=5, classes=3, samples=300, hidden=4, q=16)
VARIANTS = {
    "features": 6,
    "classes": 4,
    "samples": 301,
    "hidden": 5,
    "release": "logits",
    "basis": "student",
    "q": 17,
    "answers": 1,
    "flooding_bits": 31,
    "precision": 2.0**-11,
    "weight_bits": 11,
    "bounds": HeadBounds(logit=31.0),
}


def test_the_digest_changes_with_every_field_of_the_spec():
    # Networks take other values of other fields: test_network_planner.
    assert set(VARIANTS) == set(ExchangeSpec.__struct_fields__) - {"network"}
    others = [msgspec.structs.replace(BASE, **{name: value}) for name, value in VARIANTS.items()]
    others += [
        msgspec.structs.replace(BASE, bounds=msgspec.structs.replace(HeadBounds(), **{name: 1.25}))
        for name in HeadBounds.__struct_fields__
    ]
    digests = [plan_exchange(spec).digest for spec in (BASE, *others)]
    assert len(set(digests)) == len(digests)
    assert {len(digest) for digest in digests} == {32}


def test_the_digest_changes_with_the_schedule():
    plan = plan_exchange(BASE)
    other = msgspec.structs.replace(plan.schedule, answer_limbs=3)
    moved = planner.ExchangePlan(
        plan.spec,
        other,
        plan.params,
        plan.specs,
        plan.blocks,
        plan.features,
        plan.factors,
        plan.answer,
        plan.error_bound,
        plan.relative_error,
    )
    assert moved.digest != plan.digest


def test_the_digest_changes_with_the_primes():
    plan = plan_exchange(BASE)
    spec = plan.params.spec
    first, *others = spec.limb_bits
    less = msgspec.structs.replace(spec, limb_bits=(first - 1, *others))
    assert replace(plan, params=CkksParameters(less)).digest != plan.digest
    assert replace(plan, params=CkksParameters(spec)).digest == plan.digest


def test_both_sides_compute_the_same_plan():
    """In another process, with other hashes, and after the spec travelled as bytes."""
    code = (
        "import sys, msgspec;"
        "from securefair.circuit.planner import plan_exchange;"
        "from securefair.circuit.spec import ExchangeSpec;"
        "spec = msgspec.msgpack.decode(bytes.fromhex(sys.argv[1]), type=ExchangeSpec);"
        "print(plan_exchange(spec).digest.hex())"
    )
    sent = msgspec.msgpack.encode(BASE).hex()
    done = subprocess.run(
        [sys.executable, "-c", code, sent], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == plan_exchange(BASE).digest.hex()


def test_a_plan_depends_on_the_spec_alone():
    first = planner._search(BASE)
    second = planner._search(BASE)
    assert first is not second
    assert first.schedule == second.schedule
    assert first.answer == second.answer


VERIFIED = [
    {},
    {"hidden": 0},
    {"release": "logits"},
    {"release": "loss"},
    {"release": "class_sums", "samples": 20},
    {"basis": "student", "q": 16},
    {"precision": 2.0**-5},
    {"samples": 20_000},
]


@pytest.mark.parametrize("changes", VERIFIED, ids=str)
def test_what_the_search_finds_is_verified_to_be_the_same_plan(changes):
    plan = plan_exchange(ExchangeSpec(**{"features": 6, "classes": 2, "samples": 200, **changes}))
    again = verified_plan(plan.spec, plan.schedule)
    assert again.digest == plan.digest
    assert again.error_bound == plan.error_bound
    assert again.bits == plan.bits == plan.numbers * plan.number_bits


def changed(schedule, **changes):
    return msgspec.structs.replace(schedule, **changes)


def test_schedules_of_a_strangers_making_are_refused():
    plan = plan_exchange(ExchangeSpec(features=6, classes=2, samples=200))
    good = plan.schedule
    ckks = good.ckks
    step = RescaleStep(relinearize=True, limbs=1)
    bad = [
        changed(good, feature_scale=float("nan")),
        changed(good, feature_scale=-1.0),
        changed(good, feature_scale=16.0),  # too coarse for the precision
        changed(good, factor_scale=10**9),
        changed(good, flooding_bits=good.flooding_bits + 1),  # too coarse again
        changed(good, flooding_bits=good.flooding_bits - 1),  # tells more than was asked for
        changed(good, flooding_bits=29),
        changed(good, flooding_bits=10**9),
        changed(good, answer_limbs=0),
        changed(good, answer_limbs=10**9),
        changed(good, flooding_limbs=good.answer_limbs - 1),
        changed(good, product_limbs=10**6),
        changed(good, stages=(LayerSteps(linear=step, square=None),)),
        changed(good, ckks=msgspec.structs.replace(ckks, ring_degree=12345)),
        changed(good, ckks=msgspec.structs.replace(ckks, ring_degree=1 << 40)),
        changed(good, ckks=msgspec.structs.replace(ckks, limb_bits=())),
        changed(good, ckks=msgspec.structs.replace(ckks, limb_bits=(30,) * 10**5)),
        changed(good, ckks=msgspec.structs.replace(ckks, limb_bits=(31,) * 8)),
        changed(good, ckks=msgspec.structs.replace(ckks, limb_bits=(3, 30, 30))),
        changed(good, ckks=msgspec.structs.replace(ckks, special_bits=-5)),
    ]
    for schedule in bad:
        with pytest.raises(PlanError):
            verified_plan(plan.spec, schedule)


def test_a_plan_is_certified_once_and_a_refusal_each_time(monkeypatch):
    evaluated = []
    monkeypatch.setattr(
        planner, "evaluate", lambda *given: evaluated.append(given) or evaluate(*given)
    )
    plan = plan_exchange(ExchangeSpec(features=6, classes=2, samples=208))
    evaluated.clear()
    assert verified_plan(plan.spec, plan.schedule).digest == plan.digest
    first = len(evaluated)
    assert verified_plan(plan.spec, plan.schedule).digest == plan.digest
    assert len(evaluated) == first > 0
    more = changed(plan.schedule, flooding_bits=plan.schedule.flooding_bits + 20)
    for _ in range(2):
        with pytest.raises(PlanError, match="does not grant"):
            verified_plan(plan.spec, more)
    assert len(evaluated) == first + 2


def test_primes_that_kernels_are_not_exact_for_are_refused(monkeypatch):
    plan = plan_exchange(ExchangeSpec(features=6, classes=2, samples=207))  # not granted before
    assert plan.params.transform_exactly
    monkeypatch.setattr(CkksParameters, "transform_exactly", property(lambda _: False))
    with pytest.raises(PlanError, match="does not grant"):
        verified_plan(plan.spec, plan.schedule)


def test_a_number_may_not_carry_far_more_than_the_precision_needs():
    fine = ExchangeSpec(features=6, classes=2, samples=200, hidden=0, precision=2.0**-30)
    coarse = msgspec.structs.replace(fine, precision=2.0**-2)
    schedule = plan_exchange(fine).schedule
    with pytest.raises(PlanError, match="floods less than the precision allows"):
        verified_plan(coarse, schedule)
    # A scale far below the modulus leaves room above the value, whatever the flooding is.
    spec = msgspec.structs.replace(fine, precision=2.0**-10)
    low = changed(schedule, feature_scale=55.0, flooding_limbs=3, answer_limbs=2)
    most = most_flooding(30, lambda bits: grants(spec, changed(low, flooding_bits=bits)))
    with pytest.raises(PlanError, match="more than the precision needs"):
        verified_plan(spec, changed(low, flooding_bits=most))


def grants(spec, schedule):
    plan = evaluate(spec, schedule)
    return plan is not None and plan.floods_to_precision
