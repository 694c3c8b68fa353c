"""No byte that a peer sent reaches a loader of SEAL.

Adversary: a malicious peer, who sends bytes that exploit how SEAL parses its own objects. SEAL 4.3,
which TenSEAL carries, has known faults there; 4.4.0 mends them.
Protected: the process. Whatever arrives is parsed here, its residues are compared with their
primes, and what SEAL loads is written anew by `seal_bytes`, at the size that the plan foresees.
"""

import ast
import struct
from pathlib import Path

import _sealapi_cpp as seal
import numpy as np
import pytest
import zstandard

import securefair.ckks
from securefair.ckks.backends import get_backend, seal_bytes, seal_keys
from securefair.ckks.backends.seal_bytes import Written, own_pipe, unwrap, wrapped
from securefair.ckks.backends.seal_context import SealLoader, seal_context
from securefair.ckks.backends.seal_draws import Draws, draws_of
from securefair.ckks.keys import PublicKeys
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import EncryptionError

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30), special_bits=31))
CONTEXT = seal_context(PARAMS)
SOURCES = sorted(Path(securefair.ckks.__file__).parent.rglob("*.py"))
ARRAY = np.dtype("<u8")
SWITCHING = (seal.RelinKeys, seal.GaloisKeys)


def wrap(body):
    return b"".join(wrapped([body]))


@pytest.fixture
def loaded(monkeypatch):
    """Every object that SEAL loads, with its bytes."""
    seen = []
    load = SealLoader.load
    draws_of.cache_clear()

    def record(self, target, written):
        seen.append((self, target, written))
        load(self, target, written)

    monkeypatch.setattr(SealLoader, "load", record)
    return seen


def test_there_is_one_place_at_which_seal_loads():
    """By name, in every module that touches SEAL: `x.load(<context>.seal, ...)`."""
    loads, offers = [], []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                arguments = [ast.unparse(argument) for argument in node.args]
                if node.func.attr == "load" and any(a.endswith(".seal") for a in arguments):
                    loads.append((path.name, node.func.attr))
                if node.func.attr in ("offered", "unsafe_load", "load_bytes"):
                    offers.append((path.name, node.func.attr))
    assert loads == [("seal_context.py", "load")]
    assert offers == [("seal_context.py", "offered")]


def test_bytes_of_others_are_a_bug():
    with pytest.raises(TypeError, match="others wrote"):
        CONTEXT.load(seal.Ciphertext(), b"from a peer")


def residues_in(target, written, context):
    """The residues of what was loaded, by its kind, and whether it is exactly what we write."""
    body = unwrap(written)
    if isinstance(context, Draws):  # the same key of everybody, which is nobody's
        residues, seed = seal_bytes.read_ciphertext(body)
        assert (residues == [[[64]], [[0]]]).all()
        level, primes = struct.pack("<4Q", *context.seal.key_parms_id()), (context.prime,)
        return residues, primes, seal_bytes.write_ciphertext(residues, level, primes, seed=seed)
    level, primes = context.key_level, context.key_primes
    n = context.params.ring_degree
    if isinstance(target, SWITCHING):
        shape = (context.params.limbs, len(primes), n)
        place = n - 1 if isinstance(target, seal.GaloisKeys) else 0
        first, seeds = seal_bytes.read_seeded_key(body, level, primes, shape, place=place)
        again = seal_bytes.write_seeded_key(first, seeds, level, primes, place=place)
        return first, primes, again
    if isinstance(target, seal.SecretKey):
        residues = seal_bytes.read_plaintext(body, n)
        return residues, primes, seal_bytes.write_plaintext(residues, level, primes)
    residues, seed = seal_bytes.read_ciphertext(body)
    limbs = residues.shape[1]
    level = struct.pack("<4Q", *context.parms_words(limbs))
    primes = context.params.primes[:limbs]
    ntt = bool(body[32])
    again = seal_bytes.write_ciphertext(residues, level, primes, ntt=ntt, seed=seed)
    return residues, primes, again


