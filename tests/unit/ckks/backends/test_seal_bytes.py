import struct
import threading

import _sealapi_cpp as seal
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks.backends import seal_bytes
from securefair.ckks.backends.seal_bytes import (
    Written,
    own_pipe,
    read_ciphertext,
    read_plaintext,
    unwrap,
    wrapped,
    write_ciphertext,
)
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import EncryptionError

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30), special_bits=30))
CONTEXT = seal_context(PARAMS)


@pytest.fixture(scope="module")
def generator():
    return seal.KeyGenerator(CONTEXT.seal)


@pytest.fixture(scope="module")
def relinearization(generator):
    return own_pipe().serialized(generator.create_relin_keys())


@pytest.fixture(scope="module")
def bodies(relinearization):
    return {
        "ciphertext": unwrap(write_ciphertext(residues(2), bytes(32), PARAMS.primes)),
        "relinearisation key": unwrap(relinearization),
    }


def wrap(body):
    return b"".join(wrapped([body]))


def residues(*leading, limbs=2, seed=0):
    primes = np.array(PARAMS.primes[:limbs], dtype=np.uint64)[:, None]
    shape = (*leading, limbs, 4096)
    return np.random.default_rng(seed).integers(0, primes, size=shape, dtype=np.uint64)


@given(body=st.binary(max_size=200))
def test_wrapping_is_undone(body):
    assert unwrap(wrap(body)) == body


@given(body=st.binary(max_size=200))
def test_compressed_bodies_are_inflated(body):
    packed = zstandard.ZstdCompressor().compress(body)
    header = struct.pack("<HBBBBHQ", 0xA15E, 16, 4, 3, 2, 0, 16 + len(packed))
    assert unwrap(header + packed) == body


@given(polys=st.integers(2, 3), limbs=st.integers(1, 2), seed=st.integers(0, 2**32))
def test_seal_reads_what_is_written_and_writes_what_is_read(polys, limbs, seed):
    values = residues(polys, limbs=limbs, seed=seed)
    back = CONTEXT.residues(CONTEXT.ciphertext(values))
    assert (back == values).all()


def test_a_seeded_ciphertext_round_trips_through_seal(generator):
    zero = seal.Encryptor(CONTEXT.seal, generator.secret_key()).encrypt_zero_symmetric(
        CONTEXT.parms_words(2)
    )
    body = own_pipe().body(zero)
    first, seed = read_ciphertext(body)
    assert first.shape == (1, 2, 4096)
    assert len(seed) == seal_bytes.SEED_BYTES
    level = struct.pack("<4Q", *CONTEXT.parms_words(2))
    written = unwrap(write_ciphertext(first, level, PARAMS.primes, seed=seed))
    again, same_seed = read_ciphertext(written)
    assert (again == first).all()
    assert same_seed == seed
    # What SEAL expands from it decrypts to an error and nothing else.
    plain = seal.Plaintext()
    seal.Decryptor(CONTEXT.seal, generator.secret_key()).decrypt(
        CONTEXT.ciphertext(first, seed=seed), plain
    )
    ntt = read_plaintext(own_pipe().body(plain), 4096)
    error = CONTEXT.from_ntt(ntt[None])[0].astype(np.int64)
    primes = np.array(PARAMS.primes)[:, None]
    centred = np.where(error > primes // 2, error - primes, error)
    assert np.abs(centred).max() <= 21
    assert (centred[0] == centred[1]).all()


def test_the_same_bytes_expand_alike_and_seeds_tell_masks_apart():
    first = residues(1)
    one, same, other = (
        CONTEXT.residues(CONTEXT.ciphertext(first, seed=seed * 64)) for seed in (b"a", b"a", b"b")
    )
    assert (one == same).all()
    assert (one[0] == other[0]).all()
    assert (one[1] != other[1]).mean() > 0.99


def test_a_relinearisation_key_has_digits(generator, relinearization, read_relinearization_key):
    key = seal.RelinKeys()
    CONTEXT.load(key, Written(relinearization))
    digits = read_relinearization_key(own_pipe().body(key))
    assert digits.shape == (2, 2, 3, 4096)
    primes = np.array((*PARAMS.primes, PARAMS.special_prime), dtype=np.uint64)[:, None]
    assert (digits < primes).all()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xa1" * 15,
        b"\xff" * 100,
        wrap(b"body")[:-1],
        wrap(b"body") + b"x",
        b"\x00" + wrap(b"body")[1:],
        wrap(b"body").replace(b"\x04\x03", b"\x04\x02"),
    ],
)
def test_what_is_no_seal_object_is_refused(data):
    with pytest.raises(EncryptionError):
        unwrap(data)


@given(junk=st.binary(max_size=200), packed=st.booleans())
def test_random_bytes_raise_encryption_errors_only(junk, packed):
    header = struct.pack("<HBBBBHQ", 0xA15E, 16, 4, 3, 2 if packed else 0, 0, 16 + len(junk))
    for data in (junk, header + junk):
        for read in (read_ciphertext, lambda b: read_plaintext(b, 64)):
            try:
                read(unwrap(data))
            except EncryptionError:
                continue


@pytest.mark.parametrize("kind", ["ciphertext", "relinearisation key"])
@given(
    place=st.integers(0, 200),
    value=st.sampled_from([0, 1, 2, 3, 2**20, 2**31, 2**33, 2**63, 2**64 - 1]),
)
def test_tampered_counts_raise_encryption_errors_only(bodies, kind, place, value):
    body = bytearray(bodies[kind])
    body[place : place + 8] = struct.pack("<Q", value)
    try:
        read_ciphertext(bytes(body))
    except EncryptionError:
        return


def test_a_small_object_that_inflates_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(seal_bytes, "MAX_BODY_BYTES", 1 << 22)
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 25))
    header = struct.pack("<HBBBBHQ", 0xA15E, 16, 4, 3, 2, 0, 16 + len(bomb))
    assert len(bomb) < 1 << 12
    with pytest.raises(EncryptionError, match="too large"):
        unwrap(header + bomb)


def test_a_small_object_that_asks_for_much_memory_is_refused():
    wide = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    writer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    frame = writer.compress(bytes(64)) + writer.flush()
    header = struct.pack("<HBBBBHQ", 0xA15E, 16, 4, 3, 2, 0, 16 + len(frame))
    with pytest.raises(EncryptionError, match="decompressed"):
        unwrap(header + frame)


def test_threads_do_not_read_each_others_objects():
    def check(number, failures):
        values = residues(2, seed=number)
        for _ in range(30):
            if (CONTEXT.residues(CONTEXT.ciphertext(values)) != values).any():
                failures.append(number)

    failures = []
    threads = [threading.Thread(target=check, args=(k, failures)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
