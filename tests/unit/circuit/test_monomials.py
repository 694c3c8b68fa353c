"""A head as a linear map of products of features: what travels, what it is multiplied with, and
what comes out."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.circuit import planner
from securefair.circuit.certificate import certificate
from securefair.circuit.evaluation import evaluate
from securefair.circuit.flooding import most_flooding
from securefair.circuit.packings.interface import SPARE_BITS
from securefair.circuit.packings.monomials import packing
from securefair.circuit.packings.monomials.forms import (
    SPACING,
    form_polynomials,
    form_spec,
    layout,
    layout_of,
    monomials_norm,
    pack_monomials,
    rounding_error,
)
from securefair.circuit.planner import plan_exchange, verified_plan
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.ckks.encoding import negacyclic_product
from securefair.ckks.layers import AffineLayer
from securefair.ckks.masking import masks_hold
from securefair.ckks.parameters import CkksSpec
from securefair.ckks.polynomials import check_polynomials
from securefair.ckks.rules import coefficient_error
from securefair.errors import PlanError
from unit.circuit.heads import features_of, head_of, in_forms, logits_of, run, spec_of

SHAPES = st.fixed_dictionaries(
    {
        "features": st.integers(1, 130),
        "hidden": st.sampled_from([0, 1, 3, 17]),
        "classes": st.integers(1, 4),
        "samples": st.integers(1, 9),
        "weight_bits": st.integers(6, 12),
    }
)


@given(changes=SHAPES, seed=st.integers(0, 99))
def test_inner_products_with_forms_are_the_logits_of_every_shape(changes, seed):
    spec = spec_of(**changes)
    plan = in_forms(spec)
    maps, features = head_of(spec, seed), features_of(spec, seed)
    opened, released = run(plan, maps, features, "clear")
    bound = rounding_error(spec, plan.schedule) + 4 * spec.bounds.logit * 2.0**-40
    assert np.abs(opened - logits_of(spec, maps, features)).max() <= bound < plan.error_bound
    assert len(released) == plan.blocks


@pytest.mark.parametrize("backend", ["rns", "seal"])
@pytest.mark.parametrize(
    "changes",
    [
        {"features": 100, "samples": 2},  # a sample takes several ciphertexts
        {"features": 30, "samples": 20},  # a ciphertext takes several samples, in three blocks
        {"features": 7, "samples": 11, "hidden": 0},
    ],
    ids=str,
)
def test_encrypted_logits_are_as_exact_as_planned(backend, changes):
    spec = spec_of(**changes)
    plan = plan_exchange(spec)
    assert plan.schedule.packing == "monomials"
    maps, features = head_of(spec), features_of(spec)
    opened, _ = run(plan, maps, features, backend)
    assert np.abs(opened - logits_of(spec, maps, features)).max() <= plan.error_bound


def test_no_key_but_the_public_one_is_needed():
    plan = plan_exchange(spec_of())
    assert plan.schedule.packing == "monomials"
    assert not plan.relinearization_limbs
    assert not plan.galois_limbs
    assert plan.key_bytes == plan.public_key_bytes
    assert plan.answer.polys == 2


@given(features=st.integers(1, 2000), hidden=st.integers(0, 2), samples=st.integers(1, 5000))
def test_every_sample_has_a_place_of_its_own(features, hidden, samples):
    spec = spec_of(features=features, hidden=hidden, samples=samples)
    form = layout(spec, 4096, 1)
    assert form.blocks * form.samples >= samples > form.blocks * (form.samples - 1)
    assert form.ciphertexts * 4096 >= form.samples * form.values
    assert form.samples == 1 or form.ciphertexts == 1
    assert form.samples * SPACING <= 4096
    assert np.array_equal(form.coefficients, np.arange(form.samples) * form.values)


def test_what_travels_is_as_long_as_promised():
    spec = spec_of(bounds=HeadBounds(feature=2.0))
    schedule = plan_exchange(spec).schedule
    packed = pack_monomials(spec, schedule, np.full((spec.samples, spec.features), 2.0))
    form = layout_of(spec, schedule)
    rows = packed.reshape(form.blocks, -1)[0, : form.samples * form.values]
    norms = np.linalg.norm(rows.reshape(form.samples, -1), axis=1)
    np.testing.assert_allclose(norms, monomials_norm(spec))
    assert np.abs(packed).max() <= plan_exchange(spec).features.bound
    assert packed.reshape(-1)[form.samples * form.values :].any() == 0


def test_polynomials_are_within_what_the_plan_says_of_them():
    spec = spec_of(features=60, hidden=8)
    schedule = plan_exchange(spec).schedule
    made = form_polynomials(spec, schedule, plan_exchange(spec).specs, head_of(spec))
    assert len(made) == spec.classes
    for polynomial in made:
        check_polynomials(form_spec(spec, schedule), polynomial, schedule.ckks.ring_degree)


def test_coefficients_between_those_that_are_sent_would_tell_more():
    """Why they must not leave: they are shifted inner products, of no sample's own."""
    spec = spec_of(samples=2)
    schedule = plan_exchange(spec).schedule
    packed = pack_monomials(spec, schedule, features_of(spec))[0]
    polynomial = form_polynomials(spec, schedule, plan_exchange(spec).specs, head_of(spec))[0]
    whole = negacyclic_product(packed, polynomial.astype(np.float64))[0]
    between = np.delete(whole, layout_of(spec, schedule).coefficients)
    assert np.abs(between).max() > 0
    assert plan_exchange(spec).coefficients == 2


