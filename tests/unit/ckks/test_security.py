"""The modulus caps against sources that this package does not compute from."""

import _sealapi_cpp as seal
import pytest

from securefair.ckks.security import MAX_LOG_QP

# ePrint 2024/463, Table 5.2, column "classical, 128", ternary secret, error deviation 3.19.
GUIDELINES_2024 = {
    1024: 26,
    2048: 53,
    4096: 106,
    8192: 214,
    16384: 430,
    32768: 868,
    65536: 1747,
}


@pytest.mark.parametrize("degree", sorted(MAX_LOG_QP))
def test_caps_are_those_of_the_2024_guidelines(degree):
    assert MAX_LOG_QP[degree] == GUIDELINES_2024[degree]


@pytest.mark.parametrize("degree", sorted(MAX_LOG_QP))
def test_caps_are_stricter_than_those_of_seal(degree):
    # SEAL keeps the tables of the 2018 standard; attacks have become a little better since.
    older = seal.CoeffModulus.MaxBitCount(degree, seal.SEC_LEVEL_TYPE.TC128)
    assert 0 < older - MAX_LOG_QP[degree] <= 0.03 * older


def test_caps_grow_a_little_faster_than_the_ring():
    degrees = sorted(MAX_LOG_QP)
    per_degree = [MAX_LOG_QP[n] / n for n in degrees]
    assert per_degree == sorted(per_degree)
    assert per_degree[-1] < 1.03 * per_degree[0]
