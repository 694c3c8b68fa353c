"""One contract for the native kernels, at every instruction set, and for torch.

The references are Python integers and numpy, written from the definitions.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks import encoding
from securefair.ckks.backends import kernels, packing, residues_torch
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.seeds_torch import first_rejected, uniform_residues
from securefair.ckks.primes import ntt_primes
from securefair.errors import ConfigError, EncryptionError

N = 1024
BASIS = Basis(N, (*ntt_primes(N, 31, 3), *ntt_primes(N, 30, 1), *ntt_primes(N, 17, 1)))
SPECIAL = ntt_primes(N, 31, 4)[-1]
ISAS = ["scalar", "avx2", "avx512"]


@pytest.fixture(params=[*ISAS, "torch"])
def compute(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """An implementation of the kernels: native at one instruction set, or torch."""
    if request.param == "torch":
        yield residues_torch
        return
    if not kernels.available():
        pytest.skip("the native module is not built")
    from securefair.ckks.backends import _native, residues_native

    _native.use_isa(request.param)
    if _native.isa() != request.param:
        pytest.skip(f"this processor has no {request.param}")
    yield residues_native
    _native.use_isa(_native.best_isa())


def random_residues(seed: int, *lead: int, basis: Basis = BASIS) -> torch.Tensor:
    """Uniform residues (*lead, limbs, N) that start with the corners 0, 1, p - 1, p // 2."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, p, (*lead, basis.ring_degree)) for p in basis.primes]
    x = np.stack(rows, axis=-2)
    for limb, p in enumerate(basis.primes):
        x[..., limb, :4] = [0, 1, p - 1, p // 2]
    return torch.from_numpy(x.astype(np.int32))


def corners(*lead: int, value: int, basis: Basis = BASIS) -> torch.Tensor:
    """Every residue 0, 1 or (-1) p - 1."""
    column = torch.tensor(basis.primes)[:, None] * (value < 0) + value
    return column.expand(*lead, len(basis), basis.ring_degree).to(torch.int32).contiguous()


def wide(x: torch.Tensor) -> np.ndarray:
    return x.numpy().astype(object)


def moduli(basis: Basis = BASIS) -> np.ndarray:
    return np.array(basis.primes, dtype=object)[:, None]


def equals(x: torch.Tensor, reference: np.ndarray) -> bool:
    return x.dtype == torch.int32 and (x.numpy() == reference.astype(np.int64)).all()


def transform(row: list[int], p: int) -> list[int]:
    """The definition: value at psi^(2 bitreverse(i) + 1), psi the smallest 2N-th root."""
    n = len(row)
    generator = next(g for g in range(2, p) if pow(g, (p - 1) // 2, p) == p - 1)
    any_root = pow(generator, (p - 1) // (2 * n), p)
    psi = min(pow(any_root, k, p) for k in range(1, 2 * n, 2))
    bits = n.bit_length() - 1
    values = []
    for i in range(n):
        at = pow(psi, 2 * int(f"{i:0{bits}b}"[::-1], 2) + 1, p)
        total = 0
        for coefficient in reversed(row):
            total = (total * at + coefficient) % p
        values.append(total)
    return values


def test_transform_is_the_evaluation_at_odd_powers_of_the_smallest_root(
    compute: ModuleType,
) -> None:
    basis = Basis(N, (BASIS.primes[0], BASIS.primes[4]))
    x = random_residues(1, basis=basis)
    expected = [transform(x[i].tolist(), p) for i, p in enumerate(basis.primes)]
    compute.ntt_forward_(x, basis)
    assert x.tolist() == expected


@pytest.mark.parametrize("degree", [1024, 2048, 4096, 8192, 16384, 32768])
def test_inverse_undoes_the_transform(compute: ModuleType, degree: int) -> None:
    basis = Basis(degree, ntt_primes(degree, 31, 2))
    original = torch.cat(
        [
            random_residues(2, 1, basis=basis),
            *(corners(1, value=v, basis=basis) for v in (0, 1, -1)),
        ]
    )
    x = original.clone()
    compute.ntt_forward_(x, basis)
    assert compute.all_below(x, basis)
    assert not torch.equal(x, original)
    compute.ntt_inverse_(x, basis)
    assert torch.equal(x, original)


def test_product_of_values_is_the_negacyclic_product_of_polynomials(compute: ModuleType) -> None:
    basis = BASIS.prefix(1)
    p = basis.primes[0]
    x = torch.zeros((1, 1, 1, N), dtype=torch.int32)
    y = torch.zeros((1, 1, N), dtype=torch.int32)
    x[..., N - 1], y[..., 3] = 5, 7  # 5 X^(N-1) * 7 X^3 = -35 X^2
    compute.ntt_forward_(x, basis)
    compute.ntt_forward_(y, basis)
    product = compute.multiply_plain(x, y, basis)
    compute.ntt_inverse_(product, basis)
    expected = torch.zeros(N, dtype=torch.int32)
    expected[2] = p - 35
    assert torch.equal(product.view(N), expected)


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
        in_place = x.clone()
        compute.add_(in_place, y, BASIS)
        assert equals(in_place, (a + b) % p)
        plain = y[:, 0].contiguous()
        product = compute.multiply_plain(x, plain, BASIS)
        assert equals(product, a * wide(plain)[:, None] % p)
        shifted = x.clone()
        compute.add_to_first_(shifted, plain, BASIS)
        assert equals(shifted[:, 0], (a[:, 0] + wide(plain)) % p)
        assert torch.equal(shifted[:, 1], x[:, 1])


def test_square_and_sums_of_products(compute: ModuleType) -> None:
    p = moduli()
    for x, y in [
        (random_residues(5, 3, 2), random_residues(6, 2, 2)),
        (corners(3, 2, value=-1), corners(2, 2, value=-1)),
    ]:
        a, b = wide(x), wide(y)
        squares = np.stack([a[:, 0] ** 2, 2 * a[:, 0] * a[:, 1], a[:, 1] ** 2], axis=1)
        assert equals(compute.square(x, BASIS), squares % p)

        left = torch.tensor([[0, 1, 2, 2], [1, 1, 0, 2]])
        right = torch.tensor([[0, 1, 1, 0], [1, 1, 1, 1]])
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
    [(1, 1, 1, 1), (8, 7, 2, 4095), (9, 64, 3, 4096), (3, 600, 1, kernels.MAX_WEIGHT)],
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
    bias = random_residues(9, outputs, basis=basis)[..., 2].contiguous()
    product = np.tensordot(weights.astype(object), wide(x), axes=1)
    without = compute.linear(torch.from_numpy(weights), x, None, basis)
    assert equals(without, product % moduli(basis))
    product[:, 0] += wide(bias)[..., None]
    assert equals(
        compute.linear(torch.from_numpy(weights), x, bias, basis), product % moduli(basis)
    )


def test_linear_layer_of_extreme_residues_and_weights(compute: ModuleType) -> None:
    """All sums as large as they get: where 32-bit or float sums would first overflow."""
    basis, inputs = BASIS.prefix(3), 300
    weights = torch.full((2, inputs), kernels.MAX_WEIGHT)
    weights[1] *= -1
    for value in (0, 1, -1):
        x = corners(inputs, 1, value=value, basis=basis)
        total = inputs * kernels.MAX_WEIGHT * wide(x[0])
        expected = np.stack([total, -total]) % moduli(basis)
        assert equals(compute.linear(weights, x, None, basis), expected)


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
    x = torch.tensor([[[[v % p for v in values] for p in basis.primes]]], dtype=torch.int32)
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
            assert torch.equal(compute.rescale(x, limbs, BASIS), stepwise)


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
    target = x[:, 2].clone()
    compute.ntt_inverse_(target, basis)
    totals = 0
    for j in range(limbs):
        digit = wide(target[:, j : j + 1]) % moduli(raised)
        digit = torch.from_numpy(digit.astype(np.int32))
        compute.ntt_forward_(digit, raised)
        totals = totals + wide(digit)[:, None] * wide(key[j, :, rows])
    summed = torch.from_numpy((totals % moduli(raised)).astype(np.int32))
    switched = compute.rescale(summed, limbs, raised)
    expected = (wide(switched) + wide(x[:, :2])) % moduli(basis)
    assert equals(compute.relinearize(x, key, SPECIAL, basis), expected)


def test_coefficients_are_those_of_the_inverse_transform(compute: ModuleType) -> None:
    x = random_residues(13, 2, 3)
    whole = x.clone()
    compute.ntt_inverse_(whole, BASIS)
    which = [0, 5, 1023, 512, 5]
    assert torch.equal(compute.coefficients(x, which, BASIS), whole[..., which])


def test_all_below_finds_a_single_residue_that_is_too_large(compute: ModuleType) -> None:
    x = random_residues(14, 2, 2)
    assert compute.all_below(x, BASIS)
    for limb, p in enumerate(BASIS.primes):
        for wrong in (p, -1, 2**31 - 1):
            damaged = x.clone()
            damaged[1, 0, limb, 777] = wrong
            assert not compute.all_below(damaged, BASIS)


@pytest.mark.parametrize(("bits", "limbs"), [(20, 1), (50, 2), (90, 4)])
def test_encoding_rounds_the_exact_coefficients(compute: ModuleType, bits: int, limbs: int) -> None:
    rng = np.random.default_rng(15)
    basis = BASIS.prefix(limbs)
    slots = rng.uniform(-1, 1, (3, N // 2))
    scale = 2.0**bits
    exact = encoding.to_coefficients(slots, N) * scale
    residues = compute.encode(torch.from_numpy(slots), scale, basis)
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
    slots = torch.zeros((2, N // 2), dtype=torch.float64)
    slots[:, :used] = torch.from_numpy(rng.normal(size=(2, used)))
    for limbs, scale in ((1, 2.0**24), (2, 2.0**50), (4, 2.0**100)):
        basis = BASIS.prefix(limbs)
        residues = compute.encode(slots[:, :used].contiguous(), scale, basis)
        assert compute.all_below(residues, basis)
        error = (compute.decode(residues, scale, basis) - slots).abs().max()
        assert error <= N / scale + 1e-13


def test_encoding_refuses_what_does_not_fit(compute: ModuleType) -> None:
    for slots, scale in (
        (torch.full((1, N // 2), float("nan"), dtype=torch.float64), 1.0),
        (torch.tensor([[0.0, math.inf]], dtype=torch.float64), 1.0),
        (torch.ones((1, N // 2), dtype=torch.float64), 2.0**121),
    ):
        with pytest.raises(ValueError, match="2\\^120"):
            compute.encode(slots, scale, BASIS)


def test_seed_expansion_is_a_function_of_each_seed(compute: ModuleType) -> None:
    rng = np.random.default_rng(17)
    seeds = torch.from_numpy(rng.integers(0, 256, (3, 64), dtype=np.uint8))
    expanded = compute.expand_seeds(seeds, BASIS)
    assert compute.all_below(expanded, BASIS)
    assert torch.equal(compute.expand_seeds(seeds[1:2], BASIS)[0], expanded[1])
    assert not torch.equal(expanded[0], expanded[1])
    # Uniform: the mean of N L values lies within 5 deviations of 1/2.
    fractions = expanded[0] / torch.tensor(BASIS.primes)[:, None]
    assert abs(float(fractions.mean()) - 0.5) < 5 / math.sqrt(12 * fractions.numel())


def test_implementations_expand_seeds_alike() -> None:
    if not kernels.available():
        pytest.skip("the native module is not built")
    rng = np.random.default_rng(18)
    seeds = torch.from_numpy(rng.integers(0, 256, (2, 64), dtype=np.uint8))
    assert torch.equal(
        kernels.expand_seeds(seeds, BASIS), residues_torch.expand_seeds(seeds, BASIS)
    )


@pytest.mark.parametrize("apart", [0, 5])
def test_what_arrives_is_copied_and_expanded_wherever_it_lies(
    compute: ModuleType, apart: int
) -> None:
    """Views of a message: records of a polynomial and a seed, with anything between them."""
    first, rng = random_residues(31, 3).numpy().view(np.uint32), np.random.default_rng(32)
    packed = packing.pack(first, BASIS.primes)
    size = packed.shape[1]
    record = size + kernels.SEED_BYTES + apart
    message = np.frombuffer(rng.bytes(3 * record), dtype=np.uint8).reshape(3, record).copy()
    message[:, :size] = packed
    message.flags.writeable = False
    seeds = message[:, size:][:, : kernels.SEED_BYTES]
    received = compute.receive(message[:, :size], seeds, BASIS, torch.device("cpu"))
    assert np.array_equal(received[:, 0].numpy().view(np.uint32), first)
    given_seeds = torch.from_numpy(seeds.copy())
    assert torch.equal(received[:, 1], residues_torch.expand_seeds(given_seeds, BASIS))


@pytest.mark.parametrize("value", ["prime", "all bits"])
@pytest.mark.parametrize("place", [(0, 0, 0), (1, 2, 17), (1, 4, N - 1)])
def test_residues_that_are_not_below_their_primes_are_not_received(
    compute: ModuleType, place: tuple[int, int, int], value: str
) -> None:
    first = random_residues(33, 2).numpy().view(np.uint32)
    seeds, device = np.zeros((2, 64), dtype=np.uint8), torch.device("cpu")
    fitting = packing.pack(first, BASIS.primes)
    assert compute.receive(fitting, seeds, BASIS, device) is not None
    prime = BASIS.primes[place[1]]
    first[place] = prime if value == "prime" else (1 << prime.bit_length()) - 1
    packed = packing.pack(first, BASIS.primes)
    assert compute.receive(packed, seeds, BASIS, device) is None
    with pytest.raises(EncryptionError, match="not below its prime"):
        kernels.receive(packed, seeds, BASIS, device)


def sample(words: list[int], basis: Basis) -> list[list[int]]:
    """SEAL's sample_poly_uniform in Python integers."""
    n = basis.ring_degree
    rest = iter(words[len(basis) * n :])
    rows = []
    for limb, p in enumerate(basis.primes):
        row = []
        for drawn in words[limb * n : (limb + 1) * n]:
            word = drawn
            while word >= first_rejected(p):
                word = next(rest)
            row.append(word % p)
        rows.append(row)
    return rows


def test_rejected_words_are_drawn_again_from_the_rest_of_the_stream() -> None:
    rng = np.random.default_rng(19)
    basis = BASIS.prefix(2)
    words = rng.integers(0, 2**64, 2 * N + 512, dtype=np.uint64)
    limits = [first_rejected(p) for p in basis.primes]
    words[[0, 5]] = limits[0], limits[0] - 1  # rejected, kept
    words[N + 7] = 2**64 - 1
    words[N + 9] = limits[1]
    words[2 * N] = 2**64 - 1  # the first word that is drawn again is rejected, too
    expected = sample(words.tolist(), basis)
    tail = iter(words[2 * N :].astype(np.int64).tolist())
    signed = torch.from_numpy(words[: 2 * N].astype(np.int64)).view(1, 2, N)
    assert uniform_residues(signed, basis, [tail])[0].tolist() == expected
    if kernels.available():
        from securefair.ckks.backends import _native

        for isa in ISAS:
            _native.use_isa(isa)
            out = np.empty((1, 2, N), dtype=np.int32)
            _native.uniform(out, words, basis.prime_list)
            assert out[0].tolist() == expected
        with pytest.raises(ValueError, match="used up"):
            _native.uniform(out, words[: 2 * N], basis.prime_list)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 9))
def test_a_layer_of_a_product_is_the_product_of_layers(
    seed: int, inputs: int, outputs: int
) -> None:
    """linear(w, x) * y = linear(w, x * y): kernels agree with each other on random inputs."""
    basis = BASIS.prefix(2)
    rng = np.random.default_rng(seed)
    x, y = random_residues(seed, inputs, 2, basis=basis), random_residues(seed + 1, 1, basis=basis)
    weights = torch.from_numpy(rng.integers(-4095, 4096, (outputs, inputs)))
    product = kernels.multiply_plain(x, y.expand(inputs, -1, -1).contiguous(), basis)
    first = kernels.linear(weights, product, basis)
    second = kernels.linear(weights, x, basis)
    second = kernels.multiply_plain(second, y.expand(outputs, -1, -1).contiguous(), basis)
    assert torch.equal(first, second)


def test_multiply_inner_and_outer_are_sums_of_products() -> None:
    x, y = random_residues(20, 4, 2), random_residues(21, 4, 2)
    each = kernels.multiply(x, y, BASIS)
    total = kernels.inner(x, y, BASIS)
    folded = kernels.add(kernels.add(each[0], each[1], BASIS), each[2], BASIS)
    assert torch.equal(total[0], kernels.add(folded, each[3], BASIS))
    halves = kernels.inner(x, y, BASIS, groups=2)
    assert torch.equal(kernels.add(halves[0], halves[1], BASIS), total[0])
    pairs = kernels.outer(x[:2], y[:3], BASIS)
    assert pairs.shape[0] == 6
    assert torch.equal(pairs[4], kernels.multiply(x[1:2], y[1:2], BASIS)[0])


def test_threads_do_not_change_results() -> None:
    x = random_residues(22, 7, 3)
    before = kernels.describe().threads
    try:
        kernels.set_threads(1)
        alone = kernels.rescale(x, 2, BASIS)
        kernels.set_threads(3)
        assert kernels.describe().threads == 3
        assert torch.equal(kernels.rescale(x, 2, BASIS), alone)
    finally:
        kernels.set_threads(before)
    with pytest.raises(ConfigError, match="threads"):
        kernels.set_threads(0)


def test_description_names_what_computes() -> None:
    info = kernels.describe()
    assert info.native == kernels.available()
    assert info.instruction_set in {"torch"} if not info.native else {*ISAS}
    assert info.threads == torch.get_num_threads()


def test_other_devices_compute_in_torch() -> None:
    assert kernels.implementation(torch.device("cuda")) is residues_torch


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda x: kernels.square(x[:, :1].contiguous(), BASIS), "x"),
        (lambda x: kernels.square(x.long(), BASIS), "x"),
        (lambda x: kernels.square(x.transpose(0, 1), BASIS), "x"),
        (lambda x: kernels.add(x, x[:1].contiguous(), BASIS), "y"),
        (lambda x: kernels.rescale(x, 5, BASIS), "limbs"),
        (lambda x: kernels.rescale(x, 0, BASIS), "limbs"),
        (lambda x: kernels.linear(torch.ones(1, 2), x, BASIS), "weights"),
        (lambda x: kernels.linear(torch.full((1, 2), 40_000), x, BASIS), "weights"),
        (lambda x: kernels.linear(torch.ones(1, 3, dtype=torch.int64), x, BASIS), "weights"),
        (lambda x: kernels.coefficients(x, [N], BASIS), "which"),
        (lambda x: kernels.coefficients(x, [], BASIS), "which"),
        (lambda x: kernels.inner(x, x, BASIS, groups=3), "groups"),
        (
            lambda x: kernels.sum_products(x, x, torch.tensor([[2]]), torch.tensor([[0]]), BASIS),
            "left",
        ),
        (
            lambda x: kernels.sum_products(x, x, torch.tensor([[0]]), torch.tensor([[-1]]), BASIS),
            "right",
        ),
        (lambda _: kernels.expand_seeds(torch.zeros(1, 63, dtype=torch.uint8), BASIS), "seeds"),
        (
            lambda x: kernels.receive(
                kernels.pack(x[:, 0].numpy().view(np.uint32).copy(), BASIS.primes),
                np.zeros((2, 63), np.uint8),
                BASIS,
                x.device,
            ),
            "first, seeds",
        ),
        (lambda _: kernels.encode(torch.zeros(1, N, dtype=torch.float64), 1.0, BASIS), "slots"),
        (lambda _: kernels.encode(torch.full((1, 1), math.nan).double(), 1.0, BASIS), "slots"),
        (lambda x: kernels.multiply_plain(x, x[:1, 0].contiguous(), BASIS), "plain"),
        (lambda x: kernels.relinearize(x, x, SPECIAL, BASIS), "x"),
    ],
)
def test_unfit_arguments_are_refused_by_name(call, where: str) -> None:
    x = random_residues(23, 2, 2)
    with pytest.raises(EncryptionError) as caught:
        call(x)
    assert caught.value.where == where


def test_a_key_with_too_few_digits_is_refused() -> None:
    x = random_residues(24, 1, 3)
    key = random_residues(25, 4, 2, basis=BASIS)
    with pytest.raises(EncryptionError, match="key"):
        kernels.relinearize(x, key, SPECIAL, BASIS)


@pytest.mark.parametrize(
    ("degree", "primes"),
    [
        (1000, BASIS.primes),
        (N, ()),
        (N, (BASIS.primes[0],) * 2),
        (N, (12289 * 2 - 1,)),
        (N, (2**31 - 1,)),
    ],
)
def test_a_basis_holds_distinct_ntt_primes(degree: int, primes: tuple[int, ...]) -> None:
    with pytest.raises(EncryptionError):
        Basis(degree, primes)


def test_kernels_release_the_interpreter_lock() -> None:
    """Nobody takes the lock from a thread here, so another runs only once it is given away."""
    if not kernels.available():
        pytest.skip("the native module is not built")
    seeds, progress, before = torch.zeros(512, 64, dtype=torch.uint8), [], sys.getswitchinterval()

    def work() -> None:
        progress.append("entered")
        kernels.expand_seeds(seeds, BASIS)
        progress.append("left")

    seen = False
    sys.setswitchinterval(1000.0)
    try:
        for _ in range(100):  # a busy machine may wake this thread too late
            progress.clear()
            thread = threading.Thread(target=work)
            thread.start()  # gives the lock to `work`, and wants it back
            seen = progress == ["entered"]
            thread.join()
            if seen:
                break
    finally:
        sys.setswitchinterval(before)
    assert seen


def test_a_forked_process_has_threads_of_its_own() -> None:
    """The pool's threads do not survive a fork; the child must not wait for them."""
    x = random_residues(26, 8, 2)
    expected = kernels.square(x, BASIS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads, 3.12 on
        child = os.fork()
    if child == 0:
        native = kernels.implementation(torch.device("cpu"))
        same = native.square(x, BASIS).numpy() == expected.numpy()  # torch.equal would use OpenMP
        os._exit(0 if same.all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
