import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.primes import is_prime
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import PlanError


def parameters(degree, limbs, special):
    return CkksParameters(CkksSpec(ring_degree=degree, limb_bits=limbs, special_bits=special))


@given(
    degree=st.sampled_from(sorted(MAX_LOG_QP)),
    bits=st.lists(st.integers(15, 31), min_size=1, max_size=8),
    special=st.integers(15, 31),
)
def test_whatever_is_granted_is_sound(degree, bits, special):
    try:
        params = parameters(degree, tuple(bits), special)
        primes = (*params.primes, params.special_prime)
    except PlanError:
        return
    assert len(set(primes)) == len(bits) + 1
    for prime, size in zip(primes, (*bits, special), strict=True):
        assert is_prime(prime)
        assert prime % (2 * degree) == 1
        assert prime.bit_length() == size
    assert math.prod(primes).bit_length() <= MAX_LOG_QP[degree]
    assert params.log_qp == pytest.approx(math.log2(math.prod(primes)))
    for limbs in range(len(bits) + 1):
        assert params.log_q(limbs) == pytest.approx(math.log2(math.prod(primes[:limbs])))


def largest_in_a_transform(params, prime, other):
    """As `ntt_forward` of native/ntt.cpp chooses; the bound of what a word must hold."""
    word, growth = 1 << 32, 2 * prime * (params.ring_degree.bit_length() - 1)
    if other + growth <= word:
        return other + growth
    below = prime if other > 4 * prime or 4 * prime > word else other
    return below + growth if prime + growth <= word else 4 * prime


MIXED = st.lists(st.sampled_from([26, 27, 28, 29, 30, 31]), min_size=1, max_size=20)


def exact(params):
    """Whether every transform fits a word; those whose values are reduced at once always do."""
    primes = [*params.primes, params.special_prime]
    return all(
        largest_in_a_transform(params, prime, other) <= 1 << 32
        for prime in primes
        for other in params.primes
        if 4 * prime <= 1 << 32
    )


@given(degree=st.sampled_from(sorted(MAX_LOG_QP)), bits=MIXED)
def test_limbs_whose_transforms_may_wrap_around_are_named(degree, bits):
    try:
        params = parameters(degree, tuple(bits), 31)
    except PlanError:
        return
    assert params.transform_exactly == exact(params)


def test_one_mixture_of_sizes_is_inexact():
    """Some of the twenty primes of 29 bits lie between the room under one of 27 bits and 4p."""
    for many in (28, 29, 30):
        params = parameters(32_768, (27, *(many,) * 20), 31)
        assert params.transform_exactly == exact(params) == (many != 29)


@pytest.mark.parametrize("degree", sorted(MAX_LOG_QP))
def test_one_prime_too_many_is_refused(degree):
    cap = MAX_LOG_QP[degree]
    fitting = (cap - 31) // 31
    parameters(degree, (31,) * fitting, 31)
    with pytest.raises(PlanError) as error:
        parameters(degree, (31,) * (fitting + 1), 31)
    assert error.value.where == "limb_bits"
    assert str(cap) in str(error.value)
    assert error.value.hint


@pytest.mark.parametrize(
    ("degree", "limbs", "special", "where"),
    [
        (2048, (30,), 30, "ring_degree"),
        (4095, (30,), 30, "ring_degree"),
        (65536, (30,), 30, "ring_degree"),
        (4096, (), 30, "limb_bits"),
        (4096, (32,), 30, "limb_bits"),
        (4096, (30,), 32, "limb_bits"),
        (4096, (13,), 30, "limb_bits"),
    ],
)
def test_what_cannot_be_is_refused_by_name(degree, limbs, special, where):
    with pytest.raises(PlanError) as error:
        parameters(degree, limbs, special)
    assert error.value.where == where


def test_a_prime_size_with_too_few_primes_is_a_plan_error():
    with pytest.raises(PlanError) as error:
        parameters(8192, (17,) * 9, 17)
    assert error.value.where == "limb_bits"


def test_the_special_prime_is_the_largest_of_its_size():
    params = parameters(8192, (31, 31, 31), 31)
    assert params.special_prime > max(params.primes)
    assert list(params.primes) == sorted(params.primes, reverse=True)


def test_the_digest_tells_all_parameters_apart():
    sets = [
        parameters(4096, (30, 30), 16),
        parameters(8192, (30, 30), 17),
        parameters(8192, (30, 30), 18),
        parameters(8192, (30, 30, 30), 17),
        parameters(8192, (30, 31), 17),
        parameters(8192, (31, 30), 17),
    ]
    digests = {params.digest for params in sets}
    assert len(digests) == len(sets)
    assert {len(digest) for digest in digests} == {32}
    assert parameters(4096, (30, 30), 16).digest == sets[0].digest


@pytest.mark.parametrize("limbs", [1, 2, 3])
def test_a_prefix_has_the_same_primes(limbs):
    params = parameters(8192, (31, 27, 31), 31)
    short = params.prefix(limbs)
    assert short.primes == params.primes[:limbs]
    assert short.special_prime == params.special_prime
    assert params.prefix(3) is params
