"""What every packing of the register keeps, whatever it does."""

from contextlib import suppress
from functools import cache

import msgspec
import numpy as np
import pytest

from securefair.circuit import weighing
from securefair.circuit.admission import MAX_HELD_BYTES
from securefair.circuit.answer import Inputs
from securefair.circuit.certificate import certificate
from securefair.circuit.packings.register import REGISTERED, packing_of, part_of
from securefair.circuit.planner import verified_plan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.errors import PlanError
from securefair.exchange import steps
from securefair.model.heads import build_head
from securefair.model.projection import public_rows

HEADS = {
    "narrow": {"features": 5, "hidden": 0},
    "quadratic": {"features": 5, "hidden": 3},
    "wide": {"features": 34, "hidden": 3},
}
ASKED = {
    "logits": {"release": "logits"},
    "few logits": {"release": "logits", "samples": 3},
    "projection": {"release": "projection", "q": 8},
}
CASES = [(head, asked) for head in HEADS for asked in ASKED]


def spec_of(head, asked):
    return ExchangeSpec(**{"classes": 2, "samples": 40, **HEADS[head], **ASKED[asked]})


@cache
def plan_of(name, spec):
    """Its own best plan, whether the planner would take it or not; None where it has none."""
    first = part_of(next(iter(REGISTERED)), "search")(spec, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("securefair.circuit.packings.pairs.WORTH", 1e9)
        patch.setattr("securefair.circuit.packings.pairs._may_pay", lambda _: True)
        patch.setattr("securefair.circuit.packings.beside._worth_it", lambda *_: True)
        patch.setattr("securefair.circuit.packings.monomials.plans.WORTH", 0.0)
        found = part_of(name, "search")(spec, first)
    return None if found is None else weighing.flooded(found[0])


@pytest.fixture(params=REGISTERED)
def name(request):
    return request.param


@pytest.fixture(params=CASES, ids="-".join)
def planned(request, name):
    spec = spec_of(*request.param)
    plan = plan_of(name, spec)
    if plan is None or plan.schedule.packing != name:
        pytest.skip("this packing does not carry such samples")
    return plan


def test_some_samples_travel_so(name):
    found = [plan_of(name, spec_of(*case)) for case in CASES]
    assert any(plan is not None and plan.schedule.packing == name for plan in found)
    assert packing_of(name).about
    assert bool(packing_of(name).galois_name) <= any(
        plan.galois_element > 0 for plan in found if plan is not None
    )


def test_a_plan_is_certified_and_accepted_from_a_stranger(planned):
    assert [fact.name for fact in certificate(planned) if not fact.holds] == []
    assert verified_plan(planned.spec, planned.schedule).digest == planned.digest
    held = planned.packing.held_bytes(planned.spec, planned.schedule)
    assert 0 <= held <= MAX_HELD_BYTES


def test_places_and_bytes_are_those_of_what_is_packed(planned):
    spec = planned.spec
    packed = steps.pack(planned, np.zeros((spec.samples, spec.features)))
    assert packed.shape == (planned.blocks, planned.features.count, planned.features.width)
    assert planned.places >= spec.samples
    leaving = planned.packing.leaving(spec, planned.schedule, None)
    if spec.leaves.whole:
        assert (None if leaving is None else len(leaving)) == planned.coefficients


def test_as_many_numbers_are_charged_as_leave_at_least(planned):
    spec = planned.spec
    assert planned.numbers >= spec.leaves.numbers(spec.samples, spec.classes, spec.q)
    assert planned.number_bits <= planned.needed_bits + planned.packing.spare_bits(
        spec, planned.schedule
    )


@cache
def keys_of(backend, params, relinearization, galois, element):
    """Plans of the same parameters share them."""
    return get_backend(backend).generate_keys(
        params, relinearization=relinearization, galois=galois, element=element
    )


@pytest.mark.parametrize("backend", ["clear", "rns"])
def test_answers_are_those_of_the_model(planned, backend):
    answers_are_those_of_the_model(planned, backend)


@pytest.mark.slow
@pytest.mark.parametrize(
    "planned",
    [case for case in CASES if "wide" not in case and "few logits" not in case],
    ids="-".join,
    indirect=True,
)
def test_seal_gives_such_answers_too(planned):
    """Its products of many features are compared with other backends' by their own suites."""
    answers_are_those_of_the_model(planned, "seal")


def answers_are_those_of_the_model(planned, backend):
    spec, engine = planned.spec, get_backend(backend)
    keys = keys_of(
        backend,
        planned.params,
        planned.relinearization_limbs,
        planned.galois_limbs,
        planned.galois_element,
    )
    evaluator = engine.evaluator(planned.params, keys.public)
    features = np.random.default_rng(0).uniform(-1, 1, (spec.samples, spec.features))
    sent = steps.encrypt(keys.encryptor, planned.features, steps.pack(planned, features))
    if engine.planned_bytes:
        assert len(sent) == planned.feature_bytes
    blocks = steps.receive(evaluator, planned.features, sent, planned.blocks)
    head = build_head("quadratic" if spec.hidden else "linear", spec.features, spec.hidden, 2, 1)
    model, basis = steps.compile_model(planned, head), steps.public_basis(planned, b"")
    inputs = Inputs(blocks, [], basis.signs, basis.coefficients)
    answer = steps.infer(evaluator, planned, model, inputs)
    opened = steps.open_answer(keys.decryptor, planned, basis, answer)
    expected = model.logits(features)
    if not spec.leaves.whole:
        signs = basis.signs.astype(float)
        rows = public_rows(planned.ring_degree, basis.coefficients, spec.samples, signs)
        expected = rows @ expected
    assert np.abs(opened - expected).max() <= 1.125 * planned.error_bound


def test_no_packing_takes_another_ones_schedule(planned, name):
    for other in REGISTERED:
        schedule = msgspec.structs.replace(planned.schedule, packing=other)
        if other != name:
            with suppress(PlanError):
                assert verified_plan(planned.spec, schedule).schedule.packing == other


def test_a_packing_that_nobody_registered_is_refused():
    spec = spec_of("narrow", "logits")
    schedule = part_of("alone", "search")(spec, None)[0].schedule
    with pytest.raises(PlanError, match="no such packing"):
        verified_plan(spec, msgspec.structs.replace(schedule, packing="none such"))