# -- the planner ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "chosen"),
    [
        ({"features": 784, "hidden": 64, "classes": 10, "samples": 1}, True),
        ({"features": 784, "hidden": 64, "classes": 10, "samples": 1000}, False),
        ({"features": 13, "hidden": 16, "classes": 2, "samples": 300}, True),
        ({"features": 13, "hidden": 16, "classes": 2, "samples": 4096}, False),
        ({"features": 13, "samples": 300, "release": "loss"}, False),
        ({"features": 13, "samples": 300, "release": "projection", "q": 8}, True),
    ],
    ids=str,
)
def test_the_planner_chooses_what_takes_fewest_seconds(changes, chosen):
    spec = spec_of(**changes)
    plan = plan_exchange(spec)
    assert (plan.schedule.packing == "monomials") == chosen
    assert plan_exchange(spec, coefficients=False).schedule.packing != "monomials"
    assert verified_plan(spec, plan.schedule).digest == plan.digest
    assert [fact.name for fact in certificate(plan) if not fact.holds] == []


def test_one_wide_image_travels_in_a_fraction_of_the_bytes():
    spec = spec_of(features=784, hidden=64, classes=10, samples=1)
    few, many = plan_exchange(spec), plan_exchange(spec, coefficients=False)
    assert 20 * (few.key_bytes + few.feature_bytes) < many.key_bytes + many.feature_bytes
    assert few.numbers == spec.classes
    assert few.bits < many.bits


def test_masks_hold_where_most_samples_share_a_ciphertext():
    spec = spec_of(features=6, samples=300, classes=2)
    plan = plan_exchange(spec)
    assert plan.schedule.packing == "monomials"
    assert plan.coefficients > 90
    assert masks_hold(plan.answer, plan.coefficients)


@pytest.mark.parametrize(
    "changes",
    [
        {"factor_scale": 11.5},
        {"packing": "pairs"},
        {"packing": "beside"},
        {"parts": 2},
        {"relinearize": True},
        {"factor_scale": 4.0},  # rounds too much
        {"packing": "alone"},
    ],
    ids=str,
)
def test_schedules_of_a_strangers_making_are_refused(changes):
    spec = spec_of()
    schedule = plan_exchange(spec).schedule
    with pytest.raises(PlanError):
        verified_plan(spec, msgspec.structs.replace(schedule, **changes))


def test_forms_that_no_signed_word_holds_are_refused():
    """They would become -2^63, and answers garbage that the plan calls precise."""
    spec = spec_of()
    ckks = CkksSpec(ring_degree=8192, limb_bits=(30,) * 5, special_bits=20)
    for factor_scale, fits in ((44.0, True), (64.0, False)):
        schedule = msgspec.structs.replace(
            plan_exchange(spec).schedule,
            ckks=ckks,
            feature_scale=30.0,
            factor_scale=factor_scale,
            product_limbs=5,
            flooding_limbs=5,
            answer_limbs=5,
            flooding_bits=30,
        )
        assert (evaluate(spec, schedule) is not None) == fits


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hidden": 0},
        {"precision": 2.0**-5},
        {"precision": 2.0**-18},
        {"features": 60, "hidden": 20, "samples": 2},
        {"features": 300, "samples": 1, "classes": 10},
        {"bounds": HeadBounds(logit=3.0)},
    ],
    ids=str,
)
def test_a_number_has_no_room_for_a_second_entry_of_a_form(changes):
    """Whoever chooses what is added up in one number would read both."""
    plan = plan_exchange(spec_of(**changes))
    assert plan.schedule.packing == "monomials"
    assert plan.number_bits <= planner.most_bits(plan) == plan.needed_bits + packing.SPARE_FORM_BITS


