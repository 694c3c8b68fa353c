"""Every operation that SEAL has, bit for bit, on random residues and corners, at every level."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from functools import cache
from types import ModuleType

import _sealapi_cpp as seal
import numpy as np
import pytest

from securefair.ckks.backends import kernel_choice, kernels, residues_fallback
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.seal_bytes import Written, own_pipe, read_ciphertext
from securefair.ckks.backends.seal_context import SealContext, SealObject, seal_context
from securefair.ckks.parameters import CkksParameters, CkksSpec

LITERALS = {
    4096: CkksSpec(ring_degree=4096, limb_bits=(31, 31), special_bits=31),
    8192: CkksSpec(ring_degree=8192, limb_bits=(31, 30, 31, 20, 31), special_bits=31),
    16384: CkksSpec(ring_degree=16384, limb_bits=(31,) * 7, special_bits=31),
    32768: CkksSpec(ring_degree=32768, limb_bits=(31, 20, 31), special_bits=31),
}
pytestmark = pytest.mark.parametrize("degree", sorted(LITERALS))
Operands = tuple[Basis, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]


@pytest.fixture(params=["native", "device"])
def compute(request: pytest.FixtureRequest) -> ModuleType:
    """An implementation of the kernels."""
    if request.param == "native" and not kernels.available():
        pytest.skip("the native module is not built")
    return kernel_choice.implementation(None) if request.param == "native" else residues_fallback


def context_of(degree: int) -> SealContext:
    return seal_context(CkksParameters(LITERALS[degree]))


def bases(context: SealContext) -> list[Basis]:
    """The basis of every level, most limbs first."""
    whole = Basis(context.params.ring_degree, context.params.primes)
    return [whole.prefix(limbs) for limbs in range(len(whole), 0, -1)]


def some(context: SealContext, step: int) -> list[Basis]:
    """Every so many of them; in large rings the most and the fewest, as polynomials are long."""
    found = bases(context)
    return found[::step] if context.params.ring_degree < 16384 else [found[0], found[-1]]


@cache
def relinearization_key(degree: int) -> SealObject:
    """SEAL's key."""
    key = seal.RelinKeys()
    seal.KeyGenerator(context_of(degree).seal).create_relin_keys(key)
    return key


def as_residues(residues: np.ndarray) -> np.ndarray:
    return residues.astype(np.int32)


def samples(basis: Basis, polys: int, seed: int) -> list[np.ndarray]:
    """Residues (polys, limbs, N): uniform, the corners in turn, and almost all of them p - 1.

    SEAL refuses ciphertexts whose masks are zero, so the last polynomial keeps its uniform values.
    """
    rng = np.random.default_rng(seed)
    n = basis.ring_degree
    uniform = np.stack([rng.integers(0, p, (polys, n)) for p in basis.primes], axis=1)
    turns, largest = uniform.copy(), uniform.copy()
    for limb, p in enumerate(basis.primes):
        turns[:-1, limb] = np.array([0, 1, p - 1])[np.arange(n) % 3]
        largest[:-1, limb] = p - 1
    return [as_residues(x) for x in (uniform, turns, largest)]


def to_seal(context: SealContext, x: np.ndarray) -> SealObject:
    return context.ciphertext(x.astype(np.uint64))


def from_seal(context: SealContext, ciphertext: SealObject) -> np.ndarray:
    return as_residues(context.residues(ciphertext))


# What SEAL computes, once for all implementations.


@cache
def seal_transforms(degree: int) -> list[tuple[Basis, np.ndarray, np.ndarray]]:
    """Every basis, coefficients, and values at the roots."""
    context = context_of(degree)
    return [
        (basis, x, as_residues(context.to_ntt(x.astype(np.uint64))))
        for basis in some(context, 4)
        for x in samples(basis, 2, 1)
    ]


@cache
def seal_products(
    degree: int,
) -> list[Operands]:
    """Every basis, two factors, their product and the square of the first."""
    context, found, expected = context_of(degree), [], seal.Ciphertext()
    for basis in some(context, 4):
        for x, y in zip(samples(basis, 2, 2), samples(basis, 2, 3), strict=True):
            context.evaluator.multiply(to_seal(context, x), to_seal(context, y), expected)
            product = from_seal(context, expected)
            context.evaluator.square(to_seal(context, x), expected)
            found.append((basis, x, y, (product, from_seal(context, expected))))
    return found


@cache
def seal_sums(degree: int) -> list[Operands]:
    """The largest basis, two summands, their sum and their difference."""
    context, found, expected = context_of(degree), [], seal.Ciphertext()
    basis = bases(context)[0]
    for x, y in zip(samples(basis, 3, 4), samples(basis, 3, 5), strict=True):
        left, right = to_seal(context, x), to_seal(context, y)
        context.evaluator.add(left, right, expected)
        total = from_seal(context, expected)
        context.evaluator.sub(left, right, expected)
        found.append((basis, x, y, (total, from_seal(context, expected))))
    return found


