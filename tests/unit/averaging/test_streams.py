"""Streams: the library's, from any place on; words below a prime exactly uniform."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from securefair.averaging import streams
from securefair.averaging.streams import (
    CHUNK,
    crypt,
    in_chunks,
    key_stream,
    largest_multiple,
    uniform_words,
)
from securefair.ckks.backends import kernels
from securefair.ckks.primes import ntt_primes

KEY = bytes(range(32))


def test_a_stream_is_what_zeros_are_encrypted_to():
    # NIST SP 800-38A, F.5.5: AES-256 in counter mode; its counter starts elsewhere, so use ECB.
    encryptor = Cipher(algorithms.AES256(KEY), modes.ECB()).encryptor()
    blocks = [encryptor.update(i.to_bytes(16, "big")) for i in range(4)]
    assert key_stream(KEY, 0, 64).tobytes() == b"".join(blocks)
    assert key_stream(KEY, 32, 20).tobytes() == b"".join(blocks)[32:52]
    lane = encryptor.update((7 << 64).to_bytes(16, "big"))
    assert key_stream(KEY, 0, 16, lane=7).tobytes() == lane


def test_sealing_twice_opens():
    data = bytes(range(256)) * 5
    closed = crypt(data, KEY)
    assert closed != data
    assert crypt(closed, KEY) == data
    assert crypt(b"", KEY) == b""


@pytest.mark.parametrize("bits", [16, 17, 29, 30, 31])
def test_words_are_below_a_multiple_of_the_prime_and_uniform(bits):
    prime = ntt_primes(4096, max(bits, 16), 1)[0]
    words = uniform_words(KEY, 3, prime, 1 << 16)
    assert (words < largest_multiple(prime)).all()
    assert largest_multiple(prime) % prime == 0
    residues = words % prime
    counts, _ = np.histogram(residues, bins=32, range=(0, prime))
    statistic = ((counts - 2048) ** 2 / 2048).sum()
    assert 5 < statistic < 90  # chi-square of 31 degrees of freedom: beyond 1e-7 on either side


def test_rejected_words_are_replaced_and_the_others_stay():
    prime = (1 << 31) + 11  # every other word or so is rejected
    assert largest_multiple(prime) == prime
    words = uniform_words(KEY, 0, prime, 1000)
    drawn = key_stream(KEY, 0, 4 * 8000).view("<u4")
    first, accepted = drawn[:1000], drawn[:1000] < prime
    assert 0.3 < accepted.mean() < 0.7
    assert (words[accepted] == first[accepted]).all()
    assert (words < prime).all()
    assert len(np.unique(words)) > 990


def test_more_is_drawn_where_too_many_were_rejected(monkeypatch):
    """A stream that starts with a long run of rejected words."""
    prime = ntt_primes(4096, 30, 1)[0]
    real = streams.key_stream

    def unlucky(key, start, size, *, lane=0):
        drawn = real(key, start, size, lane=lane)
        drawn[: 4 * 500] = 0xFF
        return drawn

    expected = real(KEY, 0, 4 * 2000).view("<u4")[500:1000]
    monkeypatch.setattr(streams, "key_stream", unlucky)
    words = uniform_words(KEY, 0, prime, 400)
    assert (words < largest_multiple(prime)).all()
    assert (words == expected[:400]).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("length", [1, CHUNK, 3 * CHUNK + 5])
def test_chunks_cover_everything_once(monkeypatch, threads, length):
    info = kernels.KernelInfo(native=True, instruction_set="", threads=threads)
    monkeypatch.setattr(streams.kernels, "describe", lambda: info)
    seen = np.zeros(length, dtype=np.int64)

    def work(part):
        seen[part] += 1

    in_chunks(length, work)
    assert (seen == 1).all()


def test_what_a_chunk_raises_comes_out(monkeypatch):
    info = kernels.KernelInfo(native=True, instruction_set="", threads=2)
    monkeypatch.setattr(streams.kernels, "describe", lambda: info)

    def work(part):
        if part.start:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_chunks(2 * CHUNK, work)
