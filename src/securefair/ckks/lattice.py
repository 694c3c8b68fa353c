"""How many operations the best-known kind of attack on a ring learning-with-errors key would take.

This follows the method of the public lattice-estimator (Albrecht, Player, Scott 2015, and its
successor) for one attack, the primal attack by unique shortest vectors, and for two cost models:

    Kannan's embedding with the secret rescaled to the size of the error (Bai and Galbraith 2014):
        dimension d = n + m + 1, volume q^m x^n, x = error deviation / secret deviation
    block size: the smallest beta for which some m gives (Alkim, Ducas, Poeppelmann, Schwabe 2016)
        sqrt(beta) sigma <= delta^(2 beta - d - 1) volume^(1/d)
        delta = ((pi beta)^(1/beta) beta / (2 pi e))^(1 / (2 (beta - 1)))    (Chen 2013)
    cost in bits, the second by Becker, Ducas, Gama, Laarhoven 2016
        core_svp  0.292 beta                          one call of a sieve, nothing else (ADPS 2016)
        bdgl16    0.292 beta + 16.4 + log2(8 d)       every one of 8 d calls

An **estimate**, and no proof. Other attacks may do better: in printed results of the estimator, for
parameters like ours, its dual hybrid attack needs 1 to 4 bits less. What keeps the margin is not
this module but `security.MAX_LOG_QP`, the table of Bossuat et al. 2024 for all of its attacks. The
ring's structure is not used by any attack that is counted here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from securefair.ckks.parameters import CkksParameters
from securefair.ckks.security import ERROR_STD

TERNARY_STD = math.sqrt(2 / 3)
"""Of SEAL's secret keys: -1, 0 and 1 alike."""

SIEVE = 0.292
"""Exponent of the fastest sieve on classical machines."""

MIN_BLOCK = 50
"""The formula for delta holds from about here on."""

MAX_BLOCK = 20_000


@dataclass(frozen=True)
class LatticeEstimate:
    """What the primal attack takes.

    Attributes:
        block: beta, of lattice reduction.
        dimension: d, of the lattice.
        core_svp: bits, by the cost model that counts one call of a sieve.
        bdgl16: bits, by the one that counts every call.
    """

    block: int
    dimension: int
    core_svp: float
    bdgl16: float


def estimate(params: CkksParameters) -> LatticeEstimate:
    """The estimate for the keys of a parameter set: their modulus is the product of all primes."""
    return primal_attack(
        n=params.ring_degree,
        log2_q=params.log_qp,
        secret_std=TERNARY_STD,
        error_std=ERROR_STD,
        samples=2 * params.ring_degree,
    )


def estimator_call(params: CkksParameters) -> str:
    """The same question to the public lattice-estimator, to be asked in Sage."""
    product = math.prod((*params.primes, params.special_prime))
    return (
        f"LWE.estimate(LWE.Parameters(n={params.ring_degree}, q={product}, "
        f"Xs=ND.Uniform(-1, 1), Xe=ND.DiscreteGaussian({ERROR_STD:.4f})), "
        "red_cost_model=RC.BDGL16)"
    )


def primal_attack(
    *, n: int, log2_q: float, secret_std: float, error_std: float, samples: int
) -> LatticeEstimate:
    """The cheapest primal attack on learning with errors.

    Args:
        n: dimension of the secret.
        log2_q: bits of the modulus.
        secret_std, error_std: standard deviations of a coordinate.
        samples: most that the attacker has.

    Raises:
        ValueError: no block size up to `MAX_BLOCK` suffices.
    """
    rescaling = math.log2(max(1.0, error_std / secret_std))

    def slack(block: int, dimension: int) -> float:
        """log2 by which the shortest vector is short enough; negative: it is not."""
        m = dimension - n - 1
        volume = (m * log2_q + n * rescaling) / dimension
        found = (2 * block - dimension - 1) * math.log2(_delta(block)) + volume
        return found - math.log2(error_std) - math.log2(block) / 2

    def best_dimension(block: int) -> int:
        """Where (m log q + n log x) / d - d log delta is largest."""
        optimum = math.sqrt(((n + 1) * log2_q - n * rescaling) / math.log2(_delta(block)))
        return min(max(n + 2, round(optimum)), n + samples + 1)

    low, high = MIN_BLOCK, MAX_BLOCK
    if slack(high, best_dimension(high)) < 0:
        raise ValueError(f"no block size up to {MAX_BLOCK} suffices")
    while low < high:
        middle = (low + high) // 2
        if slack(middle, best_dimension(middle)) >= 0:
            high = middle
        else:
            low = middle + 1
    smallest, largest = min(n + 2, best_dimension(low)), best_dimension(low)
    while smallest < largest:
        middle = (smallest + largest) // 2
        if slack(low, middle) >= 0:
            largest = middle
        else:
            smallest = middle + 1
    core = SIEVE * low
    return LatticeEstimate(low, smallest, core, core + 16.4 + math.log2(8 * smallest))


def _delta(block: int) -> float:
    """Root Hermite factor of lattice reduction with this block size."""
    base = (math.pi * block) ** (1 / block) * block / (2 * math.pi * math.e)
    return float(base ** (1 / (2 * (block - 1))))
