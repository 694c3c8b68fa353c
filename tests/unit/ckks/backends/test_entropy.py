"""Flooding noise: its distribution, its range, and that all limbs hold the same integer.

Statistical bounds are wide enough that a correct generator fails less than once in 10^9 runs.
"""

import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks.backends import entropy
from securefair.ckks.backends.entropy import uniform_residues
from securefair.ckks.primes import ntt_primes

PRIMES = ntt_primes(4096, 31, 6)


def integers(residues, primes):
    """Residues (..., limbs, n) -> the one signed integer (..., n) that they are residues of."""
    product = math.prod(primes)
    limbs = np.moveaxis(residues.astype(object), -2, 0)
    value = sum(
        limb * (product // p) * pow(product // p, -1, p)
        for limb, p in zip(limbs, primes, strict=True)
    )
    value = value % product
    return np.where(value > product // 2, value - product, value)


def drawn(bits, shape, primes):
    return integers(uniform_residues(bits, shape, np.array(primes)), primes)


@given(
    bits=st.integers(0, 170),
    extra=st.integers(0, 1),
    shape=st.sampled_from([(7,), (2, 5), (1, 64)]),
)
def test_every_limb_holds_the_same_integer_within_the_amplitude(bits, extra, shape):
    limbs = (bits + 2) // 30 + 1 + extra
    if limbs > len(PRIMES):
        return
    residues = uniform_residues(bits, shape, np.array(PRIMES[:limbs]))
    assert residues.shape == (*shape[:-1], limbs, shape[-1])
    assert (residues >= 0).all()
    assert (residues < np.array(PRIMES[:limbs])[:, None]).all()
    # A residue of its own under each prime would reconstruct to something near the product.
    values = integers(residues, PRIMES[:limbs])
    assert (values >= -(2**bits)).all()
    assert (values < 2**bits).all()


def test_fewer_limbs_than_the_amplitude_hold_it_modulo_them(monkeypatch):
    stream = os.urandom(4 * 4 * 100)
    monkeypatch.setattr(entropy.os, "urandom", lambda size: stream[:size])
    wide = uniform_residues(100, (100,), np.array(PRIMES[:4]))
    narrow = uniform_residues(100, (100,), np.array(PRIMES[:2]))
    assert (wide[:2] == narrow).all()


@pytest.mark.parametrize("bits", [0, 1, 30, 31, 32, 63, 64, 95, 96, 123])
def test_all_bits_of_the_integer_are_uniform_and_independent(bits):
    count = 20_000
    limbs = (bits + 2) // 30 + 1
    values = drawn(bits, (count,), PRIMES[:limbs]) + 2**bits  # uniform in [0, 2^(bits + 1))
    packed = np.frombuffer(b"".join(int(v).to_bytes(16, "little") for v in values), np.uint8)
    each = np.unpackbits(packed.reshape(count, 16), axis=1, bitorder="little")[:, : bits + 1]
    # Binomial with deviation sqrt(count) / 2; 7 deviations for each of 124 bits: below 10^-9.
    ones, pairs = each.sum(axis=0), (each[:, :-1] ^ each[:, 1:]).sum(axis=0)
    assert np.abs(ones - count / 2).max() < 7 * math.sqrt(count) / 2
    assert np.abs(pairs - count / 2).max(initial=0) < 7 * math.sqrt(count) / 2


def test_the_distribution_is_uniform_by_chi_square():
    values = drawn(40, (64_000,), PRIMES[:2]).astype(np.float64)
    counts, _ = np.histogram(values, bins=64, range=(-(2.0**40), 2.0**40))
    statistic = ((counts - 1000) ** 2 / 1000).sum()
    # 63 degrees of freedom: beyond 168 with probability 2e-11, below 12 with 2e-13.
    assert 12 < statistic < 168


def test_mean_and_variance_are_those_of_a_uniform_integer():
    amplitude = 2.0**50
    values = drawn(50, (100_000,), PRIMES[:2]).astype(np.float64) / amplitude
    assert abs(values.mean()) < 7 / math.sqrt(3 * len(values))
    assert values.var() == pytest.approx(1 / 3, rel=7 * math.sqrt(0.8 / len(values)))


def test_two_draws_have_nothing_in_common():
    first = uniform_residues(60, (1000,), np.array(PRIMES[:3]))
    second = uniform_residues(60, (1000,), np.array(PRIMES[:3]))
    assert (first != second).any(axis=0).all()


def test_the_only_source_is_the_operating_system(monkeypatch):
    requests = []

    def urandom(size):
        requests.append(size)
        return bytes(size)

    monkeypatch.setattr(entropy.os, "urandom", urandom)
    lowest = integers(uniform_residues(45, (2, 3), np.array(PRIMES[:2])), PRIMES[:2])
    assert requests == [4 * 2 * 6]  # two words for 46 bits, six integers
    assert (lowest == -(2**45)).all()  # nothing but those bits decides
    monkeypatch.setattr(entropy.os, "urandom", lambda size: b"\xff" * size)
    highest = integers(uniform_residues(45, (2, 3), np.array(PRIMES[:2])), PRIMES[:2])
    assert (highest == 2**45 - 1).all()


def test_amplitudes_below_one_are_refused():
    with pytest.raises(ValueError, match="amplitude"):
        uniform_residues(-1, (4,), np.array(PRIMES[:1]))
