"""Plans of encrypted weights: as small as the spec allows, honest about error and bytes."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.averaging import SumSpec
from securefair.averaging.ckks_plan import BLOCK, plan_ckks
from securefair.ckks import plain_rules, rules
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import PlanError
from support.examples import examples


def spec_of(**changes):
    return SumSpec(**{"parameters": 10_000, "senders": 4} | changes)


def test_the_usual_spec_fits_the_smallest_ring_and_one_limb():
    plan = plan_ckks(spec_of(parameters=1_000_000, senders=9))
    assert plan.params.ring_degree == 4096
    assert plan.params.limbs == 3
    assert plan.answer.limbs == 1
    assert plan.share_bytes < 2.01 * plan.clear_bytes


@settings(max_examples=examples(25))
@given(
    st.integers(2, 200),
    st.floats(2.0**-8, 2.0**12),
    st.integers(4, 20),
    st.integers(20, 60),
)
def test_what_is_planned_is_granted_secure_and_does_not_wrap(senders, bound, bits, flooding):
    spec = spec_of(senders=senders, bound=bound, precision=2.0**-bits, flooding_bits=flooding)
    plan = plan_ckks(spec)
    assert plan.error_bound <= spec.precision * bound
    assert plan.params.log_qp <= MAX_LOG_QP[plan.params.ring_degree]
    assert plan.summed.bound == bound
    rules.fits(plan.summed)
    # Flooding exceeds the noise that it hides by at least so many bits.
    product = plain_rules.outer_plain(plan.weight, plan.factors(1))
    assert rules.sanitize(product, flooding).flood >= 2.0**flooding * 8 * product.noise


def test_more_precision_or_flooding_takes_more_modulus():
    usual = plan_ckks(spec_of()).params.log_qp
    assert plan_ckks(spec_of(precision=2.0**-4, flooding_bits=0)).params.log_qp < usual
    assert plan_ckks(spec_of(flooding_bits=60)).params.log_qp > usual
    assert plan_ckks(spec_of(precision=2.0**-24)).params.log_qp > usual


def test_precision_beyond_reach_names_the_nearest_that_is_granted():
    spec = spec_of(senders=4096, precision=2.0**-48)
    with pytest.raises(PlanError) as error:
        plan_ckks(spec)
    nearest = float(error.value.expected.removeprefix("at least "))
    granted = plan_ckks(spec_of(senders=4096, precision=nearest * 1.01))
    assert granted.answer.limbs == 2


def test_senders_that_see_no_weights_cannot_limit_them():
    with pytest.raises(PlanError) as error:
        plan_ckks(spec_of(max_share=0.5))
    assert error.value.where == "max_share"


def test_a_digest_covers_limbs_scales_and_primes():
    plan = plan_ckks(spec_of())
    scaled = msgspec.structs.replace(plan.weight, log2_scale=plan.weight.log2_scale - 1)
    larger = plan_ckks(spec_of(flooding_bits=60)).params
    for change in (
        {"weight": scaled},
        {"params": larger},
        {"answer": msgspec.structs.replace(plan.answer, limbs=plan.answer.limbs + 1)},
    ):
        assert replace(plan, **change).digest != plan.digest, change


@given(st.integers(1, 2_000_000))
def test_pieces_hold_every_parameter_and_word_once(parameters):
    plan = plan_ckks(spec_of(parameters=parameters))
    pieces = list(plan.pieces())
    n = plan.params.ring_degree
    assert [piece.index for piece in pieces] == list(range(len(pieces)))
    start, word = 0, 0
    for piece in pieces:
        assert piece.parameters.start == start
        assert piece.place.start == word
        assert 1 <= piece.count <= BLOCK
        assert piece.coefficients == n or piece.count == 1
        start, word = piece.parameters.stop, piece.place.stop
    assert start == parameters
    assert 4 * word == plan.share_bytes


def test_the_grid_is_finer_than_the_noise():
    plan = plan_ckks(spec_of())
    assert plan.grid == rules.coefficient_error(plan.summed) / 4
    assert plan.grid / 2 < plan.error_bound


def test_planning_is_quick_whatever_the_size():
    assert plan_ckks(spec_of(parameters=11_173_962)).share_bytes == pytest.approx(
        2 * 4 * 11_173_962, rel=1e-3
    )
    assert np.isfinite(plan_ckks(spec_of(parameters=1)).error_bound)
