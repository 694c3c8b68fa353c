"""One contract for the native kernels, at every instruction set, and for torch.

The references are Python integers and numpy, written from the definitions.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks import encoding
from securefair.ckks.backends import kernels
from securefair.ckks.backends.basis import Basis
from securefair.ckks.primes import is_prime, ntt_primes
from unit.ckks.backends.residues import (
    BASIS,
    SPECIAL,
    N,
    all_below,
    corners,
    equals,
    moduli,
    random_residues,
    transform,
    wide,
)


def test_transform_is_the_evaluation_at_odd_powers_of_the_smallest_root(
    compute: ModuleType,
) -> None:
    basis = Basis(N, (BASIS.primes[0], *ntt_primes(N, 29, 1), BASIS.primes[4]))
    x = random_residues(1, basis=basis)
    expected = [transform(tuple(x[i].tolist()), p) for i, p in enumerate(basis.primes)]
    compute.ntt_forward_(x, basis)
    assert x.tolist() == expected


@pytest.mark.parametrize("degree", [1024, 2048, 4096, 8192, 16384, 32768, 65536])
def test_inverse_undoes_the_transform(compute: ModuleType, degree: int) -> None:
    """The shorter a prime, the further may butterflies let values grow."""
    basis = Basis(degree, tuple(ntt_primes(degree, bits, 1)[0] for bits in (31, 29, 27, 26)))
    original = np.concatenate(
        [
            random_residues(2, 1, basis=basis),
            *(corners(1, value=v, basis=basis) for v in (0, 1, -1)),
        ]
    )
    x = original.copy()
    compute.ntt_forward_(x, basis)
    assert all_below(x, basis)
    assert not np.array_equal(x, original)
    compute.ntt_inverse_(x, basis)
    assert np.array_equal(x, original)


def test_product_of_values_is_the_negacyclic_product_of_polynomials(compute: ModuleType) -> None:
    basis = BASIS.prefix(1)
    p = basis.primes[0]
    x = np.zeros((1, 1, 1, N), dtype=np.int32)
    y = np.zeros((1, 1, N), dtype=np.int32)
    x[..., N - 1], y[..., 3] = 5, 7  # 5 X^(N-1) * 7 X^3 = -35 X^2
    compute.ntt_forward_(x, basis)
    compute.ntt_forward_(y, basis)
    product = compute.multiply_plain(x, y, basis)
    compute.ntt_inverse_(product, basis)
    expected = np.zeros(N, dtype=np.int32)
    expected[2] = p - 35
    assert np.array_equal(product.reshape(N), expected)


def test_sums_and_products_of_residues(compute: ModuleType) -> None:
    pairs = [
        (random_residues(3, 2, 2), random_residues(4, 2, 2)),
        (corners(2, 2, value=-1), corners(2, 2, value=-1)),
        (corners(2, 2, value=0), corners(2, 2, value=1)),
    ]
    for x, y in pairs:
        a, b, p = wide(x), wide(y), moduli()
        assert equals(compute.add(x, y, BASIS), (a + b) % p)
        assert equals(compute.subtract(x, y, BASIS), (a - b) % p)
        in_place = x.copy()
        compute.add_(in_place, y, BASIS)
        assert equals(in_place, (a + b) % p)
        plain = y[:, 0].copy()
        product = compute.multiply_plain(x, plain, BASIS)
        assert equals(product, a * wide(plain)[:, None] % p)
        shifted = x.copy()
        compute.add_to_first_(shifted, plain, BASIS)
        assert equals(shifted[:, 0], (a[:, 0] + wide(plain)) % p)
        assert np.array_equal(shifted[:, 1], x[:, 1])


def test_square_and_sums_of_products(compute: ModuleType) -> None:
    p = moduli()
    for x, y in [
        (random_residues(5, 3, 2), random_residues(6, 2, 2)),
        (corners(3, 2, value=-1), corners(2, 2, value=-1)),
    ]:
        a, b = wide(x), wide(y)
        squares = np.stack([a[:, 0] ** 2, 2 * a[:, 0] * a[:, 1], a[:, 1] ** 2], axis=1)
        assert equals(compute.square(x, BASIS), squares % p)

        left = np.array([[0, 1, 2, 2], [1, 1, 0, 2]])
        right = np.array([[0, 1, 1, 0], [1, 1, 1, 1]])
        expected = []
        for i_s, j_s in zip(left.tolist(), right.tolist(), strict=True):
            chosen = [(a[i], b[j]) for i, j in zip(i_s, j_s, strict=True)]
            expected.append(
                [
                    sum(u[0] * v[0] for u, v in chosen),
                    sum(u[0] * v[1] + u[1] * v[0] for u, v in chosen),
                    sum(u[1] * v[1] for u, v in chosen),
                ]
            )
        result = compute.sum_products(x, y, left, right, BASIS)
        assert equals(result, np.array(expected) % p)


@pytest.mark.parametrize(
    ("outputs", "inputs", "polys", "largest"),
    [
        (1, 1, 1, 1),
        (8, 7, 2, 4095),
        (9, 64, 3, 4096),
        (3, 600, 1, kernels.MAX_WEIGHT),
        (8, 128, 2, 255),
        (33, 131, 1, 256),
    ],
)
def test_linear_layer(
    compute: ModuleType, outputs: int, inputs: int, polys: int, largest: int
) -> None:
    rng = np.random.default_rng(7)
    basis = BASIS.prefix(2)
    x = random_residues(8, inputs, polys, basis=basis)
    x[0, 0] = corners(value=-1, basis=basis)
    weights = rng.integers(-largest, largest, (outputs, inputs), endpoint=True)
    weights[0] = largest
    bias = random_residues(9, outputs, basis=basis)[..., 2].copy()
    assert largest * inputs < 2**32  # so 64-bit words hold every sum
    product = np.tensordot(weights, x.astype(np.int64), axes=1)
    without = compute.linear(weights, x, None, basis)
    primes = moduli(basis).astype(np.int64)
    assert equals(without, product % primes)
    product[:, 0] += bias[..., None]
    assert equals(compute.linear(weights, x, bias, basis), product % primes)


def test_linear_layer_of_extreme_residues_and_weights(compute: ModuleType) -> None:
    """All sums as large as they get: where 32-bit or float sums would first overflow."""
    basis = Basis(N, (BASIS.primes[0], *ntt_primes(N, 29, 1), *ntt_primes(N, 28, 1)))
    inputs = 300
    weights = np.full((2, inputs), kernels.MAX_WEIGHT)
    weights[1] *= -1
    for value in (0, 1, -1):
        x = corners(inputs, 1, value=value, basis=basis)
        total = inputs * kernels.MAX_WEIGHT * wide(x[0])
        expected = np.stack([total, -total]) % moduli(basis)
        assert equals(compute.linear(weights, x, None, basis), expected)


@cache
def residues_with_extreme_digits(bits: int, side: int) -> tuple[Basis, np.ndarray]:
    """A prime beside 2^bits, and 700 times the residues about where a digit or the sign changes."""
    steps = ((1 << bits) + side * 2 * N * k + 1 for k in itertools.count(side < 0))
    p = next(filter(is_prime, steps))
    digit = 14 if p < 1 << 28 else 15 if p < 1 << 30 else 16
    ends = np.arange(0, p + (1 << digit), 1 << digit - 1)[:, None] + np.array([-1, 0, 1])
    near = ends[(ends >= 0) & (ends < p)]
    middle = np.searchsorted(near, p // 2)
    values = np.concatenate(
        [near[:32], near[middle - 16 : middle + 16], near[-32:], [p - 1, p // 2]]
    )
    x = np.zeros((700, 1, 1, N), dtype=np.int32)
    x[..., : len(values)] = values
    return Basis(N, (p,)), x


@cache
def sums_of_extreme_digits(bits: int, side: int, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights, and what they make of these residues; once for all implementations."""
    basis, x = residues_with_extreme_digits(bits, side)
    weights = np.full((9, len(x)), largest)
    weights[1] *= -1
    weights[2, ::2] *= -1
    weights[3:] = np.random.default_rng(bits).integers(
        -largest, largest, (6, len(x)), endpoint=True
    )
    # Equal residues add up to their weights' sum times one of them.
    sums = weights.sum(axis=1)[:, None, None, None]
    return weights, sums * x[0].astype(np.int64) % basis.primes[0]


