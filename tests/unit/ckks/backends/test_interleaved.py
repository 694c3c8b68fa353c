"""Features beside each other on residues: the automorphism by its definition and by SEAL, and the
same bits from every kernel and from the plain formulas."""

from functools import cache

import numpy as np
import pytest

from securefair.ckks import rules
from securefair.ckks.backends import (
    get_backend,
    interleaved,
    kernel_choice,
    kernels,
    seal_keys,
    wire,
)
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.interleaving import element, interleave, places_under
from securefair.ckks.layers import AffineLayer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.specs import AffineSpec
from securefair.errors import EncryptionError

SPECS = {
    4096: CkksSpec(ring_degree=4096, limb_bits=(26, 25, 25), special_bits=29),
    8192: CkksSpec(ring_degree=8192, limb_bits=(30, 26, 26, 26), special_bits=31),
}

SHAPES = [
    pytest.param(parts, features, units, id=f"{features} features, {units} units, {parts} beside")
    for parts, features, units in (
        (2, 1, 1),
        (2, 5, 3),
        (4, 3, 4),
        (4, 8, 2),
        (4, 9, 7),
        (8, 17, 8),
        (8, 16, 17),
        (16, 7, 5),
    )
]


@cache
def context_of(degree):
    return seal_context(CkksParameters(SPECS[degree]))


@cache
def keys_of(degree, parts, limbs=None):
    limbs = limbs or len(SPECS[degree].limb_bits)
    return seal_keys.generate(context_of(degree), galois=limbs, element=element(degree, parts))


def key_of(degree, parts):
    """As the kernels take it, with its basis and its special prime."""
    params = context_of(degree).params
    _, public = keys_of(degree, parts)
    first, seeds, limbs = wire.split_switching_key(public.galois, params)
    whole = Basis(degree, (*params.primes[:limbs], params.special_prime))
    return kernels.receive(first, seeds, whole, None), params.special_prime


def residues(basis, *shape, seed=0):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, p, (*shape, basis.ring_degree)) for p in basis.primes]
    return np.stack(rows, axis=-2).astype(np.int32)


def bases(degree):
    whole = Basis(degree, context_of(degree).params.primes)
    return [whole.prefix(limbs) for limbs in range(len(whole), 0, -1)]


