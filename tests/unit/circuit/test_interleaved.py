"""Features beside each other: planned for logits of some samples of wide heads, and only there."""

from dataclasses import replace as changed
from math import log2

import msgspec
import pytest

from securefair.circuit import weighing
from securefair.circuit.admission import MAX_HELD_BYTES
from securefair.circuit.certificate import certificate
from securefair.circuit.evaluation import evaluate
from securefair.circuit.packings.register import packing_of
from securefair.circuit.planner import plan_exchange, verified_plan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends.wire import switching_key_bytes
from securefair.ckks.interleaving import element
from securefair.ckks.masking import masks_hold
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import PlanError
from support.beside import plan_beside

WIDE = ExchangeSpec(features=784, classes=10, samples=16, hidden=64, release="logits")
HIDING, ERROR = "flooding hides the noise", "the promised error covers it"
OTHERS = {
    "public": {"release": "projection", "q": 8},
    "student": {"release": "projection", "basis": "student", "q": 8},
    "loss": {"release": "loss"},
    "class_sums": {"release": "class_sums"},
}
SOME = (10, 16, 64, 65, 128, 256, 257, 512, 513, 1000)
"""Samples for which features travel beside each other."""


def spec_of(**changes):
    return msgspec.structs.replace(WIDE, **changes)


def with_schedule(schedule, **changes):
    return msgspec.structs.replace(schedule, **changes)


def failing(plan):
    return [fact.name for fact in certificate(plan) if not fact.holds]


