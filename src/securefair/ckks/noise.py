"""Noise that operations add of themselves: key switches, divisions and encryptions of zero.

Each figure is the standard deviation of a coefficient's error, in integer units. `rules` says how
it joins the noise that is there already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache

from securefair.ckks.parameters import CkksParameters
from securefair.ckks.security import ERROR_STD
from securefair.ckks.tensor import CipherMeta

TAIL_OF_S, TAIL_OF_S2 = 2.2, 7.0
"""What r s and r s^2, r a rounding error, need in a slot over a Gaussian, for `rules.TAIL`'s 2^-50.

s is a complex Gaussian there. |s|^2 is exponential, so Re(r s) exceeds t deviations with
probability exp(-2t), Re(r s^2) with about exp(-1.5 (4 t^2)^(1/3)): 17.3 and 55 deviations.
"""


def switching_noise(x: CipherMeta) -> float:
    """Deviation of what switching a polynomial of x to the key s adds.

    One digit a data prime: noise sum_i d_i e_i / P with d_i uniform below q_i, and the rounding
    of the division by the special prime P. Digits are not centred: the mean q_i / 2 of their
    coefficients adds up to q_i / (1 - zeta) at a root zeta, N q_i / pi next to 1. That slot
    decides.
    """
    return _switching_noise(x.params, x.limbs)


def _switching_noise(params: CkksParameters, limbs: int) -> float:
    return _switched(params.ring_degree, params.norm(limbs), params.special_prime)


# A search asks for these of a few primes some hundred thousand times.
_remembered = lru_cache(maxsize=1 << 12)


@_remembered
def _switched(n: int, norm: float, special_prime: int) -> float:
    return math.hypot(n / math.pi * norm * ERROR_STD / special_prime, rounding(n, 2))


def zero_noise(x: CipherMeta) -> float:
    """Deviation of the fresh public-key encryptions of zero that sanitising adds.

    Made one prime higher, e u + e0 + e1 s with ternary u and s, and divided by that prime. For
    three polynomials a second one is added, whose error is multiplied by s;
    """
    params = x.params
    above = params.primes[x.limbs] if x.limbs < params.limbs else params.special_prime
    return _zero_noise(params.ring_degree, above, x.polys)


@_remembered
def _zero_noise(n: int, above: int, polys: int) -> float:
    drawn = ERROR_STD * math.sqrt(1 + 4 * n / 3) / above
    once = math.hypot(drawn, rounding(n, 2))
    if polys == 2:
        return once
    again = math.hypot(drawn * math.sqrt(4 * n / 3), rounding(n, polys))
    return math.hypot(once, again)


@cache
def rounding(ring_degree: int, polys: int, *, slots: bool = True) -> float:
    """Deviation of the rounding error of one division, seen after decryption in slots or only in
    coefficients.

    Each polynomial is rounded by at most 1/2 and multiplied by a power of the ternary secret s:
    a coefficient of r1 s has variance (2 N / 3) / 12, one of r2 s^2 about (8 N^2 / 9) / 12.
    """
    n = ring_degree
    variance = 1 + 2 * n / 3 * (TAIL_OF_S**2 if slots else 1)
    if polys > 2:
        variance += 8 * n * n / 9 * (TAIL_OF_S2**2 if slots else 1)
    return math.sqrt(variance / 12)


def divided(noise: float, x: CipherMeta, limbs: int, *, polys: int, slots: bool = True) -> float:
    """Noise after divisions by the last primes of x."""
    rounded = rounding(x.params.ring_degree, polys, slots=slots)
    return _divided(noise, x.params.primes[limbs : x.limbs], rounded)


def _divided(noise: float, primes: Sequence[int], rounded: float) -> float:
    for prime in reversed(primes):
        noise = math.hypot(noise / prime, rounded)
    return noise


LATE = 2.0**-6
"""Share by which a switch may raise noise when it is put off."""


def switching_limbs(x: CipherMeta, limbs: int) -> int:
    """Limbs at which a product on its way down to `limbs` is best relinearised: as few as the noise
    allows, as time and key grow with their square.

    Divisions round a third polynomial too, whose error s^2 multiplies, and the noise of the switch
    is divided by fewer primes after it. As long as x has far more noise, neither counts.
    """
    if limbs >= x.limbs:
        return x.limbs
    params, primes = x.params, x.params.primes
    two, three = rounding(params.ring_degree, 2), rounding(params.ring_degree, 3)

    def switched(at: int) -> float:
        noise = _divided(x.noise, primes[at : x.limbs], three) + _switching_noise(params, at)
        return _divided(noise, primes[limbs:at], two)

    most = (1 + LATE) * switched(x.limbs)
    return next((at for at in range(limbs, x.limbs) if switched(at) <= most), x.limbs)
