"""The way to the largest scale: the same wherever the search begins."""

import itertools
import math

import msgspec
import pytest

from securefair.circuit import candidates, ends, weighing
from securefair.circuit.evaluation import evaluate
from securefair.circuit.network import affine_specs
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.circuit.walk import WHOLE, walk
from securefair.ckks.parameters import CkksSpec

CKKS = CkksSpec(ring_degree=8192, limb_bits=(31,) * 5, special_bits=31)
SPEC = ExchangeSpec(features=5, classes=3, samples=60, hidden=4, release="class_sums")


def way(steps, spec=SPEC):
    return walk(spec, affine_specs(spec), CKKS, steps / candidates.SCALE_STEPS, WHOLE)


def largest(product, factor, before=None, rise=0):
    found = candidates._largest_scale(SPEC, way, product, factor, before, rise)
    return found and found[0]


@pytest.mark.parametrize("start", [16.0, 30.0, 38.375, 40.0])
@pytest.mark.parametrize("rise", [0, 16, -500, 10**6])
def test_the_largest_scale_does_not_depend_on_where_the_search_begins(start, rise):
    before = walk(SPEC, affine_specs(SPEC), CKKS, start, WHOLE)
    assert largest(5, 40, before, rise) == largest(5, 40)


@pytest.mark.parametrize("product", range(2, 6))
def test_nothing_larger_fits(product):
    found = largest(product, 40)
    more = way(round(found.feature_scale * candidates.SCALE_STEPS) + 1)
    for tried, fits in ((found, True), (more, False)):
        schedule = ends.schedule_of(SPEC, tried, product, 40)
        bare = msgspec.structs.replace(schedule, flooding_bits=0)
        assert (evaluate(SPEC, bare, logits=tried.logits) is not None) == fits


def test_where_no_scale_fits_there_is_none():
    assert largest(1, 58) is None


@pytest.mark.parametrize("release", ["class_sums", "loss", "projection"])
def test_no_cheaper_plan_is_passed_over(release):
    """The search leaves out what is dearer than a plan that grants; here nothing is left out."""
    changes = {"release": release, "basis": "student", "q": 3, "hidden": 0, "flooding_bits": 20}
    spec = msgspec.structs.replace(SPEC, **changes)
    found = candidates._with_largest_scale(spec, affine_specs(spec), CKKS, math.inf, "alone", 1)
    searched = [plan for plan, _ in found]
    everything = []
    for product, factor in itertools.product(range(1, 6), candidates.FACTOR_SCALES):
        largest = candidates._largest_scale(
            spec, lambda steps: way(steps, spec), product, factor, None, 0
        )
        for answer, flooding in itertools.product(range(1, 4), range(1, 5)):
            if largest and answer <= flooding <= product:
                schedule = ends.schedule_of(spec, largest[0], product, factor)
                levels = {"answer_limbs": answer, "flooding_limbs": flooding}
                everything.append(evaluate(spec, msgspec.structs.replace(schedule, **levels)))
    assert 0 < len(searched) < len(everything)
    assert cheapest(searched) == cheapest(filter(None, everything))


def test_a_scale_without_room_for_flooding_does_not_end_the_search():
    """With some factors the largest scale leaves none, and with smaller ones it does again."""
    spec = ExchangeSpec(
        features=6,
        classes=2,
        samples=27,
        hidden=0,
        release="class_sums",
        flooding_bits=5,
        precision=0.005,
        weight_bits=7,
        bounds=HeadBounds(feature=3.0, feature_norm=1.0, output_weight=0.5, logit=0.2095),
    )
    ckks = CkksSpec(ring_degree=8192, limb_bits=(31, 26, 26), special_bits=31)
    found = candidates._with_largest_scale(
        spec, affine_specs(spec), ckks, spec.precision, "alone", 1
    )
    assert any(plan.grants for plan, _ in found)


def cheapest(plans):
    granting = [plan for plan in plans if plan.grants]
    return min(granting, key=lambda plan: weighing.block_seconds((plan, 0.0))).schedule
