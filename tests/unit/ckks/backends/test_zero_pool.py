"""Encryptions of zero from several processes: all fresh, all valid, whoever dies on the way."""

import numpy as np
import pytest

from securefair.ckks.backends import kernels, zero_pool
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.backends.seal_keys import decrypt_residues, generate
from securefair.ckks.backends.zero_pool import ZeroPool
from securefair.ckks.parameters import CkksParameters, CkksSpec

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30), special_bits=30))
LARGEST_ERROR = 21  # of SEAL's centred binomial
SHARED, CHUNK = 16, 8  # encryptions at 2 limbs


@pytest.fixture
def two_threads(monkeypatch):
    before = kernels.describe().threads
    kernels.set_threads(2)
    monkeypatch.setattr(zero_pool, "MIN_SHARED", SHARED * PARAMS.ring_degree)
    monkeypatch.setattr(zero_pool, "CHUNK", CHUNK * 2 * PARAMS.ring_degree)
    yield
    kernels.set_threads(before)


def largest_message(secret, first, seeds):
    """Decrypt and return the largest coefficient, which is an encryption's error."""
    context = seal_context(PARAMS)
    largest = 0
    for row, seed in zip(first, seeds, strict=True):
        expanded = context.residues(
            context.ciphertext(row[None].astype(np.uint64), seed=seed.tobytes())
        )
        message = context.from_ntt(decrypt_residues(context, secret, expanded[None]))[0, 0]
        signed = message.astype(np.int64)
        signed = np.where(signed > PARAMS.primes[0] // 2, signed - PARAMS.primes[0], signed)
        largest = max(largest, int(np.abs(signed).max()))
    return largest


@pytest.mark.parametrize("count", [1, SHARED + CHUNK // 2])
def test_every_row_is_a_fresh_encryption_of_zero(count, two_threads):
    secret, _ = generate(seal_context(PARAMS))
    first, seeds = ZeroPool(seal_context(PARAMS), secret).take(2, count)
    assert first.shape == (count, 2, 4096)
    assert len(np.unique(seeds, axis=0)) == count
    assert 0 < largest_message(secret, first, seeds) <= LARGEST_ERROR


def test_work_of_a_dying_child_is_done_here(two_threads, monkeypatch):
    started = []
    start = zero_pool._start

    def start_and_kill(context, secret):
        child = start(context, secret)
        child.kill()
        started.append(child)
        return child

    monkeypatch.setattr(zero_pool, "_start", start_and_kill)
    secret, _ = generate(seal_context(PARAMS))
    first, seeds = ZeroPool(seal_context(PARAMS), secret).take(1, SHARED)
    assert len(started) == 2
    assert len(np.unique(seeds, axis=0)) == SHARED
    assert 0 < largest_message(secret, first, seeds) <= LARGEST_ERROR


def test_children_end_with_the_pool(two_threads):
    secret, _ = generate(seal_context(PARAMS))
    pool = ZeroPool(seal_context(PARAMS), secret)
    pool.take(1, SHARED)
    children = list(pool._children)
    assert [child.poll() for child in children] == [None, None]
    del pool
    assert all(child.wait(timeout=10) is not None for child in children)
