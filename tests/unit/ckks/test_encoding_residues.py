"""Residues of values in coefficients, also where their integers are wider than a machine word."""

from fractions import Fraction
from math import log2, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.ckks.encoding import coefficient_residues
from securefair.ckks.primes import MAX_LIMB_BITS
from support.examples import examples

PRIMES = (2147352577, 1073692673, 1073668097, 134176769, 132120577)  # 147 bits
MODULUS = prod(PRIMES)
values = st.lists(st.floats(-1, 1, width=64), min_size=1, max_size=6)


def centred(residues):
    """Residues (limbs,) -> the integer of least size that has them."""
    total = 0
    for residue, p in zip(residues.tolist(), PRIMES, strict=True):
        rest = MODULUS // p
        total += residue * rest * pow(rest, -1, p)
    total %= MODULUS
    return total - MODULUS if 2 * total > MODULUS else total


def found(rows, log2_scale, width):
    residues = coefficient_residues(np.array(rows), log2_scale, width, PRIMES)
    assert residues.shape == (len(rows), len(PRIMES), width)
    assert residues.dtype == np.int64
    moduli = np.array(PRIMES)[:, None]
    assert (residues >= 0).all()
    assert (residues < moduli).all()
    return [[centred(residues[i, :, j]) for j in range(width)] for i in range(len(rows))]


def test_the_primes_of_these_tests_are_some():
    assert len(set(PRIMES)) == len(PRIMES)
    assert all(p < 2**MAX_LIMB_BITS and pow(3, p - 1, p) == 1 for p in PRIMES)


@settings(max_examples=examples(50))
@given(row=values, bits=st.integers(0, 61))
def test_below_62_bits_they_are_those_of_exact_integers(row, bits):
    """Products with a power of two are exact; `round` rounds halves to even, as `rint` does."""
    expected = [round(Fraction(x) * 2**bits) for x in row] + [0]
    assert found([row], float(bits), len(row) + 1) == [expected]


@settings(max_examples=examples(50))
@given(row=values, scale=st.floats(0.25, 61.9))
def test_scales_need_not_be_whole_bits(row, scale):
    expected = [int(np.rint(x * 2.0**scale)) for x in row]
    assert found([row], scale, len(row)) == [expected]


@settings(max_examples=examples(50))
@given(row=values, scale=st.floats(62, 110), largest=st.floats(0.01, 30))
def test_beyond_they_are_of_one_integer_within_the_last_digit(row, scale, largest):
    """Relative to the largest value, whose last digit in 62 bits lies below that of a double."""
    row = [largest * x for x in row]
    size = max(map(abs, [1.0, *row]))
    whole = found([row], scale, len(row))[0]
    for value, integer in zip(row, whole, strict=True):
        exact = Fraction(value) * Fraction(2.0**scale)
        allowed = abs(exact) / 2**52 + Fraction(size) * Fraction(2.0**scale) / 2**61
        assert abs(integer - exact) <= allowed
    lowest = 1 << max(0, int(np.ceil(scale + log2(size))) - 62)
    assert all(integer % lowest == 0 for integer in whole)


@pytest.mark.parametrize("bits", [61, 62, 63, 64, 90, 110])
def test_the_largest_values_keep_their_sign_and_size(bits):
    assert found([[1.0, -1.0, 0.0]], float(bits), 3) == [[2**bits, -(2**bits), 0]]


def test_rows_of_different_sizes_are_at_one_scale():
    assert found([[3.0], [2.0**-40]], 70.0, 1) == [[3 * 2**70], [2**30]]


def test_nothing_gives_nothing():
    assert coefficient_residues(np.zeros((0, 4)), 70.0, 8, PRIMES).shape == (0, len(PRIMES), 8)
