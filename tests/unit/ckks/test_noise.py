"""Stated deviations against draws; tests/contract holds them against real ciphertexts."""

import math

import numpy as np
import pytest
from msgspec.structs import replace

from securefair.ckks import rules
from securefair.ckks.noise import (
    LATE,
    TAIL_OF_S,
    TAIL_OF_S2,
    rounding,
    switching_limbs,
    switching_noise,
    zero_noise,
)
from securefair.ckks.parameters import CkksParameters, CkksSpec

N = 4096
PARAMS = CkksParameters(CkksSpec(ring_degree=N, limb_bits=(30, 30), special_bits=30))


def in_slots(polynomial):
    """Values at the odd powers of a 2N-th root of unity: products of polynomials become theirs."""
    turn = np.exp(-1j * math.pi * np.arange(N) / N)
    return np.fft.fft(polynomial * turn)


def drawn(polys, seed):
    """Values of r0 + r1 s + r2 s^2, of rounding errors r and a ternary secret s."""
    rng = np.random.default_rng(seed)
    secret = in_slots(rng.integers(-1, 2, N))
    return sum(in_slots(rng.uniform(-0.5, 0.5, N)) * secret**power for power in range(polys))


@pytest.mark.parametrize("polys", [2, 3])
def test_a_division_rounds_as_stated(polys):
    """Of 32 secrets: what it adds in coefficients is measured, in slots it is bounded."""
    values = np.concatenate([drawn(polys, seed) for seed in range(32)])
    measured = math.sqrt(np.mean(np.abs(values) ** 2) / N)  # that of a coefficient
    assert measured == pytest.approx(rounding(N, polys, slots=False), rel=0.02)
    deviations = np.abs(values.real).max() / math.sqrt(N)
    assert deviations <= rules.TAIL * rounding(N, polys)


@pytest.mark.parametrize(("polys", "tail"), [(2, TAIL_OF_S), (3, TAIL_OF_S2)])
def test_tails_of_single_slots_are_allowed_for(polys, tail):
    ratio = rounding(N, polys) / rounding(N, polys, slots=False)
    assert ratio == pytest.approx(tail, rel=1e-3)


def test_key_switching_and_zeros_round_at_least_once():
    x = rules.fresh(PARAMS, count=1, limbs=2, log2_scale=20.0, bound=1.0)
    assert switching_noise(x) > rounding(N, 2)
    assert zero_noise(x) == pytest.approx(rounding(N, 2), rel=1e-3)
    assert zero_noise(replace(x, polys=3)) > rounding(N, 3)


def test_a_longer_special_prime_makes_key_switching_finer():
    specs = [
        CkksSpec(ring_degree=N, limb_bits=(30, 30), special_bits=bits) for bits in (20, 25, 30)
    ]
    noises = [
        switching_noise(
            rules.fresh(CkksParameters(spec), count=1, limbs=2, log2_scale=20.0, bound=1.0)
        )
        for spec in specs
    ]
    assert noises == sorted(noises, reverse=True)
    assert noises[0] / noises[1] == pytest.approx(2**5, rel=0.05)  # digits decide there


LONG = CkksParameters(CkksSpec(ring_degree=8192, limb_bits=(31, 27, 27, 27, 27), special_bits=31))


def product(noise):
    x = rules.fresh(LONG, count=1, limbs=5, log2_scale=20.0, bound=1.0)
    return replace(rules.multiply(x, x), noise=noise)


def relinearised(x, at, limbs):
    return rules.rescale(rules.relinearize(rules.rescale(x, at)), limbs)


@pytest.mark.parametrize("log2_noise", range(2, 110, 9))
@pytest.mark.parametrize("limbs", [1, 2, 4, 5])
def test_keys_are_switched_as_late_as_the_noise_allows(log2_noise, limbs):
    x = product(2.0**log2_noise)
    at = switching_limbs(x, limbs)
    most = (1 + LATE) * relinearised(x, 5, limbs).noise
    assert relinearised(x, at, limbs).noise <= most
    assert all(relinearised(x, lower, limbs).noise > most for lower in range(limbs, at))


def test_much_noise_lets_a_switch_wait_to_the_end_and_little_for_one_prime_less():
    assert switching_limbs(product(2.0**110), 2) == 2
    assert switching_limbs(product(2.0**50), 2) == 3
    assert switching_limbs(product(1.0), 5) == 5
