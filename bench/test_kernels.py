"""Kernels on residues, N = 8192 and five limbs of 31 bits: `make bench`.

Every case checks its output; the linear layer is timed next to the float64 product of torch on
the same data. Kernels run on one thread unless the name says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from securefair.ckks.backends import kernels, residues_fallback
from securefair.ckks.backends.basis import Basis
from securefair.ckks.primes import ntt_primes

Array = NDArray[np.generic]
N = 8192
PRIMES = ntt_primes(N, 31, 6)
BASIS, SPECIAL = Basis(N, PRIMES[:5]), PRIMES[5]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = kernels.describe().threads
    kernels.set_threads(1)
    yield
    kernels.set_threads(before)


def residues(*lead: int, basis: Basis = BASIS) -> NDArray[np.int32]:
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, p, (*lead, N), dtype=np.int32) for p in basis.primes]
    return np.stack(rows, axis=-2)


def weights(outputs: int, inputs: int) -> NDArray[np.int64]:
    """Normal weights that reach 12 bits, as a quantised layer has them."""
    values = np.random.default_rng(2).normal(scale=1200, size=(outputs, inputs))
    return np.rint(values.clip(-4095, 4095)).astype(np.int64)


def timed(benchmark: BenchmarkFixture, run: Callable[[], Array], work: str) -> Array:
    benchmark.group = f"kernel: {benchmark.name.split('[')[0].removeprefix('test_')}"
    benchmark.extra_info["work"] = work
    benchmark.extra_info["kernels"] = repr(kernels.describe())
    return benchmark.pedantic(run, rounds=7, warmup_rounds=1)


@contextmanager
def vector_registers() -> Iterator[None]:
    """Without the matrix registers (AMX) that some processors have; skips on the others."""
    from securefair.ckks.backends import _native

    if _native.best_isa() != "amx":
        pytest.skip("this processor has no matrix registers")
    _native.use_isa("avx512")
    try:
        yield
    finally:
        _native.use_isa("amx")


@pytest.mark.parametrize("degree", [4096, 8192, 16384, 32768])
@pytest.mark.parametrize("name", ["ntt_forward_", "ntt_inverse_"])
def test_transform(benchmark: BenchmarkFixture, degree: int, name: str) -> None:
    basis = Basis(degree, ntt_primes(degree, 31, 1))
    x = np.random.default_rng(3).integers(0, basis.primes[0], (100, 1, degree), dtype=np.int32)
    run = getattr(kernels, name)
    timed(benchmark, lambda: run(x, basis), "100 rows")
    assert (x >= 0).all()
    assert (x < basis.primes[0]).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("outputs", "inputs", "polys", "limbs"), [(64, 512, 2, 5), (10, 64, 3, 4)])
@pytest.mark.parametrize("by", ["kernels", "vector registers", "torch float64"])
def test_linear_layer(
    benchmark: BenchmarkFixture,
    by: str,
    outputs: int,
    inputs: int,
    polys: int,
    limbs: int,
    threads: int,
) -> None:
    kernels.set_threads(threads)
    basis = BASIS.prefix(limbs)
    x, w = residues(inputs, polys, basis=basis), weights(outputs, inputs)
    ours = kernels.linear(w, x, basis)
    if by == "kernels":
        timed(benchmark, lambda: kernels.linear(w, x, basis), f"{threads} threads")
        return
    if by == "vector registers":
        with vector_registers():
            theirs = timed(benchmark, lambda: kernels.linear(w, x, basis), f"{threads} threads")
        assert np.array_equal(theirs, ours)
        return
    theirs = timed(
        benchmark, lambda: residues_fallback.linear(w, x, None, basis), f"{threads} threads"
    )
    assert np.array_equal(theirs, ours)


def test_square(benchmark: BenchmarkFixture) -> None:
    x = residues(64, 2)
    result = timed(benchmark, lambda: kernels.square(x, BASIS), "64 ciphertexts")
    assert np.array_equal(result, kernels.multiply(x, x, BASIS))


def test_multiply(benchmark: BenchmarkFixture) -> None:
    x, y = residues(64, 2), np.ascontiguousarray(residues(64, 2)[::-1])
    result = timed(benchmark, lambda: kernels.multiply(x, y, BASIS), "64 ciphertexts")
    assert np.array_equal(result[0], kernels.inner(x[:1], y[:1], BASIS)[0])


def test_inner(benchmark: BenchmarkFixture) -> None:
    x, y = residues(64, 2), np.ascontiguousarray(residues(64, 2)[::-1])
    result = timed(benchmark, lambda: kernels.inner(x, y, BASIS), "64 ciphertexts into 1")
    assert np.array_equal(result, kernels.inner(y, x, BASIS))


@pytest.mark.parametrize("limbs", [4, 3])
def test_rescale(benchmark: BenchmarkFixture, limbs: int) -> None:
    x = residues(64, 3)
    result = timed(benchmark, lambda: kernels.rescale(x, limbs, BASIS), "64 x 3 polynomials")
    assert np.array_equal(result[:1], residues_fallback.rescale(x[:1], limbs, BASIS))


def test_relinearize(benchmark: BenchmarkFixture) -> None:
    x, key = residues(10, 3), residues(5, 2, basis=Basis(N, PRIMES))
    run = lambda: kernels.relinearize(x, key, SPECIAL, BASIS)  # noqa: E731
    result = timed(benchmark, run, "10 ciphertexts")
    assert np.array_equal(result[:1], residues_fallback.relinearize(x[:1], key, SPECIAL, BASIS))


def test_expand_seeds(benchmark: BenchmarkFixture) -> None:
    seeds = np.random.default_rng(4).integers(0, 256, (64, kernels.SEED_BYTES), dtype=np.uint8)
    result = timed(benchmark, lambda: kernels.expand_seeds(seeds, BASIS), "64 polynomials")
    assert np.array_equal(result[:1], residues_fallback.expand_seeds(seeds[:1], BASIS))


def test_encode(benchmark: BenchmarkFixture) -> None:
    slots = np.random.default_rng(5).random((64, N // 2))
    result = timed(benchmark, lambda: kernels.encode(slots, 2.0**24, BASIS), "64 plaintexts")
    assert np.abs(kernels.decode(result, 2.0**24, BASIS) - slots).max() < N / 2.0**24


def test_decode(benchmark: BenchmarkFixture) -> None:
    slots, basis = np.random.default_rng(5).random((64, N // 2)), BASIS.prefix(2)
    plain = kernels.encode(slots, 2.0**40, basis)
    result = timed(benchmark, lambda: kernels.decode(plain, 2.0**40, basis), "64 plaintexts")
    assert np.abs(result - slots).max() < N / 2.0**40