@pytest.mark.parametrize("backend", ["seal", "rns"])
@pytest.mark.parametrize(
    ("release", "features"), [("projection", 3), ("class_sums", 3), ("projection", 60)]
)
def test_a_whole_exchange_loads_what_we_wrote_at_planned_sizes(
    backend, release, features, loaded, student_of, samples_in_slots
):
    student, teacher, samples, predictions = student_of(release, backend, features)
    request = student.request(samples, predictions=predictions)
    student.open(teacher.answer(request))
    kinds = {type(target) for _, target, _ in loaded}
    keys = [type(context) for context, target, _ in loaded if isinstance(target, seal.PublicKey)]
    assert keys == [Draws]  # a peer's public key is not for SEAL
    assert seal.Ciphertext in kinds
    if backend == "seal":
        assert (seal.RelinKeys in kinds) == (release == "class_sums")
        assert (seal.GaloisKeys in kinds) == (features == 60)
    params = student.plan.params
    largest = 8 * params.ring_degree * len((*params.primes, params.special_prime))
    for context, target, written in loaded:
        assert type(written) is Written
        residues, primes, again = residues_in(target, written, context)
        assert (residues < np.array(primes, dtype=np.uint64)[:, None]).all()
        assert written == again
        assert residues.shape[-1] == params.ring_degree
        polys = params.limbs if isinstance(target, SWITCHING) else 3
        places = 8 * params.ring_degree  # of keys that are not in the list
        assert len(written) <= polys * (largest + 1024) + places


def hostile_keys():
    """Relinearisation keys in SEAL's own form: a peer could send each of them to its parser."""
    seeds = np.zeros((PARAMS.limbs, 64), dtype=np.uint8)
    first = np.zeros((PARAMS.limbs, PARAMS.limbs + 1, PARAMS.ring_degree), dtype=np.uint64)
    honest = unwrap(
        seal_bytes.write_seeded_key(first, seeds, CONTEXT.key_level, CONTEXT.key_primes)
    )
    level, n = CONTEXT.key_level, PARAMS.ring_degree
    chosen = np.zeros((2, PARAMS.limbs + 1, n), dtype=np.uint64)
    chosen[0] = 1
    digit = seal_bytes.write_ciphertext(chosen, level, CONTEXT.key_primes)
    body = level + struct.pack("<QQ", 1, PARAMS.limbs) + PARAMS.limbs * digit
    packed = zstandard.ZstdCompressor().compress(body)
    header = struct.pack("<HBBBBHQ", 0xA15E, 16, 4, 3, 2, 0, 16 + len(packed))
    huge = bytearray(honest)
    huge[40:48] = (1 << 40).to_bytes(8, "little")  # so many digits
    return {
        "as SEAL writes it": wrap(honest),
        "masks of its choice": header + packed,
        "a count that allocates": wrap(bytes(huge)),
        "cut off": wrap(honest[:-1]),
    }


@pytest.mark.parametrize("backend", ["seal", "rns"])
@pytest.mark.parametrize(
    "name", ["as SEAL writes it", "masks of its choice", "a count that allocates", "cut off"]
)
def test_keys_in_seals_own_form_never_reach_seal(backend, name, loaded):
    _, public = seal_keys.generate(CONTEXT)
    loaded.clear()
    hostile = PublicKeys(public.encryption, hostile_keys()[name])
    with pytest.raises(EncryptionError):
        get_backend(backend).evaluator(PARAMS, hostile)
    assert loaded == []


def test_a_peers_bytes_are_never_decompressed(monkeypatch, student_of):
    """SEAL's objects are inflated where SEAL made them; what travels is packed, not compressed."""
    inflated = []
    inflate = seal_bytes._inflated

    def record(body):
        inflated.append(bytes(body))
        return inflate(body)

    monkeypatch.setattr(seal_bytes, "_inflated", record)
    student, teacher, samples, predictions = student_of("class_sums", "rns", 3)
    request = student.request(samples, predictions=predictions)
    answer = teacher.answer(request)
    student.open(answer)
    assert inflated
    assert not any(body in request or body in answer for body in inflated)


def test_the_former_step_handed_them_to_seal():
    """A copy of it: length and seeds were checked, and then SEAL parsed the peer's own bytes."""

    def former(data):
        key = seal.RelinKeys()
        with own_pipe().offered(Written(data)) as path:
            key.load(CONTEXT.seal, path)
        return key

    keys = hostile_keys()
    assert own_pipe().body(former(keys["masks of its choice"]))  # it believed them
    with pytest.raises((RuntimeError, ValueError, IndexError, MemoryError)):
        former(keys["a count that allocates"])  # SEAL's own parser had to notice


def test_hostile_residues_of_every_upload_are_refused_before_seal(loaded):
    _, public = seal_keys.generate(CONTEXT)
    tampered = bytearray(public.encryption)
    tampered[:4] = b"\xff\xff\xff\xff"
    for backend in ("seal", "rns"):
        with pytest.raises(EncryptionError, match="not below its prime"):
            get_backend(backend).evaluator(PARAMS, PublicKeys(bytes(tampered), b""))
    assert loaded == []
