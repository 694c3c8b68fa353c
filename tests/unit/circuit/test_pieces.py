"""A head as quadratic forms of a sample's pieces: what travels, what comes out, when it is
taken."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.circuit import planner
from securefair.circuit.certificate import certificate
from securefair.circuit.monomial_plans import in_monomials, in_pieces
from securefair.circuit.monomials import monomials_norm
from securefair.circuit.pieces import (
    block_polynomials,
    block_spec,
    coefficient_layout,
    pack_coefficients,
    rounding_error,
)
from securefair.circuit.planner import plan_exchange, verified_plan
from securefair.circuit.spec import HeadBounds
from securefair.ckks.layers import AffineLayer
from securefair.ckks.polynomials import check_polynomials
from securefair.ckks.rules import coefficient_error
from securefair.errors import PlanError
from securefair.exchange import steps
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from unit.circuit.heads import features_of, head_of, in_forms, logits_of, run, spec_of

IMAGE = {"features": 784, "hidden": 64, "classes": 10, "samples": 1}


def planned(**changes):
    return in_forms(spec_of(**changes), "pieces")


SHAPES = st.fixed_dictionaries(
    {
        "features": st.sampled_from([1, 5, 61, 62, 89, 90, 130, 200]),
        "hidden": st.sampled_from([1, 3, 17]),
        "classes": st.integers(1, 3),
        "samples": st.integers(1, 3),
        "weight_bits": st.integers(6, 12),
    }
)


@given(changes=SHAPES, seed=st.integers(0, 99))
def test_forms_of_pieces_are_the_logits_of_every_shape(changes, seed):
    spec, plan = spec_of(**changes), planned(**changes)
    maps, features = head_of(spec, seed), features_of(spec, seed)
    opened, released = run(plan, maps, features, "clear")
    bound = rounding_error(spec, plan.schedule) + 4 * spec.bounds.logit * 2.0**-40
    assert np.abs(opened - logits_of(spec, maps, features)).max() <= bound < plan.error_bound
    assert len(released) == plan.blocks == spec.samples
    assert [fact.name for fact in certificate(plan) if not fact.holds] == []


@pytest.mark.parametrize("backend", ["rns", "seal"])
@pytest.mark.parametrize("changes", [{"features": 100, "samples": 2}, {"features": 30}], ids=str)
def test_encrypted_logits_are_as_exact_as_planned(backend, changes):
    spec, plan = spec_of(**changes), planned(**changes)
    maps, features = head_of(spec), features_of(spec)
    opened, _ = run(plan, maps, features, backend)
    assert np.abs(opened - logits_of(spec, maps, features)).max() <= plan.error_bound


def test_one_image_from_request_to_label_in_less_than_two_megabytes():
    """The bytes of the plan are those that are sent."""
    spec = spec_of(**IMAGE, answers=1)
    model = build_head("quadratic", 784, 64, 10, seed=1)
    student, teacher = Student(spec), Teacher(model)
    features = features_of(spec)
    request = student.request(features)
    answer = teacher.answer(request)
    plan = student.plan
    assert plan.schedule.pieces
    sent = plan.key_bytes + plan.feature_bytes
    assert sent < len(request) < sent + 2000
    assert sent < 1.7e6
    assert len(answer) - plan.answer_bytes < 200
    opened = student.open(answer).released
    maps = list(steps.compile_model(plan, model).maps)
    assert np.abs(opened - logits_of(spec, maps, features)).max() <= plan.error_bound + plan.grid


def test_what_travels_is_the_sample_and_a_one():
    spec, plan = spec_of(features=200, samples=2), planned(features=200, samples=2)
    features = features_of(spec)
    packed = pack_coefficients(spec, plan.schedule, features)
    form = coefficient_layout(spec, plan.schedule)
    assert packed.shape == (2, form.ciphertexts, plan.params.ring_degree)
    assert form.ciphertexts == -(-201 // 90)
    for rows, sample in zip(packed, features, strict=True):
        used = rows[:, : 201 // form.ciphertexts].ravel()
        assert np.array_equal(used[:201], [*sample, 1.0])
        assert np.count_nonzero(rows) == 201


def test_polynomials_are_within_what_the_plan_says_of_them():
    spec, plan = spec_of(features=100, hidden=8), planned(features=100, hidden=8)
    made = block_polynomials(spec, plan.schedule, plan.specs, head_of(spec))
    assert len(made) == spec.classes
    for polynomials in made:
        check_polynomials(block_spec(spec, plan.schedule), polynomials, plan.params.ring_degree)


def test_rounding_of_the_worst_form_is_within_its_bound():
    """Half a unit everywhere, of the signs of the products."""
    spec, plan = spec_of(features=100), planned(features=100)
    sample = np.full(101, 1.0)
    worst = 0.5 * 2.0**-plan.schedule.factor_scale * np.abs(np.outer(sample, sample)).sum()
    assert monomials_norm(spec) == 101
    assert worst / 2 <= rounding_error(spec, plan.schedule) <= 2 * worst


# -- the planner ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "packing"),
    [
        ({**IMAGE, "answers": 1}, "pieces"),
        ({**IMAGE, "samples": 10, "answers": 1}, "beside"),
        (IMAGE, "monomials"),  # sixteen answers weigh more than one upload
        ({**IMAGE, "features": 512, "answers": 1}, "monomials"),
        ({**IMAGE, "hidden": 0, "answers": 1}, "monomials"),
        ({**IMAGE, "samples": 100, "answers": 1}, "beside"),
        ({**IMAGE, "samples": 5000, "answers": 1}, "slots"),
    ],
    ids=str,
)
def test_the_wish_says_how_many_answers_a_plan_is_for(changes, packing):
    spec = spec_of(**changes)
    plan = plan_exchange(spec)
    schedule = plan.schedule
    found = "pieces" if schedule.pieces else "monomials" if schedule.monomials else "slots"
    assert ("beside" if schedule.parts > 1 else found) == packing
    assert verified_plan(spec, schedule).digest == plan.digest
    assert [fact.name for fact in certificate(plan) if not fact.holds] == []


def test_no_key_but_the_public_one_is_needed():
    plan = planned(**IMAGE)
    assert plan.key_bytes == plan.public_key_bytes
    assert plan.answer.polys == 4
    assert plan.zeros == 3 * plan.spec.classes
    assert plan.numbers == plan.spec.classes
    assert plan.bits < 10 * 17


@pytest.mark.parametrize(
    "changes",
    [
        {"factor_scale": 12.0},  # rounds too much
        {"factor_scale": 20.5},
        {"monomials": False},
        {"pairs": "features"},
        {"relinearize": True},
        {"flooding_bits": 29},
    ],
    ids=str,
)
def test_schedules_of_a_strangers_making_are_refused(changes):
    plan = planned(features=100)
    assert verified_plan(plan.spec, plan.schedule).digest == plan.digest
    with pytest.raises(PlanError):
        verified_plan(plan.spec, msgspec.structs.replace(plan.schedule, **changes))


def test_linear_heads_other_releases_and_slots_do_not_travel_so():
    schedule = planned().schedule
    for spec in (spec_of(hidden=0), spec_of(release="projection", q=2)):
        assert in_pieces(spec) is None
        with pytest.raises(PlanError, match="does not fit the spec"):
            verified_plan(spec, schedule)
    slots = plan_exchange(spec_of(), monomials=False).schedule
    with pytest.raises(PlanError, match="does not fit the spec"):
        verified_plan(spec_of(), msgspec.structs.replace(slots, pieces=True))


@pytest.mark.parametrize(
    "changes",
    [{}, {"precision": 2.0**-5}, {"precision": 2.0**-16}, IMAGE, {"bounds": HeadBounds(logit=3.0)}],
    ids=str,
)
def test_a_number_has_no_room_for_a_second_entry_of_a_form(changes):
    plan = planned(**changes)
    assert plan.number_bits <= planner.most_bits(plan) == plan.needed_bits + planner.SPARE_FORM_BITS


def test_a_number_carries_no_more_than_one_of_monomials():
    spec = spec_of(**IMAGE)
    other = planner.flooded(in_monomials(spec)[0])
    assert planned(**IMAGE).number_bits <= other.number_bits + 0.01


@pytest.mark.parametrize(("times", "opens"), [(3.9, True), (4.2, False), (7.0, False)])
def test_a_logit_beyond_the_agreed_bound_opens_right_or_is_refused(times, opens):
    changes = {"samples": 1, "classes": 2, "bounds": HeadBounds(logit=2.0)}
    spec, plan = spec_of(**changes), planned(**changes)
    first = AffineLayer(np.zeros((3, 5), np.int64), np.zeros(3))
    last = AffineLayer(np.zeros((2, 3), np.int64), np.array([times * 2.0, 0.0]))
    opened, (released,) = run(plan, [first, last], np.zeros((1, 5)), "rns")
    limit = released.meta.bound + coefficient_error(released.meta)
    assert (np.abs(opened).max() <= limit) == opens
    assert spec.classes == 2
    if opens:
        assert abs(opened[0, 0] - times * 2.0) <= plan.error_bound
