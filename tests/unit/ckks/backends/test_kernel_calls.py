"""How kernels are called: threads, devices, forks, and arguments that they refuse by name."""

from __future__ import annotations

import math
import os
import sys
import threading
import warnings

import numpy as np
import pytest
import torch

from securefair.ckks.backends import kernels, residues_device
from securefair.ckks.backends.basis import Basis
from securefair.errors import ConfigError, EncryptionError
from unit.ckks.backends.residues import BASIS, ISAS, SPECIAL, N, random_residues


def test_threads_do_not_change_results() -> None:
    x = random_residues(22, 7, 3)
    before = kernels.describe().threads
    try:
        kernels.set_threads(1)
        alone = kernels.rescale(x, 2, BASIS)
        kernels.set_threads(3)
        assert kernels.describe().threads == 3
        assert np.array_equal(kernels.rescale(x, 2, BASIS), alone)
    finally:
        kernels.set_threads(before)
    with pytest.raises(ConfigError, match="threads"):
        kernels.set_threads(0)


def test_description_names_what_computes() -> None:
    info = kernels.describe()
    assert info.native == kernels.available()
    assert info.instruction_set in {"device"} if not info.native else {*ISAS}
    assert info.threads == torch.get_num_threads()


def test_all_devices_compute_by_one_source() -> None:
    assert kernels.implementation(torch.device("cuda")) is residues_device
    assert kernels.implementation(torch.device("cpu")) is residues_device


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda x: kernels.square(x[:, :1].copy(), BASIS), "x"),
        (lambda x: kernels.square(x.astype(np.int64), BASIS), "x"),
        (lambda x: kernels.square(x.swapaxes(0, 1), BASIS), "x"),
        (lambda x: kernels.add(x, x[:1].copy(), BASIS), "y"),
        (lambda x: kernels.rescale(x, 5, BASIS), "limbs"),
        (lambda x: kernels.rescale(x, 0, BASIS), "limbs"),
        (lambda x: kernels.linear(np.ones((1, 2)), x, BASIS), "weights"),
        (lambda x: kernels.linear(np.full((1, 2), 40_000), x, BASIS), "weights"),
        (lambda x: kernels.linear(np.ones((1, 3), dtype=np.int64), x, BASIS), "weights"),
        (lambda x: kernels.coefficients(x, [N], BASIS), "which"),
        (lambda x: kernels.coefficients(x, [], BASIS), "which"),
        (lambda x: kernels.inner(x, x, BASIS, groups=3), "groups"),
        (
            lambda x: kernels.sum_products(x, x, np.array([[2]]), np.array([[0]]), BASIS),
            "left",
        ),
        (
            lambda x: kernels.sum_products(x, x, np.array([[0]]), np.array([[-1]]), BASIS),
            "right",
        ),
        (lambda _: kernels.expand_seeds(np.zeros((1, 63), dtype=np.uint8), BASIS), "seeds"),
        (
            lambda x: kernels.receive(
                kernels.pack(x[:, 0].view(np.uint32).copy(), BASIS.primes),
                np.zeros((2, 63), np.uint8),
                BASIS,
                None,
            ),
            "first, seeds",
        ),
        (lambda _: kernels.encode(np.zeros((1, N + 1)), 1.0, BASIS), "slots"),
        (lambda _: kernels.encode(np.full((1, 1), math.nan), 1.0, BASIS), "slots"),
        (lambda x: kernels.multiply_plain(x, x[:1, 0].copy(), BASIS), "plain"),
        (lambda x: kernels.relinearize(x, x, SPECIAL, BASIS), "x"),
        (lambda x: kernels.relinearize(kernels.square(x, BASIS), x, SPECIAL, BASIS, 0), "limbs"),
        (lambda x: kernels.rescaled_square_sums(x, GROUPS, len(BASIS), BASIS), "limbs"),
        (lambda x: kernels.rescaled_square_sums(x, GROUPS, 1, BASIS), "groups"),
        (lambda x: kernels.rescaled_square_sums(x, GROUPS[0], 1, BASIS), "groups"),
    ],
)
def test_unfit_arguments_are_refused_by_name(call, where: str) -> None:
    x = random_residues(23, 2, 2)
    with pytest.raises(EncryptionError) as caught:
        call(x)
    assert caught.value.where == where


