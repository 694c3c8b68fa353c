"""The published vectors, replayed: bit for bit on every backend that works on residues."""

import base64
import hashlib
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from contract import known_answers
from securefair.ckks import rules
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys

FILE = json.loads(
    (Path(__file__).parents[1] / "vectors" / "known_answers.json").read_text(encoding="utf-8")
)
VECTORS = FILE["vectors"]


def keys_of():
    names = ("public_key", "relinearization_key", "conjugation_key")
    return PublicKeys(*(base64.b64decode(FILE[name]) for name in names))


def replay_of(backend):
    return known_answers.Replay(backend, keys_of())


def test_the_parameters_are_those_of_the_file():
    params = known_answers.PARAMS
    assert (FILE["ring_degree"], FILE["primes"]) == (params.ring_degree, list(params.primes))
    assert FILE["special_prime"] == params.special_prime


def test_every_step_gives_the_published_residues(backend, monkeypatch):
    if backend.name not in ("rns", "seal"):
        pytest.skip("this backend has no residues of ours: `clear` none, openfhe its own")
    found = replay_of(backend).answers(monkeypatch)
    assert set(found) == set(VECTORS) - {"encoding", "masks"}
    for name, told in found.items():
        assert told == VECTORS[name], name


def test_a_changed_weight_changes_the_vector(backend, monkeypatch):
    if backend.name not in ("rns", "seal"):
        pytest.skip("this backend has no residues of ours")
    monkeypatch.setattr(known_answers, "BIAS", (0.25, -0.4375))
    found = replay_of(backend).answers(monkeypatch)
    assert found["linear layer"] != VECTORS["linear layer"]
    assert found["square"] == VECTORS["square"]


def test_encoding_and_masks_are_as_published():
    assert known_answers.masks() == VECTORS["masks"]
    found = known_answers.encoding()["first"]
    off = np.abs(np.array(found) - VECTORS["encoding"]["first"]).max()
    assert off <= VECTORS["encoding"]["tolerance"]


def test_what_another_implementation_needs_is_beside_the_vectors():
    assert known_answers.switching_keys(keys_of()) == FILE["switching_keys"]
    assert known_answers.mask_inputs() == FILE["mask_inputs"]
    n, limbs = FILE["ring_degree"], len(FILE["primes"]) + 1
    assert len(base64.b64decode(FILE["public_key"])) == 4 * limbs * n + 64


def test_the_mask_follows_from_what_is_written():
    """By X25519, HKDF and AES alone, without a line of this package."""
    given, mask = FILE["mask_inputs"], VECTORS["masks"]
    facts = (bytes.fromhex(given["session"]), given["round"], given["attempt"])
    encoded = msgspec.msgpack.encode((*facts, given["receiver"], given["senders"]))
    salt = hashlib.sha256(b"securefair gathering\0" + encoded).digest()
    assert salt.hex() == mask["salt"]
    private = X25519PrivateKey.from_private_bytes(hashlib.shake_128(b"b").digest(32))
    assert private.public_key().public_bytes_raw().hex() == mask["public"][0]
    shared = private.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(mask["public"][1])))
    info = bytes.fromhex(given["info"])
    key = HKDF(SHA256(), length=32, salt=salt, info=info).derive(shared)
    assert key.hex() == mask["key"]
    counter = modes.CTR(bytes.fromhex(given["counter"]))
    stream = Cipher(algorithms.AES256(key), counter).encryptor().update(bytes(64))
    assert stream.hex() == mask["stream"]


def test_places_are_powers_of_the_smallest_primitive_root():
    """Place i holds the value at root^(2 r + 1), r being i with its bits in reverse."""
    n, bits = FILE["ring_degree"], FILE["ring_degree"].bit_length() - 1
    drawn = known_answers.residues("one", 1)[0]
    for limb, prime in enumerate(FILE["primes"]):
        # Any root of -1 of degree n; its odd powers are all of them.
        step = (prime - 1) // (2 * n)
        found = next(r for g in range(2, 100) if pow(r := pow(g, step, prime), n, prime) != 1)
        root = min(pow(found, odd, prime) for odd in range(1, 2 * n, 2))
        points = [pow(root, 2 * int(f"{i:0{bits}b}"[::-1], 2) + 1, prime) for i in range(n)]
        values = [int(value) for value in drawn[limb]]
        for at, published in zip((0, 5, 4095), VECTORS["release"]["values"], strict=True):
            total = sum(v * pow(x, -at, prime) for v, x in zip(values, points, strict=True))
            assert total * pow(n, -1, prime) % prime == published[limb]


def test_every_backend_opens_the_published_encoding(backend):
    """All that can be asked of openfhe: it takes and gives values, not residues."""
    params = known_answers.PARAMS
    slots = ((np.arange(params.slots) % 201) - 100) / 100
    meta = rules.fresh(params, count=1, limbs=2, log2_scale=40, bound=1.0)
    keys = backend.generate_keys(params)
    evaluator = backend.evaluator(params, keys.public)
    tensor = evaluator.load(keys.encryptor.encrypt(slots[None], meta), meta)
    shown = VECTORS["encoding"]["first"]
    which = np.arange(len(shown))
    released = evaluator.extract(tensor, which)
    opened = keys.decryptor.open(Released(released.meta, which, released.data))[0]
    np.testing.assert_allclose(
        opened, np.array(shown) / 2.0**20, atol=rules.coefficient_error(meta) + 2.0**-20
    )
