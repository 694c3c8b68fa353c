"""Uniform residues from seeds, and messages that carry seeds: all implementations alike."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest
import torch

from securefair.ckks.backends import kernels, packing, residues_fallback
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.device_tables import first_rejected
from securefair.ckks.backends.residues_device import uniform_
from securefair.errors import EncryptionError
from unit.ckks.backends.residues import BASIS, ISAS, N, all_below, random_residues


def test_seed_expansion_is_a_function_of_each_seed(compute: ModuleType) -> None:
    rng = np.random.default_rng(17)
    seeds = rng.integers(0, 256, (3, 64), dtype=np.uint8)
    expanded = compute.expand_seeds(seeds, BASIS)
    assert all_below(expanded, BASIS)
    assert np.array_equal(compute.expand_seeds(seeds[1:2], BASIS)[0], expanded[1])
    assert not np.array_equal(expanded[0], expanded[1])
    # Uniform: the mean of N L values lies within 5 deviations of 1/2.
    fractions = expanded[0] / np.array(BASIS.primes)[:, None]
    assert abs(float(fractions.mean()) - 0.5) < 5 / math.sqrt(12 * fractions.size)


def test_implementations_expand_seeds_alike() -> None:
    if not kernels.available():
        pytest.skip("the native module is not built")
    rng = np.random.default_rng(18)
    seeds = rng.integers(0, 256, (2, 64), dtype=np.uint8)
    assert np.array_equal(
        kernels.expand_seeds(seeds, BASIS), residues_fallback.expand_seeds(seeds, BASIS)
    )


@pytest.mark.parametrize("apart", [0, 5])
def test_what_arrives_is_copied_and_expanded_wherever_it_lies(
    compute: ModuleType, apart: int
) -> None:
    """Views of a message: records of a polynomial and a seed, with anything between them."""
    first, rng = random_residues(31, 3).view(np.uint32), np.random.default_rng(32)
    packed = packing.pack(first, BASIS.primes)
    size = packed.shape[1]
    record = size + kernels.SEED_BYTES + apart
    message = np.frombuffer(rng.bytes(3 * record), dtype=np.uint8).reshape(3, record).copy()
    message[:, :size] = packed
    message.flags.writeable = False
    seeds = message[:, size:][:, : kernels.SEED_BYTES]
    received = compute.receive(message[:, :size], seeds, BASIS)
    assert np.array_equal(received[:, 0].view(np.uint32), first)
    given_seeds = seeds.copy()
    assert np.array_equal(received[:, 1], residues_fallback.expand_seeds(given_seeds, BASIS))


@pytest.mark.parametrize("value", ["prime", "all bits"])
@pytest.mark.parametrize("place", [(0, 0, 0), (1, 2, 17), (1, 4, N - 1)])
def test_residues_that_are_not_below_their_primes_are_not_received(
    compute: ModuleType, place: tuple[int, int, int], value: str
) -> None:
    first = random_residues(33, 2).view(np.uint32)
    seeds = np.zeros((2, 64), dtype=np.uint8)
    fitting = packing.pack(first, BASIS.primes)
    assert compute.receive(fitting, seeds, BASIS) is not None
    prime = BASIS.primes[place[1]]
    first[place] = prime if value == "prime" else (1 << prime.bit_length()) - 1
    packed = packing.pack(first, BASIS.primes)
    assert compute.receive(packed, seeds, BASIS) is None
    with pytest.raises(EncryptionError, match="not below its prime"):
        kernels.receive(packed, seeds, BASIS, None)


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
    drawn = torch.empty((1, 1, 2, N), dtype=torch.int32)
    uniform_(drawn, signed, basis, [tail])
    assert drawn[0, 0].tolist() == expected
    if kernels.available():
        from securefair.ckks.backends import _native

        for isa in ISAS:
            _native.use_isa(isa)
            out = np.empty((1, 2, N), dtype=np.int32)
            _native.uniform(out, words, basis.prime_list)
            assert out[0].tolist() == expected
        with pytest.raises(ValueError, match="used up"):
            _native.uniform(out, words[: 2 * N], basis.prime_list)