def case(degree, parts, features, units, basis):
    """Arguments of `hidden_units`: any residues will do."""
    rng = np.random.default_rng(parts * 1000 + features * 10 + units)
    weights = rng.integers(-2000, 2000, (units, features))
    x = residues(basis, -(-features // parts), 2, seed=units)
    bias = np.ascontiguousarray(residues(basis, units, seed=5)[..., 3])
    return (weights, x, bias, parts, *key_of(degree, parts), basis)


def monomial(basis, exponent):
    """X^exponent, transformed."""
    n, place = basis.ring_degree, exponent % (2 * basis.ring_degree)
    plain = np.zeros((1, len(basis), n), dtype=np.int32)
    for limb, p in enumerate(basis.primes):
        plain[0, limb, place % n] = 1 if place < n else p - 1
    kernels.ntt_forward_(plain, basis)
    return plain[0].astype(np.int64)


def by_the_formulas(weights, x, bias, parts, key, special, basis):
    """The lines of `ckks.interleaving`, one product of residues after the other."""
    n, primes = basis.ring_degree, np.array(basis.primes)[:, None]
    w = 2 * n // parts
    turn = interleaved._Turn(parts, key, special, basis)
    inverse = np.array([[pow(parts, -1, p)] for p in basis.primes])
    features = [each * monomial(basis, -f) % primes for each in x for f in range(parts)]
    found = []
    for start in range(0, len(weights), parts):
        group = [
            sum(int(a) % primes * f for a, f in zip(row, features[: len(row)], strict=True))
            % primes
            for row in weights[start : start + parts]
        ]
        z = None
        for j in reversed(range(parts)):
            total = np.zeros_like(x[0], dtype=np.int64)
            for u, y in enumerate(group):
                total += y * monomial(basis, u - w * j * u) % primes
            total = total % primes * inverse % primes
            z = total if z is None else (once(turn, z) + total) % primes
        powers = [z]
        for _ in range(1, parts):
            powers.append(once(turn, powers[-1]))
        for u in range(len(group)):
            terms = (p * monomial(basis, -w * j * u - u) % primes for j, p in enumerate(powers))
            found.append(sum(terms) % primes)
    found = np.stack(found)
    found[:, 0] = (found[:, 0] + bias[..., None]) % primes
    return found


def once(turn, x):
    return turn.once(np.ascontiguousarray(x[None].astype(np.int32)))[0].astype(np.int64)


@pytest.mark.parametrize("degree", SPECS)
@pytest.mark.parametrize("parts", [2, 16, 64])
def test_places_are_those_of_the_automorphism(degree, parts):
    """Coefficient i goes to place i (2n + 1), and changes its sign where that goes round."""
    basis = bases(degree)[0]
    x = residues(basis, 1)
    exponents = np.arange(degree) * element(degree, parts) % (2 * degree)
    moved = np.zeros_like(x)
    p = np.array(basis.primes)[:, None]
    moved[..., exponents % degree] = np.where(exponents < degree, x, (p - x) % p)
    kernels.ntt_forward_(x, basis)
    kernels.ntt_forward_(moved, basis)
    np.testing.assert_array_equal(x[..., places_under(degree, element(degree, parts))], moved)


@pytest.mark.parametrize(("degree", "parts"), [(4096, 2), (4096, 64), (8192, 8)])
def test_turns_are_seals_bit_for_bit_at_every_level(all_kernels, degree, parts):
    context, (_, public) = context_of(degree), keys_of(degree, parts)
    key, special = key_of(degree, parts)
    g = element(degree, parts)
    loaded = seal_keys.load_galois_key(context, public.galois, g)
    for basis in bases(degree):
        x = residues(basis, 1, 2, seed=len(basis))
        turn = interleaved._Turn(parts, key, special, basis)
        ciphertext = context.ciphertext(x[0].astype(np.uint64))
        context.evaluator.apply_galois_inplace(ciphertext, g, loaded.key)
        expected = context.residues(ciphertext).astype(np.int64)
        np.testing.assert_array_equal(turn.once(x)[0], expected)


@cache  # turns are SEAL's by whatever kernels, as the test above finds
def formulas_of(parts, features, units):
    arguments = case(4096, parts, features, units, bases(4096)[1])
    return arguments, by_the_formulas(*arguments)


@pytest.mark.parametrize(("parts", "features", "units"), SHAPES)
def test_hidden_units_are_the_formulas_bit_for_bit(all_kernels, parts, features, units):
    arguments, expected = formulas_of(parts, features, units)
    found = interleaved.hidden_units(*arguments)
    assert found.shape == (units, 2, len(arguments[-1]), 4096)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("degree", "parts", "features", "units"),
    [
        (4096, 32, 40, 5),
        (8192, 8, 33, 5),
        (4096, 2, 300, 3),
        pytest.param(4096, 64, 66, 3, marks=pytest.mark.slow),
    ],
)
def test_both_implementations_give_the_same_bits(degree, parts, features, units, monkeypatch):
    """Also of more ciphertexts than are shifted at once."""
    if not kernels.available():
        pytest.skip("the native module is not built")
    arguments = case(degree, parts, features, units, bases(degree)[0])
    before = arguments[1].copy()
    native = interleaved.hidden_units(*arguments)
    monkeypatch.setattr(kernel_choice, "_native", None)
    np.testing.assert_array_equal(native, interleaved.hidden_units(*arguments))
    np.testing.assert_array_equal(arguments[1], before)


@pytest.mark.parametrize("at_once", [1, 4, 9, 1000])
def test_how_many_are_shifted_at_once_does_not_show(all_kernels, at_once, monkeypatch):
    arguments = case(4096, 4, 18, 5, bases(4096)[-1])
    expected = interleaved.hidden_units(*arguments)
    monkeypatch.setattr(interleaved, "SHIFTED_AT_ONCE", at_once)
    np.testing.assert_array_equal(interleaved.hidden_units(*arguments), expected)


@pytest.mark.parametrize(("parts", "inputs", "outputs"), [(2, 5, 3), (4, 4, 6), (8, 11, 2)])
def test_seal_makes_the_same_residues_of_the_same_upload(parts, inputs, outputs):
    params, rng = context_of(4096).params, np.random.default_rng(parts)
    weights = rng.integers(-32, 33, (outputs, inputs))
    layer = AffineLayer(weights, rng.uniform(-1, 1, outputs))
    spec = AffineSpec(
        inputs=inputs, outputs=outputs, log2_scale=5, max_integer=32, l1=12.0, l2=4.0, bound=14.0
    )
    packed = interleave(rng.uniform(-1, 1, (inputs, 20)), parts, 4096)
    meta = rules.fresh(
        params,
        count=len(packed),
        limbs=3,
        log2_scale=40.0,
        bound=1.0,
        packing="coefficients",
        parts=parts,
    )
    keys = get_backend("rns").generate_keys(params, galois=3, element=element(4096, parts))
    upload = keys.encryptor.encrypt(packed, meta)
    written = []
    for name in ("rns", "seal"):
        evaluator = get_backend(name).evaluator(params, keys.public)
        mapped = evaluator.interleaved_linear(evaluator.load(upload, meta), spec, layer)
        written.append(evaluator.extract(mapped, None).data)
    assert written[0] == written[1]


def test_seal_finds_the_key_where_it_looks_for_it():
    context, (_, public) = context_of(4096), keys_of(4096, 8)
    loaded = seal_keys.load_galois_key(context, public.galois, element(4096, 8))
    assert loaded.context is context
    assert loaded.key.has_key(element(4096, 8))
    assert loaded.key.size() == 1
    assert not loaded.key.has_key(2 * 4096 - 1)


def test_a_key_for_fewer_limbs_turns_what_has_no_more():
    params, (_, public) = context_of(8192).params, keys_of(8192, 4, limbs=2)
    assert len(public.galois) == wire.switching_key_bytes(params, 2)
    first, seeds, limbs = wire.split_switching_key(public.galois, params)
    assert limbs == 2
    whole = Basis(8192, (*params.primes[:2], params.special_prime))
    key = kernels.receive(first, seeds, whole, None)
    few, many = whole.prefix(2), Basis(8192, params.primes[:3])
    rng = np.random.default_rng(0)
    for basis in (few, many):
        bias = np.zeros((1, len(basis)), dtype=np.int32)
        arguments = (rng.integers(-9, 9, (1, 4)), residues(basis, 1, 2), bias, 4)
        if basis is few:
            found = interleaved.hidden_units(*arguments, key, params.special_prime, basis)
            assert found.shape == (1, 2, 2, 8192)
        else:
            with pytest.raises(EncryptionError, match="key does not fit"):
                interleaved.hidden_units(*arguments, key, params.special_prime, basis)
