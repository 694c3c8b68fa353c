import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from securefair.ckks import rules
from securefair.ckks.backends import wire
from securefair.ckks.backends.seal_bytes import SEED_BYTES
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import EncryptionError

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 25), special_bits=16))
PRIMES = np.array(PARAMS.primes, dtype=np.uint32)


def meta(count=2, limbs=2, product=False):
    x = rules.fresh(PARAMS, count=count, limbs=limbs, log2_scale=10, bound=1.0)
    return rules.multiply(x, x) if product else x


def residues(*leading, limbs=2, seed=0):
    rng = np.random.default_rng(seed)
    shape = (*leading, limbs, 4096)
    return rng.integers(0, PRIMES[:limbs, None], size=shape, dtype=np.uint32)


def upload():
    return wire.write_upload(residues(2), [bytes(SEED_BYTES), b"s" * SEED_BYTES], PARAMS.primes)


def answer(coefficients=3):
    values = residues(2)[:, :, :coefficients].swapaxes(1, 2)
    return wire.write_answer(residues(2, 1), values)


READERS = {
    "upload": (upload(), lambda data: wire.read_upload(data, meta())),
    "answer": (answer(), lambda data: wire.read_answer(data, meta(), 3)),
    "whole": (residues(2, 2).tobytes(), lambda data: wire.read_whole(data, meta())),
    "key": (
        wire.write_public_key(residues(3, limbs=1)[:, 0], bytes(SEED_BYTES)),
        lambda data: wire.read_public_key(data, PARAMS),
    ),
}
every_reader = pytest.mark.parametrize("kind", READERS)


@pytest.mark.parametrize("limbs", [1, 2])
def test_a_switching_key_has_a_record_for_each_of_its_primes(limbs):
    primes = (*PARAMS.primes[:limbs], PARAMS.special_prime)
    rng = np.random.default_rng(0)
    first = np.stack([rng.integers(0, p, (limbs, 4096), dtype=np.uint32) for p in primes], axis=1)
    seeds = [bytes([k]) * SEED_BYTES for k in range(limbs)]
    data = wire.write_upload(first, seeds, primes)
    bits = sum(prime.bit_length() for prime in primes)
    assert len(data) == wire.switching_key_bytes(PARAMS, limbs) == limbs * (bits * 512 + SEED_BYTES)
    got, got_seeds = wire.read_switching_key(data, PARAMS)
    assert (got == first).all()
    assert [seed.tobytes() for seed in got_seeds] == seeds
    assert wire.split_switching_key(data, PARAMS)[2] == limbs


def test_a_switching_key_of_no_length_of_these_parameters_is_refused():
    assert wire.switching_key_bytes(PARAMS, 0) == 0
    for size in (0, 1, wire.switching_key_bytes(PARAMS, 2) - 1):
        with pytest.raises(EncryptionError, match="wrong length"):
            wire.split_switching_key(bytes(size), PARAMS)


@given(count=st.integers(1, 3), limbs=st.integers(1, 2), product=st.booleans(), q=st.integers(1, 9))
def test_what_is_written_is_read_and_has_the_foreseen_length(count, limbs, product, q):
    facts = meta(count, limbs, product)
    first = residues(count, limbs=limbs)
    seeds = [bytes([k]) * SEED_BYTES for k in range(count)]
    data = wire.write_upload(first, seeds, PARAMS.primes[:limbs])
    assert len(data) == wire.upload_bytes(facts)
    got, got_seeds = wire.read_upload(data, facts)
    assert (got == first).all()
    assert got_seeds == seeds

    masks = residues(count, facts.polys - 1, limbs=limbs, seed=1)
    values = residues(count, limbs=limbs, seed=2)[:, :, :q].swapaxes(1, 2)
    data = wire.write_answer(masks, values)
    assert len(data) == wire.answer_bytes(facts, q)
    got_masks, got_values = wire.read_answer(data, facts, q)
    assert (got_masks == masks).all()
    assert (got_values == values).all()

    whole = residues(count, facts.polys, limbs=limbs, seed=3)
    assert whole.nbytes == wire.answer_bytes(facts, None)
    assert (wire.read_whole(whole.astype("<u4").tobytes(), facts) == whole).all()


