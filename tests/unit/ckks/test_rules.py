"""What the rules must state and refuse; tests/contract holds them against real ciphertexts."""

import dataclasses
import functools
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from securefair.ckks import plain_rules, rules
from securefair.ckks.noise import rounding, zero_noise
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.specs import AffineSpec, PolynomialSpec
from securefair.errors import EncryptionError

SMALL = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30), special_bits=30))
WIDE = CkksParameters(CkksSpec(ring_degree=8192, limb_bits=(31,) * 5, special_bits=31))


def test_the_tail_is_as_safe_as_decision_8_states():
    assert math.log2(math.erfc(rules.TAIL / math.sqrt(2))) == pytest.approx(-49.5, abs=0.05)


def encrypted(params=WIDE, **changes):
    facts = {"count": 3, "limbs": params.limbs, "log2_scale": 30.0, "bound": 1.0}
    return rules.fresh(params, **{**facts, **changes})


def affine(**changes):
    facts = {
        "inputs": 3,
        "outputs": 2,
        "log2_scale": 10,
        "max_integer": 1 << 12,
        "l1": 4.0,
        "l2": 2.0,
        "bound": 5.0,
    }
    return AffineSpec(**{**facts, **changes})


def test_a_fresh_encryption_is_as_noisy_as_seal_makes_it():
    # Centred binomial over 21 + 21 bits: variance 21 / 2; and the rounding of the encoding.
    assert encrypted().noise == pytest.approx(math.sqrt(21 / 2 + 1 / 12))
    assert encrypted().independent


@given(scale=st.integers(10, 60), bound=st.floats(0.01, 100), limbs=st.integers(1, 5))
def test_whatever_fits_leaves_a_sign_and_whatever_does_not_is_refused(scale, bound, limbs):
    room = math.log2(math.prod(WIDE.primes[:limbs]) / 2)
    needed = math.log2(bound * 2.0**scale + rules.TAIL * encrypted().noise)
    assume(abs(needed - room) > 1e-6)
    if needed < room:
        encrypted(limbs=limbs, log2_scale=scale, bound=bound)
    else:
        with pytest.raises(EncryptionError, match="wrap around"):
            encrypted(limbs=limbs, log2_scale=scale, bound=bound)


def test_values_wider_than_the_encoder_are_refused():
    with pytest.raises(EncryptionError, match="too wide"):
        encrypted(log2_scale=rules.MAX_LOG2_ENCODED + 1.0)


@pytest.mark.parametrize(
    ("log2_scale", "fits"), [(50, True), (57, True), (60, False), (128, False)]
)
def test_polynomials_that_no_signed_word_holds_are_refused(log2_scale, fits):
    """numpy would turn them into -2^63, and whoever checks their norm would not see it."""
    x = encrypted(count=1, packing="coefficients")
    spec = PolynomialSpec(count=1, log2_scale=log2_scale, l2=16.0, bound=1.0)
    if fits:
        assert plain_rules.inner_plain(x, spec).log2_scale == 30 + log2_scale
        return
    with pytest.raises(EncryptionError, match="polynomials are too wide"):
        plain_rules.inner_plain(x, spec)


def test_independent_errors_add_like_vectors_and_others_like_numbers():
    x, spec = encrypted(), affine(l1=8.0, l2=2.0)
    first = rules.linear(x, spec)
    assert first.noise == pytest.approx(x.noise * 2.0 * 2**10, rel=1e-3)
    assert not first.independent
    dependent = rules.linear(replace(x, independent=False), spec)
    assert dependent.noise == pytest.approx(x.noise * 8.0 * 2**10, rel=1e-3)


@pytest.mark.parametrize("independent", [True, False])
def test_a_row_of_zeros_may_carry_the_noise_of_its_mask(independent):
    """No rule knows which rows are zero, so none may count on less than a mask's noise."""
    x = replace(encrypted(), independent=independent)
    small = rules.linear(x, affine(log2_scale=0, l1=1.0, l2=1.0))
    assert x.noise < zero_noise(x)
    assert small.noise == zero_noise(x) + 0.5
    large = rules.linear(x, affine(log2_scale=20, l1=1.0, l2=1.0))
    assert large.noise == x.noise * 2**20 + 0.5


def test_a_layer_changes_count_scale_and_bound_as_its_public_facts_say():
    out = rules.linear(encrypted(), affine())
    assert (out.count, out.log2_scale, out.bound) == (2, 40.0, 5.0)
    assert (out.limbs, out.polys) == (5, 2)


def test_a_layer_of_another_width_is_refused():
    with pytest.raises(EncryptionError, match="another width"):
        rules.linear(encrypted(count=4), affine())


def test_products_multiply_bounds_and_add_scales():
    x = encrypted(bound=3.0)
    y = encrypted(bound=5.0, log2_scale=20.0)
    product = rules.multiply(x, y)
    assert product.bound == 15.0
    assert product.log2_scale == 50.0
    assert product.polys == 3
    assert not product.independent
    assert product.noise >= 3.0 * 2**30 * y.noise + 5.0 * 2**20 * x.noise


