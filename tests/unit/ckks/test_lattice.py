"""The security estimate against results that the public lattice-estimator prints."""

import math

import pytest

from securefair.ckks import lattice
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.security import ERROR_STD, MAX_LOG_QP

# (n, log2 q, secret deviation, error deviation, samples), then the estimator's beta, d and bits of
# its attack `usvp`: the README's Kyber512 and Kyber768 (`rough`: core-SVP), a note in OpenFHE's
# examples, two pages of results with red_cost_model=RC.BDGL16.
PUBLISHED = [
    ((512, math.log2(3329), math.sqrt(1.5), math.sqrt(1.5), 512), (406, 998), "core_svp", 118.6),
    ((768, math.log2(3329), 1.0, 1.0, 768), (624, 1427), "core_svp", 182.2),
    ((4096, 59, math.sqrt(2 / 3), 3.2, 1 << 20), (764, 7929), "core_svp", 223.1),
    ((4096, 85, 1.0, 3.2, 8192), (470, 7858), "bdgl16", 169.6),
    ((4096, 128, math.sqrt(184 / 4096), 3.19, 1 << 20), (251, 7799), "bdgl16", 105.6),
]


@pytest.mark.parametrize(("problem", "size", "model", "bits"), PUBLISHED)
def test_it_agrees_with_printed_results(problem, size, model, bits):
    n, log2_q, secret, error, samples = problem
    found = lattice.primal_attack(
        n=n, log2_q=log2_q, secret_std=secret, error_std=error, samples=samples
    )
    block, dimension = size
    assert abs(found.block - block) <= 1
    assert abs(found.dimension - dimension) <= 0.01 * dimension
    assert getattr(found, model) == pytest.approx(bits, abs=0.4)


@pytest.mark.parametrize("degree", sorted(MAX_LOG_QP))
def test_the_largest_moduli_keep_the_margin(degree):
    found = lattice.primal_attack(
        n=degree,
        log2_q=MAX_LOG_QP[degree],
        secret_std=lattice.TERNARY_STD,
        error_std=ERROR_STD,
        samples=2 * degree,
    )
    assert 128 <= found.bdgl16 <= 136
    assert 93 <= found.core_svp <= 102


def test_a_longer_modulus_is_weaker_and_a_larger_ring_stronger():
    def bits(n, log2_q):
        return lattice.primal_attack(
            n=n, log2_q=log2_q, secret_std=0.8, error_std=3.2, samples=2 * n
        ).bdgl16

    assert bits(4096, 80) > bits(4096, 100) > bits(4096, 120)
    assert bits(8192, 100) > bits(4096, 100)


def test_the_estimators_call_names_the_whole_modulus():
    params = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30), special_bits=31))
    call = lattice.estimator_call(params)
    product = math.prod((*params.primes, params.special_prime))
    assert f"q={product}" in call
    assert "n=4096" in call
    assert lattice.estimate(params).bdgl16 > 128


def test_what_cannot_be_attacked_is_said():
    with pytest.raises(ValueError, match="no block size"):
        lattice.primal_attack(n=65536, log2_q=12, secret_std=1, error_std=3.2, samples=65536)