def test_a_modulus_with_room_for_a_second_entry_is_refused(monkeypatch):
    """Eleven bits more above the logits than the search would leave."""
    spec = spec_of()
    schedule = plan_exchange(spec).schedule
    bits = (*schedule.ckks.limb_bits, 17)
    ckks = CkksSpec(ring_degree=8192, limb_bits=bits, special_bits=20)
    scale = schedule.feature_scale + 17 - 11
    limbs = dict.fromkeys(("product_limbs", "flooding_limbs", "answer_limbs"), len(bits))
    wide = msgspec.structs.replace(schedule, ckks=ckks, feature_scale=scale, **limbs)

    def flooded(flooding_bits):
        return msgspec.structs.replace(wide, flooding_bits=flooding_bits)

    def grants(flooding_bits):
        plan = evaluate(spec, flooded(flooding_bits))
        return plan is not None and plan.floods_to_precision

    wide = flooded(most_flooding(30, grants))
    with pytest.raises(PlanError, match="more than the precision needs"):
        verified_plan(spec, wide)
    monkeypatch.setattr(packing, "SPARE_FORM_BITS", SPARE_BITS)
    assert verified_plan(spec, wide).numbers == plan_exchange(spec).numbers


@pytest.mark.parametrize("features", [13, 32, 545])
@pytest.mark.parametrize("precision", [2.0**-10, 2.0**-14])
def test_sums_are_as_exact_as_in_slots(features, precision):
    """Weights are held exactly, noise of the key is far below the step, and both cost no bits."""
    sizes = {"features": features, "hidden": 0, "samples": 40, "classes": 2}
    spec = ExchangeSpec(**sizes, q=20, precision=precision)
    plan, slots = plan_exchange(spec), plan_exchange(spec, coefficients=False)
    assert plan.schedule.packing == "monomials"
    assert plan.schedule.factor_scale >= plan.specs[0].log2_scale
    assert rounding_error(spec, plan.schedule) <= precision * 2 * spec.bounds.logit / 128
    assert plan.answer.limbs == 2
    assert plan.grid * 2.0**plan.answer.log2_scale > 2**30
    assert plan.number_bits <= slots.number_bits + 1


def test_sums_travel_at_one_limb_where_masks_would_not_hold():
    spec = ExchangeSpec(features=32, hidden=0, samples=400, classes=2, q=190)
    plan = plan_exchange(spec)
    assert (plan.schedule.packing, plan.answer.limbs) == ("monomials", 1)
    assert masks_hold(plan.answer, plan.coefficients)


OTHERS = {"student": {"release": "projection", "basis": "student"}}


@pytest.mark.parametrize("release", ["loss", "class_sums", "student"])
def test_other_releases_and_networks_do_not_travel_so(release, make_network):
    schedule = plan_exchange(spec_of()).schedule
    with pytest.raises(PlanError, match="does not fit the spec"):
        verified_plan(spec_of(q=2, **OTHERS.get(release, {"release": release})), schedule)
    network, _ = make_network(squares=1)
    with pytest.raises(PlanError, match="does not fit the spec"):
        verified_plan(network.spec, schedule)
    assert plan_exchange(network.spec).schedule.packing != "monomials"


@pytest.mark.parametrize(("times", "opens"), [(3.9, True), (4.2, False), (7.0, False)])
def test_a_logit_beyond_the_agreed_bound_opens_right_or_is_refused(times, opens):
    """Never as another one: the modulus has room for what is refused."""
    spec = spec_of(samples=1, hidden=0, classes=2, bounds=HeadBounds(logit=2.0))
    plan = plan_exchange(spec)
    layer = AffineLayer(np.zeros((2, 5), np.int64), np.array([times * 2.0, 0.0]))
    opened, (released,) = run(plan, [layer], np.zeros((1, 5)), "rns")
    limit = released.meta.bound + coefficient_error(released.meta)
    assert (np.abs(opened).max() <= limit) == opens
    if opens:
        assert abs(opened[0, 0] - times * 2.0) <= plan.error_bound
