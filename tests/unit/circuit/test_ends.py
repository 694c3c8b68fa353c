"""What the search leaves out could not have been chosen."""

import math

import msgspec
import pytest

from securefair.circuit import weighing
from securefair.circuit.candidates import rescaled
from securefair.circuit.ends import FEW_FACTOR_SCALES, LEVELS, best_end, multiplied
from securefair.circuit.network import affine_specs
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.walk import walk
from securefair.ckks.parameters import CkksSpec
from securefair.ckks.security import MAX_LOG_QP

RELEASES = {
    "logits": {"release": "logits"},
    "public": {"release": "projection", "q": 16},
    "student": {"release": "projection", "basis": "student", "q": 16},
    "loss": {"release": "loss"},
    "class_sums": {"release": "class_sums"},
}
HEAD = ExchangeSpec(features=5, classes=3, samples=9000, hidden=4)


def spec_of(release, **changes):
    return msgspec.structs.replace(HEAD, **RELEASES[release], **changes)


def way_of(spec, target, limbs=12):
    """In few limbs more than it needs by itself."""
    more = 4 if spec.multiplies else 1
    ckks = CkksSpec(ring_degree=16384, limb_bits=(29,) * limbs, special_bits=31)
    way = walk(spec, affine_specs(spec), ckks, target, target)
    return way_of(spec, target, limbs - way.spare + more) if way.spare > more else way


def every_end(spec, way):
    """All plans, product by product."""
    limbs = way.logits.meta.limbs
    for product in range(1, limbs + 1) if spec.multiplies else (limbs,):
        for factor in FEW_FACTOR_SCALES if spec.multiplies else (0,):
            run = multiplied(spec, way, product, factor)
            for answer, flooding in LEVELS if run else ():
                if flooding <= product:
                    levels = {"flooding_limbs": flooding, "answer_limbs": answer}
                    plan = run.released(msgspec.structs.replace(run.schedule, **levels))
                    yield run, plan


@pytest.mark.parametrize("target", [24, 40, 56, 72])
@pytest.mark.parametrize("release", RELEASES)
def test_no_plan_is_more_precise_than_the_least_error(release, target):
    spec = spec_of(release)
    found = list(every_end(spec, way_of(spec, target)))
    plans = [(run, plan) for run, plan in found if plan is not None]
    assert all(run.least_error <= plan.relative_error for run, plan in plans)
    assert all(plan is None for run, plan in found if run.least_error == math.inf)
    if target == 56:  # elsewhere divisions may cost more than flooding
        # It is close, or little would be left out: flooding is a power of two.
        assert min(plan.relative_error / run.least_error for run, plan in plans) < 8


@pytest.mark.parametrize("target", [40, 48, 56])
@pytest.mark.parametrize("release", RELEASES)
def test_an_end_is_found_whatever_larger_errors_are_of_use(release, target):
    spec = spec_of(release, precision=2.0**-6)
    way = way_of(spec, target)
    best = best_end(spec, way, math.inf)
    least = max(spec.precision, best.relative_error)
    for times in (100, 2, 1):
        assert best_end(spec, way, times * least).schedule == best.schedule
    if best.relative_error > spec.precision:
        assert best_end(spec, way, best.relative_error / 1.001) is None


@pytest.mark.parametrize(
    "release",
    [
        "logits",
        "public",
        *(
            pytest.param(r, marks=pytest.mark.slow)
            for r in RELEASES
            if r not in ("logits", "public")
        ),
    ],
)
def test_the_cheapest_way_is_found_whatever_is_left_out(release):
    spec = spec_of(release, precision=2.0**-6)
    ring = (spec, affine_specs(spec), 16384, MAX_LOG_QP[16384])
    everything = list(rescaled(*ring))
    best = min((found for found in everything if found[0].grants), key=weighing.block_seconds)
    fewer = [found for found in rescaled(*ring, most=spec.precision) if found[0].grants]
    assert min(fewer, key=weighing.block_seconds)[0].schedule == best[0].schedule
    none_slower = rescaled(*ring, most=spec.precision, slowest=best[1])
    found = [found for found in none_slower if found[0].grants]
    assert min(found, key=weighing.block_seconds)[0].schedule == best[0].schedule
    assert len(fewer) < len(everything)