X, PLAIN = random_residues(30, 2, 2), random_residues(31, 2)
KEY = random_residues(32, len(BASIS), 2, basis=Basis(N, (*BASIS.primes, SPECIAL)))
WEIGHTS, BIAS = np.arange(-3, 3).reshape(3, 2), random_residues(33)[:, :3].T.copy()
ROWS, READS, WRITES = np.array([[0, 0], [0, 1]]), np.array([[0, 1]]), np.array([[0, 1, 2]])
GROUPS, SEEDS = np.array([[0], [2]]), np.arange(128, dtype=np.uint8).reshape(2, 64)
PACKED = kernels.pack(PLAIN.view(np.uint32), BASIS.primes)
READ = {
    "add": lambda k, f: k.add(f(X), f(X), BASIS),
    "subtract": lambda k, f: k.subtract(f(X), f(X), BASIS),
    "multiply_plain": lambda k, f: k.multiply_plain(f(X), f(PLAIN), BASIS),
    "linear": lambda k, f: k.linear(f(WEIGHTS), f(X), f(BIAS), BASIS),
    "small": lambda k, f: k.linear(f(WEIGHTS.astype(np.int32)), f(X), None, BASIS),
    "linear_patches": lambda k, f: k.linear_patches(
        [f(X)], f(ROWS), [(f(WEIGHTS), f(READS), f(WRITES))], f(BIAS), BASIS
    ),
    "square_patches": lambda k, f: k.square_patches(
        [f(X)], f(ROWS), [(f(WEIGHTS), f(READS), f(WRITES))], f(BIAS), f(GROUPS), BASIS
    ),
    "square": lambda k, f: k.square(f(X), BASIS),
    "sum_products": lambda k, f: k.sum_products(f(X), f(X), f(ROWS), f(ROWS), BASIS),
    "rescale": lambda k, f: k.rescale(f(X), 2, BASIS),
    "relinearize": lambda k, f: k.relinearize(f(k.square(X, BASIS)), f(KEY), SPECIAL, BASIS),
    "rescaled_square_sums": lambda k, f: k.rescaled_square_sums(f(X), f(ROWS), 2, BASIS),
    "coefficients": lambda k, f: k.coefficients(f(X), [0, 5], BASIS),
    "expand_seeds": lambda k, f: k.expand_seeds(f(SEEDS), BASIS),
    "receive": lambda k, f: k.receive(f(PACKED), f(SEEDS), BASIS),
    "encode": lambda k, f: k.encode(f(np.linspace(0, 1, 4).reshape(2, 2)), 2.0**20, BASIS),
    "decode": lambda k, f: k.decode(f(PLAIN), 2.0**20, BASIS),
}


def frozen(x: np.ndarray) -> np.ndarray:
    copy = x.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("call", READ.values(), ids=READ)
def test_what_is_only_read_may_be_read_only(compute, call) -> None:
    """With pytest's warnings as errors: torch would warn of such memory."""
    assert np.array_equal(call(compute, frozen), call(compute, np.copy))


def test_what_is_packed_may_be_read_only() -> None:
    assert np.array_equal(kernels.pack(frozen(PLAIN.view(np.uint32)), BASIS.primes), PACKED)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: kernels.ntt_forward_(x, BASIS),
        lambda x: kernels.ntt_inverse_(x, BASIS),
        lambda x: kernels.add_(x, X, BASIS),
        lambda x: kernels.add_to_first_(x, PLAIN, BASIS),
    ],
)
def test_a_result_does_not_go_into_what_is_read_only(call) -> None:
    x = frozen(X)
    with pytest.raises(EncryptionError, match="cannot be written") as caught:
        call(x)
    assert caught.value.where == "x"
    assert np.array_equal(x, X)


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
    seeds, progress, before = np.zeros((512, 64), dtype=np.uint8), [], sys.getswitchinterval()

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
        native = kernels.implementation(None)
        same = native.square(x, BASIS) == expected
        os._exit(0 if same.all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