def test_a_public_key_is_b_and_a_seed_and_nothing_else():
    first, seed = residues(3, limbs=1)[:, 0], bytes(range(SEED_BYTES))
    data = wire.write_public_key(first, seed)
    assert len(data) == wire.public_key_bytes(PARAMS) == 3 * 4096 * 4 + SEED_BYTES
    got, got_seed = wire.read_public_key(data, PARAMS)
    assert (got == first).all()
    assert got_seed == seed


@every_reader
@given(change=st.integers(-200_000, 200_000).filter(bool), filler=st.binary(min_size=1, max_size=4))
def test_any_other_length_is_refused(kind, change, filler):
    data, read = READERS[kind]
    other = data[:change] if change < 0 else data + (filler * change)[:change]
    if len(other) == len(data):
        return
    with pytest.raises(EncryptionError, match="wrong length"):
        read(other)


@every_reader
@given(junk=st.binary(max_size=300))
def test_random_bytes_are_refused(kind, junk):
    with pytest.raises(EncryptionError):
        READERS[kind][1](junk)


@every_reader
@given(seed=st.integers(0, 2**32))
def test_random_bytes_of_the_right_length_are_read_or_refused(kind, seed):
    data, read = READERS[kind]
    junk = np.random.default_rng(seed).bytes(len(data))
    if kind == "key":  # SEAL checks it when it loads it
        read(junk)
    else:
        with pytest.raises(EncryptionError, match="below its prime"):
            read(junk)


@pytest.mark.parametrize("limb", [0, 1])
@given(place=st.integers(0, 4095), row=st.integers(0, 1), excess=st.integers(0, 2**31))
def test_one_packed_residue_at_or_above_its_prime_is_refused(limb, place, row, excess):
    first, read = residues(2), READERS["upload"][1]
    largest = (1 << int(PRIMES[limb]).bit_length()) - 1
    first[row, limb, place] = min(int(PRIMES[limb]) + excess, largest)
    seeds = [bytes(SEED_BYTES)] * 2
    with pytest.raises(EncryptionError, match="below its prime"):
        read(wire.write_upload(first, seeds, PARAMS.primes))
    first[row, limb, place] = PRIMES[limb] - 1
    read(wire.write_upload(first, seeds, PARAMS.primes))


@pytest.mark.parametrize("limb", [0, 1])
@given(place=st.integers(0, 4095), row=st.integers(0, 1), excess=st.integers(0, 2**31))
def test_one_residue_at_or_above_its_prime_is_refused(limb, place, row, excess):
    data, read = READERS["whole"]
    words = np.frombuffer(data[: len(data) // 4 * 4], dtype="<u4").copy()
    index = row * (len(words) // 2) + limb * 4096 + place
    words[index] = min(int(PRIMES[limb]) + excess, 2**32 - 1)
    with pytest.raises(EncryptionError, match="below its prime"):
        read(words.tobytes() + data[len(words) * 4 :])
    words[index] = PRIMES[limb] - 1
    read(words.tobytes() + data[len(words) * 4 :])


def test_uploads_are_joined_and_split_at_will():
    first, seeds = residues(3), [bytes([k]) * SEED_BYTES for k in range(3)]
    whole = wire.write_upload(first, seeds, PARAMS.primes)
    parts = [wire.write_upload(first[i : i + 1], seeds[i : i + 1], PARAMS.primes) for i in range(3)]
    assert whole == b"".join(parts)
    got, got_seeds = wire.read_upload(whole[len(whole) // 3 :], replace(meta(), count=2))
    assert (got == first[1:]).all()
    assert got_seeds == seeds[1:]


@pytest.mark.parametrize("limb", [0, 1])
def test_released_coefficients_are_checked_against_the_prime_of_their_limb(limb):
    values = residues(2)[:, :, :3].swapaxes(1, 2).copy()
    values[1, 2, limb] = PRIMES[limb]
    data = wire.write_answer(residues(2, 1), values)
    with pytest.raises(EncryptionError, match="below its prime"):
        wire.read_answer(data, meta(), 3)


def test_the_masks_of_an_answer_are_checked_too():
    masks = residues(2, 1).copy()
    masks[1, 0, 1, 4095] = PRIMES[1]
    data = wire.write_answer(masks, residues(2)[:, :, :3].swapaxes(1, 2))
    with pytest.raises(EncryptionError, match="below its prime"):
        wire.read_answer(data, meta(), 3)
