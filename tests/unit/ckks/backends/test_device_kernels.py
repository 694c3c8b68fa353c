"""Kernels for cards: the bits of the native ones, and code for every card, without a card."""

import re
import sys
import types

import numpy as np
import pytest
import torch
import warp as wp

from securefair.ckks.backends import (
    device_products,
    device_seeds,
    device_transforms,
    kernels,
    residues_device,
)
from securefair.ckks.backends.basis import Basis
from securefair.ckks.primes import ntt_primes
from unit.ckks.backends.residues import BASIS, SPECIAL, N, corners, random_residues

MODULES = (device_products, device_seeds, device_transforms)
CARDS = (80, 90, 120)  # A100, H100, RTX 50

CPU = torch.device("cpu")
WHOLE = Basis(N, (*BASIS.primes, SPECIAL))
KEY = random_residues(1, len(BASIS), 2, basis=WHOLE)
SEEDS = np.random.default_rng(2).integers(0, 256, (3, 64), dtype=np.uint8)
WEIGHTS = np.random.default_rng(3).integers(-4095, 4096, (19, 5))
GROUPS = np.array([[0, 1, 4], [3, 3, 2]])


def transformed(step):
    def both(x):
        values = x.copy() if isinstance(x, np.ndarray) else x.clone()
        step(values, BASIS)
        return values

    return both


WORK = {
    "forward": transformed(kernels.ntt_forward_),
    "inverse": transformed(kernels.ntt_inverse_),
    "add": lambda x: kernels.add(x, x, BASIS),
    "subtract": lambda x: kernels.subtract(x[1:], x[:-1], BASIS),
    "multiply": lambda x: kernels.multiply(x, x, BASIS),
    "linear": lambda x: kernels.linear(WEIGHTS, x, BASIS),
    "square": lambda x: kernels.square(x, BASIS),
    "square and reduce": lambda x: kernels.rescaled_square_sums(x, GROUPS, 3, BASIS),
    "divide": lambda x: kernels.rescale(x, 2, BASIS),
    "coefficients": lambda x: kernels.coefficients(x, [0, 7, N - 1], BASIS),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("values", ["random", "largest", "zero"])
def test_bits_are_those_of_the_native_kernels(work, values):
    if not kernels.available():
        pytest.skip("the native module is not built")
    x = random_residues(4, 5, 2) if values == "random" else corners(5, 2, value=-(values != "zero"))
    assert np.array_equal(work(torch.from_numpy(x)).numpy(), work(x))


@pytest.mark.parametrize("limbs", [2, 5])
def test_key_products_have_the_bits_of_the_native_kernels(limbs, monkeypatch):
    """Also where ciphertexts are taken one after the other, for want of memory."""
    if not kernels.available():
        pytest.skip("the native module is not built")
    x = random_residues(5, 3, 3)
    expected = kernels.relinearize(x, KEY, SPECIAL, BASIS, limbs)
    there = torch.from_numpy(x), torch.from_numpy(KEY)
    assert np.array_equal(kernels.relinearize(*there, SPECIAL, BASIS, limbs).numpy(), expected)
    monkeypatch.setattr(residues_device, "_RAISED_AT_ONCE", 1)
    assert np.array_equal(kernels.relinearize(*there, SPECIAL, BASIS, limbs).numpy(), expected)
    assert np.array_equal(there[0].numpy(), random_residues(5, 3, 3))


def test_seeds_and_messages_have_the_bits_of_the_native_kernels(monkeypatch):
    if not kernels.available():
        pytest.skip("the native module is not built")
    seeds = torch.from_numpy(SEEDS)
    expected = kernels.expand_seeds(SEEDS, BASIS)
    assert np.array_equal(kernels.expand_seeds(seeds, BASIS).numpy(), expected)
    monkeypatch.setattr(residues_device, "_WORDS_AT_ONCE", 1)
    assert np.array_equal(kernels.expand_seeds(seeds, BASIS).numpy(), expected)
    first = random_residues(6, 3).view(np.uint32)
    packed = kernels.pack(first, BASIS.primes)
    arrived = kernels.receive(packed, SEEDS, BASIS, CPU).numpy()
    assert np.array_equal(arrived, kernels.receive(packed, SEEDS, BASIS, None))


def test_sums_longer_than_a_word_holds_are_reduced_on_the_way(monkeypatch):
    """Weights of one sign and the largest residues, more of them than one sum takes."""
    basis = Basis(N, tuple(ntt_primes(N, 31, 1)))
    count = device_products.SAFE_TERMS + 3
    weights = np.full((1, count), kernels.MAX_WEIGHT)
    x = torch.full((1, 1, 1, N), basis.primes[0] - 1, dtype=torch.int32)
    out = torch.empty_like(x)
    reads = np.zeros((1, count), dtype=np.int64)
    for sign in (1, -1):
        residues_device._weigh_(out, x, (sign * weights, reads, np.zeros((1, 1), np.int64)), basis)
        total = sign * count * kernels.MAX_WEIGHT * (basis.primes[0] - 1)
        assert out.unique().tolist() == [total % basis.primes[0]]


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.rpartition(".")[2])
def test_every_kernel_compiles_for_every_card(module, tmp_path):
    written = wp.compile_aot_module(module, arch=CARDS, module_dir=tmp_path, use_ptx=True)
    assert len(written) == len(CARDS)
    names = [name for name, one in vars(module).items() if isinstance(one, wp.Kernel)]
    assert names
    for card, path in zip(CARDS, written, strict=True):
        text = path.read_text()
        assert f".target sm_{card}" in text
        entries = re.findall(r"\.entry (\w+)", text)
        for name in names:
            assert any(entry.startswith(f"{name}_") for entry in entries), (card, name)


def test_a_kernel_that_does_not_compile_is_noticed(tmp_path):
    source = tmp_path / "broken_kernels.py"
    source.write_text(
        "import warp as wp\n\n\n@wp.kernel\ndef broken(x: wp.array[wp.uint32]):\n"
        "    x[wp.tid()] = x[0] + wp.uint64(1)\n"
    )
    module = types.ModuleType("broken_kernels")
    module.__file__ = str(source)
    sys.modules["broken_kernels"] = module
    try:
        exec(compile(source.read_text(), source, "exec"), vars(module))
        with pytest.raises(Exception, match="broken"):
            wp.compile_aot_module(module, arch=[90], module_dir=tmp_path, use_ptx=True)
    finally:
        del sys.modules["broken_kernels"]