@pytest.mark.parametrize(
    ("bits", "side"),
    [(14, -1), (14, 1), (20, 1), (26, 1), (28, -1), (28, 1), (30, -1), (30, 1), (31, -1)],
)
def test_linear_layer_of_residues_with_extreme_digits(
    compute: ModuleType, bits: int, side: int
) -> None:
    """Kernels split residues into two digits: sums of digits that are all as large as they get,
    of one sign, for primes of all lengths and either side of where digits become longer."""
    basis, x = residues_with_extreme_digits(bits, side)
    for largest in (1, 37, 1500, kernels.MAX_WEIGHT):
        weights, expected = sums_of_extreme_digits(bits, side, largest)
        assert equals(compute.linear(weights, x, None, basis), expected), largest


def divide_and_round(x: list[int], primes: tuple[int, ...]) -> list[int]:
    """Integer coefficients below the product -> nearest integer of x / last, modulo the rest."""
    last = primes[-1]
    return [(v + last // 2) // last for v in x]


def test_rescale_divides_integers_and_rounds(compute: ModuleType) -> None:
    basis = BASIS
    product = math.prod(basis.primes)
    rng = np.random.default_rng(10)
    values = [int.from_bytes(rng.bytes(32), "little") % product for _ in range(N)]
    values[:4] = [0, 1, product - 1, basis.primes[-1] // 2]
    x = np.array([[[[v % p for v in values] for p in basis.primes]]], dtype=np.int32)
    compute.ntt_forward_(x, basis)
    primes = basis.primes
    for limbs in range(len(basis) - 1, 0, -1):
        values, primes = divide_and_round(values, primes), primes[:-1]
        left = basis.prefix(limbs)
        result = compute.rescale(x, limbs, basis)
        compute.ntt_inverse_(result, left)
        assert result[0, 0].tolist() == [[v % p for v in values] for p in left.primes]


def test_rescale_of_corners_agrees_with_one_step_at_a_time(compute: ModuleType) -> None:
    for value in (0, 1, -1):
        x = corners(2, 3, value=value)
        stepwise = x
        for limbs in range(len(BASIS) - 1, 0, -1):
            stepwise = compute.rescale(stepwise, limbs, BASIS.prefix(limbs + 1))
            assert np.array_equal(compute.rescale(x, limbs, BASIS), stepwise)


@pytest.mark.parametrize("limbs", [1, 3, 5])
def test_relinearize_adds_the_rounded_inner_product_with_the_key(
    compute: ModuleType, limbs: int
) -> None:
    basis = BASIS.prefix(limbs)
    raised = Basis(N, (*basis.primes, SPECIAL))
    whole = Basis(N, (*BASIS.primes, SPECIAL))
    key = random_residues(11, len(BASIS), 2, basis=whole)
    x = random_residues(12, 2, 3, basis=basis)
    rows = [*range(limbs), len(BASIS)]
    target = x[:, 2].copy()
    compute.ntt_inverse_(target, basis)
    totals = 0
    for j in range(limbs):
        digit = wide(target[:, j : j + 1]) % moduli(raised)
        digit = digit.astype(np.int32)
        compute.ntt_forward_(digit, raised)
        totals = totals + wide(digit)[:, None] * wide(key[j][:, rows])
    summed = (totals % moduli(raised)).astype(np.int32)
    switched = compute.rescale(summed, limbs, raised)
    expected = (wide(switched) + wide(x[:, :2])) % moduli(basis)
    assert equals(compute.relinearize(x, key, SPECIAL, basis), expected)


@pytest.mark.parametrize("limbs", [1, 3, 4])
def test_what_is_rescaled_on_the_way_has_the_same_bits(compute: ModuleType, limbs: int) -> None:
    left = BASIS.prefix(limbs)
    key = random_residues(11, len(BASIS), 2, basis=Basis(N, (*BASIS.primes, SPECIAL)))
    for x in (random_residues(13, 4, 3), corners(4, 3, value=1), corners(4, 3, value=-1)):
        apart = compute.relinearize(compute.rescale(x, limbs, BASIS), key, SPECIAL, left)
        assert np.array_equal(compute.relinearize(x, key, SPECIAL, BASIS, limbs), apart)
        two = np.ascontiguousarray(x[:, :2])
        lower = compute.rescale(two, limbs, BASIS)
        for groups in (np.array([[0], [3]]), np.array([[2, 0], [1, 1]]), np.array([[3, 1, 0, 2]])):
            expected = compute.sum_products(lower, lower, groups, groups, left)
            found = compute.rescaled_square_sums(two, groups, limbs, BASIS)
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("digits", [2, 8, 16, 17])
def test_sums_of_many_products_with_a_key(compute: ModuleType, digits: int) -> None:
    """As many terms as fit a sum, and more, of residues that are as large as they can be."""
    primes = tuple(ntt_primes(N, 30, digits))
    basis, raised = Basis(N, primes), Basis(N, (*primes, SPECIAL))
    largest = np.array(raised.primes, dtype=np.int32)[:, None] - 1
    key = np.broadcast_to(largest, (digits, 2, digits + 1, N)).copy()
    x = np.broadcast_to(largest[:-1], (1, 3, digits, N)).copy()
    # Constant digits, each the largest below its prime.
    digit = np.zeros((1, digits, N), dtype=np.int32)
    digit[0, :, 0] = np.array(primes) - 1
    sums = np.zeros((digits + 1, 1), dtype=object)
    for p in primes:  # of keys whose residues are all alike
        sums = (sums + (p - 1) % moduli(raised) * wide(largest)) % moduli(raised)
    summed = np.broadcast_to(sums.astype(np.int32), (1, *key[0].shape)).copy()
    compute.ntt_forward_(digit, basis)
    x[:, 2] = digit
    switched = compute.rescale(summed, digits, raised)
    expected = (wide(switched) + wide(x[:, :2])) % moduli(basis)
    assert equals(compute.relinearize(x, key, SPECIAL, basis), expected)


def test_coefficients_are_those_of_the_inverse_transform(compute: ModuleType) -> None:
    x = random_residues(13, 2, 3)
    whole = x.copy()
    compute.ntt_inverse_(whole, BASIS)
    which = [0, 5, 1023, 512, 5]
    assert np.array_equal(compute.coefficients(x, which, BASIS), whole[..., which])


@pytest.mark.parametrize(("bits", "limbs"), [(20, 1), (50, 2), (90, 4)])
def test_encoding_rounds_the_exact_coefficients(compute: ModuleType, bits: int, limbs: int) -> None:
    rng = np.random.default_rng(15)
    basis = BASIS.prefix(limbs)
    slots = rng.uniform(-1, 1, (3, N // 2))
    scale = 2.0**bits
    exact = encoding.to_coefficients(slots, N) * scale
    residues = compute.encode(slots, scale, basis)
    compute.ntt_inverse_(residues, basis)
    product = math.prod(basis.primes)
    for row, limb_rows in zip(exact, residues, strict=True):
        values = 0
        for p, limb in zip(basis.primes, limb_rows, strict=True):
            rest = product // p
            values = values + wide(limb) * (pow(rest, -1, p) * rest)
        signed = (values + product // 2) % product - product // 2
        tolerance = 0.5 + 1e-6 + 2.0 ** (bits - 50)
        assert np.abs((signed - row).astype(np.float64)).max() <= tolerance


@pytest.mark.parametrize("used", [1, 100, N // 2])
def test_decoding_returns_the_encoded_slots(compute: ModuleType, used: int) -> None:
    rng = np.random.default_rng(16)
    slots = np.zeros((2, N // 2), dtype=np.float64)
    slots[:, :used] = rng.normal(size=(2, used))
    for limbs, scale in ((1, 2.0**24), (2, 2.0**50), (4, 2.0**100)):
        basis = BASIS.prefix(limbs)
        residues = compute.encode(slots[:, :used].copy(), scale, basis)
        assert all_below(residues, basis)
        error = np.abs(compute.decode(residues, scale, basis) - slots).max()
        assert error <= N / scale + 1e-13


def test_encoding_refuses_what_does_not_fit(compute: ModuleType) -> None:
    for slots, scale in (
        (np.full((1, N // 2), math.nan), 1.0),
        (np.array([[0.0, math.inf]]), 1.0),
        (np.ones((1, N // 2)), 2.0**121),
    ):
        with pytest.raises(ValueError, match="2\\^120"):
            compute.encode(slots, scale, BASIS)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 9))
def test_a_layer_of_a_product_is_the_product_of_layers(
    seed: int, inputs: int, outputs: int
) -> None:
    """linear(w, x) * y = linear(w, x * y): kernels agree with each other on random inputs."""
    basis = BASIS.prefix(2)
    rng = np.random.default_rng(seed)
    x, y = random_residues(seed, inputs, 2, basis=basis), random_residues(seed + 1, 1, basis=basis)
    weights = rng.integers(-4095, 4096, (outputs, inputs))
    product = kernels.multiply_plain(x, np.repeat(y, inputs, axis=0), basis)
    first = kernels.linear(weights, product, basis)
    second = kernels.linear(weights, x, basis)
    second = kernels.multiply_plain(second, np.repeat(y, outputs, axis=0), basis)
    assert np.array_equal(first, second)


def test_multiply_inner_and_outer_are_sums_of_products() -> None:
    x, y = random_residues(20, 4, 2), random_residues(21, 4, 2)
    each = kernels.multiply(x, y, BASIS)
    total = kernels.inner(x, y, BASIS)
    folded = kernels.add(kernels.add(each[0], each[1], BASIS), each[2], BASIS)
    assert np.array_equal(total[0], kernels.add(folded, each[3], BASIS))
    halves = kernels.inner(x, y, BASIS, groups=2)
    assert np.array_equal(kernels.add(halves[0], halves[1], BASIS), total[0])
    pairs = kernels.outer(x[:2], y[:3], BASIS)
    assert pairs.shape[0] == 6
    assert np.array_equal(pairs[4], kernels.multiply(x[1:2], y[1:2], BASIS)[0])