@pytest.mark.parametrize("samples", SOME)
def test_wide_heads_of_some_samples_travel_beside_each_other(samples):
    plan = plan_exchange(spec_of(samples=samples))
    parts, n = plan.schedule.parts, plan.params.ring_degree
    assert n == 8192
    assert 1 < parts <= 64
    assert parts > 8 or samples > 256  # no fewer than leave few numbers
    assert plan.schedule.packing == "beside"
    assert plan.features.count == -(-784 // parts)
    assert plan.features.interleaved
    assert plan.coefficients == n // parts
    assert samples <= plan.places == n // (2 * parts)
    assert plan.blocks == 1
    assert plan.params.log_qp <= MAX_LOG_QP[n]


@pytest.mark.parametrize("samples", [1, 3, 5000])
def test_fewer_and_more_samples_travel_otherwise(samples):
    plan = plan_exchange(spec_of(samples=samples))
    assert plan.schedule.parts == 1
    assert (plan.schedule.packing == "monomials") == (samples < 4)


@pytest.mark.parametrize("release", OTHERS)
def test_other_releases_do_not_travel_so(release):
    spec = spec_of(**OTHERS[release], features=64, hidden=8, classes=3)
    schedule = plan_exchange(spec, coefficients=False).schedule
    assert schedule.parts == 1
    with pytest.raises(PlanError, match="does not fit the spec"):
        verified_plan(spec, with_schedule(schedule, packing="beside", parts=8))


def test_linear_heads_do_not_travel_so():
    spec = spec_of(hidden=0)
    assert plan_exchange(spec).schedule.parts == 1
    schedule = plan_exchange(spec, coefficients=False).schedule
    with pytest.raises(PlanError, match="does not fit the spec"):
        verified_plan(spec, with_schedule(schedule, packing="beside", parts=8))


def test_networks_do_not_travel_so(make_network):
    network, _ = make_network(squares=1, release="logits")
    schedule = plan_exchange(network.spec).schedule
    assert schedule.parts == 1
    with pytest.raises(PlanError, match="does not fit the spec"):
        verified_plan(network.spec, with_schedule(schedule, packing="beside", parts=8))


@pytest.mark.parametrize("samples", [10, 100, 1000])
def test_backends_that_pack_no_coefficients_get_other_plans(samples):
    plan = plan_exchange(spec_of(samples=samples), coefficients=False)
    assert plan.schedule.parts == 1
    assert plan.features.packing != "coefficients"


@pytest.mark.parametrize("features", [1, 65, 784])
@pytest.mark.parametrize("parts", [2, 4, 8, 16, 32, 64])
def test_plans_are_certified_and_verified(features, parts):
    spec = spec_of(features=features, samples=4096 // parts)
    plan = plan_beside(spec, parts)
    assert failing(plan) == []
    facts = {fact.name: fact for fact in certificate(plan)}
    assert 0 <= facts[ERROR].margin_bits < 2.0**-15
    again = verified_plan(spec, plan.schedule)
    assert again.digest == plan.digest
    assert (again.error_bound, again.numbers) == (plan.error_bound, plan.numbers)
    assert plan.numbers in (10 * 8192 // parts, 10 * 8192)


@pytest.mark.parametrize("hidden", [1, 4, 63, 65, 130])
@pytest.mark.parametrize("classes", [2, 10])
def test_other_numbers_of_units_and_classes_are_certified(hidden, classes):
    plan = plan_beside(spec_of(hidden=hidden, classes=classes), 64)
    assert failing(plan) == []


@pytest.mark.parametrize("parts", [2, 4, 8, 16, 32, 64])
def test_what_is_granted_of_fewer_parts_is_certified(parts):
    """A stranger may propose them: hidden units at the same scale then take less noise."""
    plan = plan_beside(spec_of(samples=64), 64)
    scale = plan.schedule.feature_scale + log2(64 / parts)
    schedule = with_schedule(plan.schedule, parts=parts, feature_scale=scale)
    found = weighing.flooded(evaluate(plan.spec, schedule))
    assert verified_plan(plan.spec, found.schedule).digest == found.digest
    assert failing(found) == []
    assert found.features.count == -(-784 // parts)
    assert found.galois_element == element(8192, parts)
    assert found.schedule.flooding_bits >= plan.schedule.flooding_bits


REFUSED = {
    "no power of two": {"parts": 3},
    "more than the ring allows": {"parts": 128},
    "none": {"parts": 0},
    "negative": {"parts": -64},
    "huge": {"parts": 1 << 40},
    "pairs of features": {"packing": "pairs"},
    "no packing": {"packing": "none such"},
    "monomials": {"packing": "monomials"},
    "monomials without stages": {"packing": "monomials", "stages": (), "relinearize": False},
}


@pytest.mark.parametrize("changes", REFUSED.values(), ids=REFUSED)
def test_schedules_that_do_not_suit_are_refused(changes):
    spec = spec_of()
    schedule = plan_beside(spec, 64).schedule
    with pytest.raises(PlanError):
        verified_plan(spec, with_schedule(schedule, **changes))


@pytest.mark.parametrize(("samples", "more"), [(64, 65), (256, 257), (512, 513), (1024, 1025)])
def test_more_samples_than_a_feature_has_room_for_are_refused(samples, more):
    spec = spec_of(samples=samples)
    schedule = plan_beside(spec, 4096 // samples).schedule
    assert verified_plan(spec, schedule).places == samples
    with pytest.raises(PlanError, match="does not fit the spec"):
        verified_plan(spec_of(samples=more), schedule)


def test_parts_of_a_larger_ring_are_at_most_64():
    """128 suit a ring of 8192, and their noise is not what was tested."""
    spec = spec_of()
    schedule = plan_beside(spec, 64).schedule
    for parts in (128, 256):
        large = with_schedule(
            schedule, parts=parts, ckks=msgspec.structs.replace(schedule.ckks, ring_degree=32768)
        )
        with pytest.raises(PlanError, match="does not fit the spec"):
            verified_plan(spec, large)


@pytest.mark.parametrize("samples", [10, 64, 65, 256])
def test_only_released_coefficients_count_where_masks_outlast(samples):
    plan = plan_exchange(spec_of(samples=samples))
    assert masks_hold(plan.answer, plan.coefficients)
    assert plan.numbers == 10 * 8192 // plan.schedule.parts
    assert {fact.name for fact in certificate(plan)} >= {"masks outlast a dishonest key"}


@pytest.mark.parametrize("samples", [257, 512, 1000])
def test_all_coefficients_count_where_masks_do_not(samples):
    plan = plan_exchange(spec_of(samples=samples))
    assert not masks_hold(plan.answer, plan.coefficients)
    assert plan.numbers == 10 * 8192
    names = {fact.name for fact in certificate(plan)}
    assert "masks: nothing is claimed of logits" in names


def test_a_feature_of_its_own_tells_more_numbers():
    """Than features beside each other, whatever number of samples is claimed."""
    plan = plan_beside(spec_of(), 64)
    assert plan.numbers < plan_exchange(spec_of(samples=16), coefficients=False).numbers


@pytest.mark.parametrize("samples", [16, 100, 1000])
def test_uploads_are_a_fraction_and_one_key_turns_them(samples):
    spec = spec_of(samples=samples)
    plan, other = plan_exchange(spec), plan_exchange(spec, coefficients=False)
    parts = plan.schedule.parts
    assert plan.feature_bytes < other.feature_bytes * 2.4 / parts  # those are pairs
    assert plan.galois_name == "rotation"
    assert plan.galois_element == 2 * 8192 // parts + 1
    assert plan.galois_limbs == plan.params.limbs
    keys = (plan.relinearization_limbs, plan.galois_limbs)
    each = [switching_key_bytes(plan.params, limbs) for limbs in keys]
    assert plan.evaluation_key_bytes == 8 + sum(each)


def test_parts_are_part_of_the_plan():
    plan = plan_beside(spec_of(), 64)
    other = evaluate(plan.spec, with_schedule(plan.schedule, parts=32))
    assert other is None or other.digest != plan.digest


def test_strangers_heads_do_not_fill_the_teachers_memory():
    """Hidden units and their squares are held at once."""
    spec = spec_of(features=100, weight_bits=10)
    schedule = plan_beside(spec, 64).schedule
    assert packing_of(schedule.packing).held_bytes(spec, schedule) <= MAX_HELD_BYTES
    wide = spec_of(features=100, weight_bits=10, hidden=1100)
    assert packing_of(schedule.packing).held_bytes(wide, schedule) > MAX_HELD_BYTES
    with pytest.raises(PlanError, match="too much memory"):
        verified_plan(wide, schedule)
    assert (
        packing_of(plan_exchange(wide).schedule.packing).held_bytes(
            wide, plan_exchange(wide).schedule
        )
        <= MAX_HELD_BYTES
    )


def test_understated_noise_is_not_certified():
    plan = plan_beside(spec_of(), 64)
    answer = plan.answer

    def bent(**facts):
        return changed(plan, answer=msgspec.structs.replace(answer, **facts))

    assert failing(plan) == []
    assert failing(bent(flood=answer.flood / 2**8)) == [HIDING]
    assert ERROR in failing(bent(flood=answer.flood * 4))
    assert failing(changed(plan, error_bound=plan.error_bound * 0.999)) == [ERROR]


def test_rules_that_leave_switches_out_are_not_certified(monkeypatch):
    """The certificate adds all 2 (k - 1) switches up itself."""
    spec = spec_of()
    schedule = plan_beside(spec, 64).schedule
    with monkeypatch.context() as patch:
        patch.setattr("securefair.ckks.rules.switching_noise", lambda _: 0.0)
        understated = evaluate(spec, schedule)
        failed = failing(understated)
    assert HIDING in failed or ERROR in failed


def test_a_switch_at_other_limbs_is_not_certified():
    """What turns has all limbs. A plan that promised a shorter key would be found out."""
    plan = plan_beside(spec_of(), 64)
    parts = with_schedule(plan.schedule, parts=32)
    assert failing(changed(plan, schedule=parts)) != []
