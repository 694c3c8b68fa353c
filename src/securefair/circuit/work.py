"""How long the steps of a network take, roughly: what the planner weighs against each other.

Prices are those of one core of a server processor with AVX-512 (AMD EPYC of the fifth generation).
Ratios matter here, and they change little; `securefair profile cnn` measures.
"""

from __future__ import annotations

import math
from functools import lru_cache

from msgspec.structs import replace

from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.noise import switching_limbs
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherMeta

TRANSFORM_STEP = 4.5e-11
"""Seconds for one of the N log2 N steps of a transform of one polynomial under one prime."""

PRODUCT = 2.5e-10
"""Seconds for a product of two residues that is added to a sum."""

MULTIPLY_ADD, SHORT_MULTIPLY_ADD = 2.3e-11, 1.7e-11
"""Seconds for a residue times a weight of a linear map, the second of primes below 2^28."""

SHORT_BITS = 28

OUTPUT = 1.0e-9
"""Seconds to finish and store one residue of a linear map, however much was added up."""


PREPARED = 4.0e-9
"""Seconds to round a coefficient of a form and to bring it below one prime."""

FORM_ENTRY = 1.0e-10
"""Seconds for a unit's share in an entry of a quadratic form."""

ENCRYPTION = 8.2e-8
"""Seconds for one residue of a seeded encryption: sampled, multiplied with the key, written."""

SHIFT = 1.2e-9
"""Seconds for a residue that is multiplied with a monomial, written, and read again."""

BYTE = 8e-8
"""Seconds for a byte on the way between two hospitals, at 100 Mbit/s."""


def encryption_seconds(x: CipherMeta) -> float:
    """A student's encryption of all of x."""
    return x.count * x.limbs * x.params.ring_degree * ENCRYPTION


def map_seconds(x: CipherMeta, outputs: int, multiply_adds: int) -> float:
    """A linear map of values like x."""
    short = _short_limbs(x.params.spec.limb_bits, x.limbs)
    each = short * SHORT_MULTIPLY_ADD + (x.limbs - short) * MULTIPLY_ADD
    return x.polys * x.params.ring_degree * (multiply_adds * each + outputs * x.limbs * OUTPUT)


@lru_cache(maxsize=1 << 10)
def _short_limbs(limb_bits: tuple[int, ...], limbs: int) -> int:
    return sum(bits <= SHORT_BITS for bits in limb_bits[:limbs])


def square_seconds(x: CipherMeta) -> float:
    """Squares of x, summed or not."""
    return 4 * x.count * x.limbs * x.params.ring_degree * PRODUCT


def forms_seconds(x: CipherMeta, spec: ExchangeSpec) -> float:
    """Inner products of x with a form for each class, which are made and transformed first."""
    residues = spec.classes * x.count * x.limbs * x.params.ring_degree
    entries = spec.classes * max(1, spec.hidden) * (spec.features + 1) ** 2
    transforms = spec.classes * x.count * x.limbs * _transform(x)
    return residues * (2 * PRODUCT + PREPARED) + transforms + entries * FORM_ENTRY


def relinearization_seconds(x: CipherMeta) -> float:
    """Key switching of all of x: a digit for every prime, each transformed under all others."""
    limbs = x.limbs
    transforms = limbs * (limbs + 2) + 2 * (limbs + 1)
    products = 2 * limbs * (limbs + 1)
    return x.count * (transforms * _transform(x) + products * x.params.ring_degree * PRODUCT)


def separation_seconds(x: CipherMeta, spec: AffineSpec) -> float:
    """Hidden units of features beside each other, after their map: every feature is shifted, a
    group of `parts` units goes through two Fourier transforms and 2 (parts - 1) switches."""
    parts, units = x.parts, spec.outputs
    groups = -(-units // parts)
    switched = groups * 2 * (parts - 1) * relinearization_seconds(replace(x, count=1))
    shifts = spec.inputs + 2 * units + 2 * groups * parts * math.log2(parts) / 2
    return switched + shifts * 2 * x.limbs * x.params.ring_degree * SHIFT


def rescaling_seconds(x: CipherMeta, limbs: int) -> float:
    """Division of x by its last primes until so many are left."""
    return x.count * x.polys * x.limbs * _transform(x) if limbs < x.limbs else 0.0


def switching_seconds(x: CipherMeta, limbs: int) -> float:
    """Products x to two polynomials of so many limbs, as `network.relinearized` does it."""
    at = switching_limbs(x, limbs)
    there = replace(x, limbs=at, polys=2)
    seconds = rescaling_seconds(x, at) + relinearization_seconds(there)
    return seconds + rescaling_seconds(there, limbs)


def _transform(x: CipherMeta) -> float:
    n = x.params.ring_degree
    return n * math.log2(n) * TRANSFORM_STEP