@cache
def seal_rescaled(degree: int) -> list[tuple[Basis, np.ndarray, int, np.ndarray]]:
    """Every basis, three polynomials, limbs that are left, and what these then hold."""
    context, found = context_of(degree), []
    for basis in some(context, 2):
        for x in samples(basis, 3, 8) if len(basis) > 1 else ():
            expected = to_seal(context, x)
            for limbs in range(len(basis) - 1, max(0, len(basis) - 4), -1):
                context.evaluator.rescale_to_next_inplace(expected)
                found.append((basis, x, limbs, from_seal(context, expected)))
    return found


@cache
def seal_relinearized(degree: int) -> list[tuple[Basis, np.ndarray, np.ndarray]]:
    """Bases, three polynomials, and the two that SEAL makes of them."""
    context, key, found = context_of(degree), relinearization_key(degree), []
    for basis in some(context, 1):
        for x in samples(basis, 3, 9):
            expected = to_seal(context, x)
            context.evaluator.relinearize_inplace(expected, key)
            found.append((basis, x, from_seal(context, expected)))
    return found


@cache
def seal_expanded(degree: int) -> list[tuple[Basis, np.ndarray, np.ndarray, np.ndarray]]:
    """Every basis, a first polynomial, a seed, and both polynomials.

    Of SEAL's own seeded encryption, and of seeds that we write.
    """
    context, found = context_of(degree), []
    secret = seal.KeyGenerator(context.seal).secret_key()
    encryptor = seal.Encryptor(context.seal, secret)
    for basis in some(context, 2):
        zero = encryptor.encrypt_zero_symmetric(context.parms_words(len(basis)))
        first, own = read_ciphertext(own_pipe().body(zero))
        for seed in (own, bytes(64), os.urandom(64)):
            expected = from_seal(context, context.ciphertext(first, seed=seed))
            words = np.frombuffer(bytearray(seed), dtype=np.uint8)[None]
            found.append((basis, as_residues(first[0]), words, expected))
    return found


def test_transforms(compute: ModuleType, degree: int) -> None:
    for basis, x, values in seal_transforms(degree):
        mine = x.copy()
        compute.ntt_forward_(mine, basis)
        assert np.array_equal(mine, values)
        compute.ntt_inverse_(mine, basis)
        assert np.array_equal(mine, x)


def test_products(compute: ModuleType, degree: int) -> None:
    index = np.zeros((1, 1), dtype=np.int64)
    for basis, x, y, (product, square) in seal_products(degree):
        found = compute.sum_products(x[None], y[None], index, index, basis)
        assert np.array_equal(found[0], product)
        assert np.array_equal(compute.square(x[None], basis)[0], square)


def test_sums(compute: ModuleType, degree: int) -> None:
    for basis, x, y, (total, difference) in seal_sums(degree):
        assert np.array_equal(compute.add(x, y, basis), total)
        assert np.array_equal(compute.subtract(x, y, basis), difference)


@pytest.mark.parametrize("polys", [2, 3])
def test_rescaling(compute: ModuleType, degree: int, polys: int) -> None:
    for basis, x, limbs, expected in seal_rescaled(degree):  # each polynomial by itself
        last = np.ascontiguousarray(x[None, -polys:])
        assert np.array_equal(compute.rescale(last, limbs, basis)[0], expected[-polys:])


def test_relinearization(
    compute: ModuleType, degree: int, read_relinearization_key: Callable[[bytes], np.ndarray]
) -> None:
    context, key = context_of(degree), relinearization_key(degree)
    residues = as_residues(read_relinearization_key(own_pipe().body(key)))
    for basis, x, expected in seal_relinearized(degree):
        result = compute.relinearize(x[None], residues, context.params.special_prime, basis)
        assert np.array_equal(result[0], expected)


def test_seeds(compute: ModuleType, degree: int) -> None:
    for basis, first, seed, expected in seal_expanded(degree):
        assert np.array_equal(compute.expand_seeds(seed, basis)[0], expected[1])
        assert np.array_equal(first, expected[0])


def test_slots(compute: ModuleType, degree: int) -> None:
    """Slots that SEAL encodes we decode, and the other way round."""
    context = context_of(degree)
    encoder = seal.CKKSEncoder(context.seal)
    slots = np.random.default_rng(10).uniform(-1, 1, (1, degree // 2))
    limbs, scale = 2, 2.0**40
    basis = bases(context)[-limbs]
    plaintext = seal.Plaintext()
    encoder.encode(slots[0].tolist(), context.parms_words(limbs), scale, plaintext)
    body = own_pipe().body(plaintext)
    theirs = as_residues(np.frombuffer(body, "<u8")[-limbs * degree :].reshape(1, limbs, degree))
    error = compute.decode(theirs, scale, basis) - slots
    assert np.abs(error).max() < degree / scale

    ours = compute.encode(slots, scale, basis)
    prefix, words = body[: len(body) - 8 * limbs * degree], ours.astype("<u8")
    total = 16 + len(body)
    header = struct.pack("<HBBBBHQ", 0xA15E, 16, 4, 3, 0, 0, total)
    context.load(plaintext, Written(header + prefix + words.tobytes()))
    error = np.array(encoder.decode_double(plaintext)) - slots[0]
    assert np.abs(error).max() < degree / scale
    # The same integers, but for a rare tie that another order of float additions decides.
    for values in (ours, theirs):
        compute.ntt_inverse_(values, basis)
    differences = int((ours != theirs).any(axis=1).sum())
    assert differences <= degree // 1000
