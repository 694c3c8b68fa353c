import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from securefair.ckks import masking, rules
from securefair.ckks.parameters import CkksParameters, CkksSpec

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30), special_bits=30))


def answer(noise=2.0**20, limbs=1, flood=0.0):
    x = rules.fresh(PARAMS, count=1, limbs=limbs, log2_scale=10, bound=1.0)
    return replace(x, noise=noise, flood=flood)


def test_a_number_tells_what_the_modulus_holds_above_the_flooding():
    # Uniform in [-2^20, 2^20): 30 bits of modulus less 21.
    flooded = answer(noise=1.0, flood=2.0**20)
    log_q = math.log2(PARAMS.primes[0])
    assert masking.number_bits(flooded) == pytest.approx(log_q - 21)
    assert masking.number_bits(answer(noise=1.0, flood=2.0**40)) == 0.0
    # Rounding errors of the masks hide nothing from a student who looks at c0 alone.
    assert masking.number_bits(answer(noise=2.0**20, flood=0.25)) == pytest.approx(log_q)


def test_the_bits_of_a_number_are_its_entropy_above_the_flooding():
    """Measured: messages spread over all residues, seen through uniform noise."""
    q, width, count = 1 << 12, 1 << 7, 400_000
    rng = np.random.default_rng(0)
    message, noise = rng.integers(0, q, count), rng.integers(0, width, count)
    joint = np.histogram2d(message >> 4, ((message + noise) % q) >> 4, bins=256)[0] / count
    marginals = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    told = joint[joint > 0] @ np.log2(joint[joint > 0] / marginals[joint > 0])
    assert told <= math.log2(q / width) + 0.3  # and the estimate's bias


@given(coefficients=st.integers(0, 4096), noise=st.floats(1, 2.0**28), limbs=st.integers(1, 2))
def test_more_numbers_and_less_flooding_never_mask_better(coefficients, noise, limbs):
    here = masking.masks_hold(answer(noise, limbs), coefficients)
    if here:
        assert masking.masks_hold(answer(noise, limbs), max(0, coefficients - 1))
        assert masking.masks_hold(answer(2 * noise, limbs), coefficients)
    else:
        assert not masking.masks_hold(answer(noise, limbs), coefficients + 1)
        assert not masking.masks_hold(answer(noise / 2, limbs), coefficients)


def test_all_coefficients_show_the_whole_mask_and_none_show_nothing():
    assert not masking.masks_hold(answer(), 4096)
    assert masking.masks_hold(answer(), 0)
    assert masking.shown_coordinates(answer(), 0) == 0


def test_the_dimension_that_masks_stands_in_the_security_table():
    # At the full modulus that the ring degree allows, all coordinates are needed.
    spec = CkksSpec(ring_degree=4096, limb_bits=(30, 30, 30), special_bits=16)
    full = rules.fresh(CkksParameters(spec), count=1, limbs=3, log2_scale=10, bound=1.0)
    assert masking.masking_dimension(full) == pytest.approx(4096 * (90 + 3.5) / 106, rel=0.01)
    # Half the bits need about half the dimension: 53 bits at 2048 (ePrint 2024/463).
    small = masking.masking_dimension(answer(limbs=1))
    assert small == pytest.approx(2048 * (30 + 3.5) / 53, rel=0.01)
