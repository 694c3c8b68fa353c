"""The published vectors, replayed: bit for bit on every backend that works on residues."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from contract import known_answers
from securefair.ckks import rules
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys

FILE = json.loads(
    (Path(__file__).parents[1] / "vectors" / "known_answers.json").read_text(encoding="utf-8")
)
VECTORS = FILE["vectors"]


def replay_of(backend):
    names = ("public_key", "relinearization_key", "conjugation_key")
    keys = PublicKeys(*(base64.b64decode(FILE[name]) for name in names))
    return known_answers.Replay(backend, keys)


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


def test_every_backend_opens_the_published_encoding(backend):
    """All that can be asked of openfhe: it takes and gives values, not residues."""
    params = known_answers.PARAMS
    slots = ((np.arange(params.slots) % 201) - 100) / 100
    meta = rules.fresh(params, count=1, limbs=2, log2_scale=40, bound=1.0)
    keys = backend.generate_keys(params, relinearization=False)
    evaluator = backend.evaluator(params, keys.public)
    tensor = evaluator.load(keys.encryptor.encrypt(slots[None], meta), meta)
    shown = VECTORS["encoding"]["first"]
    which = np.arange(len(shown))
    released = evaluator.extract(tensor, which)
    opened = keys.decryptor.open(Released(released.meta, which, released.data))[0]
    np.testing.assert_allclose(
        opened, np.array(shown) / 2.0**20, atol=rules.coefficient_error(meta) + 2.0**-20
    )