@pytest.mark.parametrize("other", [encrypted(limbs=4), encrypted(SMALL)])
def test_products_across_levels_and_parameters_are_refused(other):
    with pytest.raises(EncryptionError, match="different levels"):
        rules.multiply(encrypted(limbs=5), other)


def test_paired_factors_need_equal_counts():
    rules.paired(encrypted(count=3), encrypted(count=3))
    with pytest.raises(EncryptionError, match="count"):
        rules.paired(encrypted(count=1), encrypted(count=3))


MISALIGNED = {
    "count": {"count": 2},
    "limbs": {"limbs": 4},
    "polys": {"polys": 3},
    "scale": {"log2_scale": 30.001},
    "params": {
        "params": dataclasses.replace(
            WIDE, spec=CkksSpec(ring_degree=8192, limb_bits=(31,) * 5, special_bits=30)
        )
    },
}


@pytest.mark.parametrize("changes", MISALIGNED.values(), ids=MISALIGNED)
def test_sums_of_differently_encoded_tensors_are_refused(changes):
    x = encrypted()
    with pytest.raises(EncryptionError, match="summands differ"):
        rules.add(x, replace(x, **changes))


def test_scales_that_differ_by_rounding_only_may_be_added():
    x = encrypted()
    total = rules.add(x, replace(x, log2_scale=30 + rules.SCALE_TOLERANCE / 2))
    assert total.bound == 2.0
    assert total.noise == 2 * x.noise  # no independence is assumed


def test_rescaling_divides_scale_and_noise_and_adds_rounding():
    product = rules.multiply(encrypted(), encrypted())
    down = rules.rescale(product, 3)
    assert down.limbs == 3
    assert down.log2_scale == pytest.approx(60 - math.log2(math.prod(WIDE.primes[3:5])))
    assert down.noise == pytest.approx(rounding(8192, 3))  # the noise itself vanished
    noisy = rules.rescale(replace(product, noise=2.0**50), 4)
    assert noisy.noise == pytest.approx(2.0**50 / WIDE.primes[4], rel=1e-2)
    assert down.bound == product.bound


@pytest.mark.parametrize("limbs", [0, 6, -1])
def test_rescaling_to_limbs_that_do_not_exist_is_refused(limbs):
    with pytest.raises(EncryptionError, match="cannot rescale"):
        rules.rescale(encrypted(), limbs)


def test_only_three_polynomials_are_relinearised():
    with pytest.raises(EncryptionError, match="three polynomials"):
        rules.relinearize(encrypted())
    assert rules.relinearize(rules.multiply(encrypted(), encrypted())).polys == 2


def test_products_are_not_multiplied_further_without_relinearisation():
    product = rules.multiply(encrypted(), encrypted())
    for pair in ((product, encrypted()), (encrypted(), product), (product, product)):
        with pytest.raises(EncryptionError, match="Relinearise first"):
            rules.multiply(*pair)
    assert rules.multiply(rules.relinearize(product), encrypted()).polys == 3


@given(noise=st.floats(1, 2**40), bits=st.integers(0, 40), polys=st.sampled_from([2, 3]))
def test_flooding_is_that_many_bits_above_everything_it_must_hide(noise, bits, polys):
    x = replace(encrypted(), noise=noise, polys=polys)
    hidden = rules.TAIL * math.hypot(noise, zero_noise(x))
    amplitude = 2.0 ** rules.flooding(x, bits)
    assert hidden * 2**bits <= amplitude < 2 * hidden * 2**bits
    flooded = rules.sanitize(x, bits)
    assert flooded.noise >= amplitude / math.sqrt(3)


def test_flooding_that_leaves_no_room_for_the_value_is_refused():
    with pytest.raises(EncryptionError, match="wrap around"):
        rules.sanitize(encrypted(SMALL, log2_scale=58.0), 60)


def test_an_error_bound_counts_slots_from_coefficients():
    x = encrypted()
    ratio = rules.slot_error(x) / rules.coefficient_error(x)
    assert ratio == pytest.approx(math.sqrt(8192), rel=1e-2)


def test_float64_limits_what_any_number_of_limbs_can_resolve():
    wide = CkksParameters(CkksSpec(ring_degree=16384, limb_bits=(31,) * 7, special_bits=31))
    x = rules.fresh(wide, count=1, limbs=7, log2_scale=100.0, bound=1.0)
    assert rules.slot_error(x) >= rules.CLEARTEXT_ERROR


def test_a_sum_over_ciphertexts_counts_all_of_them():
    product = rules.multiply(encrypted(), encrypted())
    total = rules.total(product, bound=1.5)
    assert (total.count, total.bound) == (1, 1.5)
    assert total.noise == pytest.approx(3 * product.noise)


@given(terms=st.integers(1, 300), noise=st.floats(1, 2**40), bound=st.floats(0.01, 100))
def test_alike_tensors_are_added_as_one_after_the_other(terms, noise, bound):
    each = replace(encrypted(), noise=noise, bound=bound)
    assert rules.added(each, terms) == functools.reduce(rules.add, [each] * terms)
