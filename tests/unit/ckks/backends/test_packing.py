"""Packed residues: the format bit by bit, and the native kernels against it."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks.backends import kernels, packing
from securefair.ckks.backends.basis import Basis
from securefair.ckks.primes import ntt_primes

N = 1024
PRIMES = tuple(ntt_primes(N, bits, 1)[0] for bits in (31, 30, 29, 27, 23, 17))


def bit_by_bit(row, width):
    """The format as the module's text says it, on Python integers."""
    words = []
    for start in range(0, len(row), packing.BLOCK):
        block = row[start : start + packing.BLOCK].tolist()
        strings = [
            sum(block[16 * r + lane] << (r * width) for r in range(32)) for lane in range(16)
        ]
        words += [
            strings[lane] >> (32 * k) & 0xFFFFFFFF for k in range(width) for lane in range(16)
        ]
    return np.array(words, dtype="<u4").view(np.uint8)


@given(seed=st.integers(0, 2**32), count=st.integers(0, 3))
def test_what_is_packed_has_the_stated_bits_and_is_unpacked(seed, count):
    rng = np.random.default_rng(seed)
    first = np.stack([rng.integers(0, p, (count, N), np.uint32) for p in PRIMES], axis=1)
    packed = packing.pack(first, PRIMES)
    assert packed.shape == (count, packing.packed_bytes(PRIMES, N))
    for row, data in zip(first, packed, strict=True):
        widths = [p.bit_length() for p in PRIMES]
        parts = [bit_by_bit(limb, width) for limb, width in zip(row, widths, strict=True)]
        assert (data == np.concatenate(parts)).all()
    assert (packing.unpack(packed, PRIMES, N) == first).all()


@given(seed=st.integers(0, 2**32))
def test_any_bits_are_residues_of_their_width(seed):
    data = np.random.default_rng(seed).integers(0, 256, (2, packing.packed_bytes(PRIMES, N)))
    found = packing.unpack(data.astype(np.uint8), PRIMES, N)
    assert (packing.pack(found, PRIMES) == data).all()


def test_every_instruction_set_packs_and_unpacks_alike(isa):
    from securefair.ckks.backends import residues_native

    rng, basis = np.random.default_rng(1), Basis(N, PRIMES)
    first = np.stack([rng.integers(0, p, (3, N), np.uint32) for p in PRIMES], axis=1)
    first[0, :, :2] = [[0, p - 1] for p in PRIMES]
    packed = residues_native.pack(first, PRIMES)
    assert (packed == packing.pack(first, PRIMES)).all()
    seeds = np.zeros((3, kernels.SEED_BYTES), np.uint8)
    received = kernels.receive(packed, seeds, basis, None)
    assert (received[:, 0] == first).all()


@pytest.mark.skipif(not kernels.available(), reason="no native kernels are built")
def test_a_module_that_was_built_from_other_sources_is_not_used(monkeypatch):
    from securefair.ckks.backends import _native, residues_native

    monkeypatch.setattr(_native, "INTERFACE", residues_native.INTERFACE - 1)
    with pytest.raises(ImportError, match="built from other sources"):
        importlib.reload(residues_native)
