import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks.primes import MAX_LIMB_BITS, is_prime, ntt_primes

# Composites that fool weaker tests: Carmichael numbers, and the least numbers that are strong
# pseudoprimes to the first k prime bases (OEIS A014233).
IMPOSTORS = [
    561,
    1729,
    2047,
    1373653,
    25326001,
    3215031751,
    2152302898747,
    3474749660383,
    341550071728321,
    3825123056546413051,
    318665857834031151167461,
]


def sieve(limit):
    composite = bytearray(limit)
    for n in range(2, limit):
        if not composite[n]:
            yield n
            composite[n * n :: n] = b"\1" * len(range(n * n, limit, n))


def test_small_primes_agree_with_a_sieve():
    assert [n for n in range(20_000) if is_prime(n)] == list(sieve(20_000))


@pytest.mark.parametrize("number", IMPOSTORS)
def test_strong_pseudoprimes_are_not_primes(number):
    assert not is_prime(number)


@pytest.mark.parametrize("number", [2**31 - 1, 2**61 - 1])
def test_mersenne_primes_are_primes(number):
    assert is_prime(number)


@given(st.integers(2, 2**20), st.integers(2, 2**20))
def test_products_are_not_primes(a, b):
    assert not is_prime(a * b)


@pytest.mark.parametrize("degree", [4096, 8192, 16384, 32768])
@pytest.mark.parametrize("bits", [25, 30, 31])
def test_the_largest_primes_of_a_size_come_first(degree, bits):
    found = ntt_primes(degree, bits, 3)
    assert len(set(found)) == 3
    for p in found:
        assert is_prime(p)
        assert p % (2 * degree) == 1
        assert p.bit_length() == bits
        assert p < 2**MAX_LIMB_BITS
    # Nothing that qualifies was skipped.
    qualifying = [
        p
        for p in range((2**bits - 1) // (2 * degree) * (2 * degree) + 1, found[-1] - 1, -2 * degree)
        if p.bit_length() == bits and is_prime(p)
    ]
    assert list(found) == qualifying


def test_too_many_primes_are_refused_with_what_there_is():
    with pytest.raises(ValueError, match=r"only \d+ primes of 17 bits are 1 mod 16384, not 9"):
        ntt_primes(8192, 17, 9)
