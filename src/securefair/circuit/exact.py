"""Roots, powers and logarithms of fractions, rounded upwards."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt


def root_above(x: Fraction) -> Fraction:
    """A square root, rounded up by less than 2^-64 of itself or so."""
    if x <= 0:
        return Fraction(0)
    shift = 128
    return Fraction(isqrt((x.numerator << 2 * shift) // x.denominator) + 1, 1 << shift)


def power_above(exponent: float) -> Fraction:
    """2^exponent, rounded up by less than 2^-40 of itself."""
    whole = int(exponent // 1)
    part = Fraction(2.0 ** (exponent - whole)) * (1 + Fraction(1, 1 << 40))
    return part * (Fraction(2) ** whole)


def log2_above(x: Fraction) -> Fraction:
    """log2, rounded up to a 64th of a bit: from the bit length of x^64."""
    if x <= 1:
        return Fraction(0)
    power = x**64
    return Fraction((power.numerator // power.denominator).bit_length(), 64)
