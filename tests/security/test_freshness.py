"""Nothing random is used twice, and nothing that leaves a student holds its secrets.

Adversaries: a curious student that asks twice, a curious teacher, and whoever reads the wire.
Protected: the masks of answers and uploads, by fresh randomness each time; the student's secret
key and samples, by never being part of what is sent. Still disclosed: sizes and timing, and that
two answers answer the same question.
"""

import math
import pickle
import struct
from itertools import combinations

import msgspec
import numpy as np
import pytest

from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import wire
from securefair.ckks.backends.seal_bytes import own_pipe, read_plaintext, unwrap
from securefair.ckks.backends.seal_context import seal_context
from securefair.data.dataset import Samples
from securefair.errors import StorageError
from securefair.exchange.binding import BOUND_BYTES
from securefair.exchange.request import Request
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head

SAMPLES, FEATURES = 60, 4
BACKENDS = ("rns", "seal")
every_backend = pytest.mark.parametrize("backend", BACKENDS)


def spec_of(**changes):
    return ExchangeSpec(
        **{"features": FEATURES, "classes": 2, "samples": SAMPLES, "hidden": 0, "q": 8, **changes}
    )


def samples_of(spec, seed=0):
    features = np.random.default_rng(seed).uniform(-1, 1, (spec.samples, spec.features))
    return Samples(features, np.arange(spec.samples) % 2, 2)


def model_of(spec):
    kind = "quadratic" if spec.hidden else "linear"
    return build_head(kind, spec.features, spec.hidden, spec.classes, 1)


# -- answers -------------------------------------------------------------------------------------


@every_backend
@pytest.mark.parametrize("hidden", [0, 3])
def test_two_answers_to_one_question_share_neither_masks_nor_noise(backend, hidden, uniform):
    spec = spec_of(hidden=hidden)
    student = Student(spec, backend=backend)
    teacher = Teacher(model_of(spec), spec, backend=backend, max_numbers=math.inf)
    request = student.request(samples_of(spec))
    plan, (meta,) = student.plan, student.plan.released
    answers = [teacher.answer(request) for _ in range(3)]
    parsed = [wire.read_answer(answer[BOUND_BYTES:], meta, spec.q) for answer in answers]
    for (masks, values), (other_masks, other_values) in combinations(parsed, 2):
        assert (masks == other_masks).mean() < 0.01
        assert (values != other_values).all()
        for limb, prime in enumerate(plan.params.primes[: meta.limbs]):
            difference = masks[:, :, limb].astype(np.int64) - other_masks[:, :, limb]
            assert uniform(difference % prime, prime)
    # And yet they say the same.
    opened = [student.open(answer).released for answer in answers]
    assert np.abs(opened[0] - opened[1]).max() <= 2 * plan.error_bound
    assert np.abs(opened[0] - opened[2]).max() <= 2 * plan.error_bound


def test_classes_of_one_answer_are_masked_apart():
    spec = spec_of()
    student = Student(spec, backend="rns")
    answer = Teacher(model_of(spec), spec).answer(student.request(samples_of(spec)))
    masks, _ = wire.read_answer(answer[BOUND_BYTES:], student.plan.released[0], spec.q)
    assert (masks[0] == masks[1]).mean() < 0.01


# -- keys and uploads ----------------------------------------------------------------------------


@every_backend
def test_no_seed_is_ever_used_twice(backend, samples_in_slots):
    """Of keys, of every ciphertext of an upload, and of uploads of the same samples."""
    spec = spec_of(features=70)  # enough for a backend to share the work among processes
    samples = samples_of(spec)
    seeds = []
    for _ in range(2):
        student = Student(spec, backend=backend)
        seeds.append(wire.read_public_key(student.public_keys.encryption, student.plan.params)[1])
        for _ in range(2):
            upload, _ = student.encrypt_features(samples)
            seeds += wire.read_upload(upload, student.plan.features)[1]
    assert len(seeds) == 2 * (1 + 2 * 70)
    assert len(set(seeds)) == len(seeds)
    assert all(any(seed) for seed in seeds)


@every_backend
def test_equal_samples_give_unrelated_uploads(backend, uniform):
    spec = spec_of()
    student = Student(spec, backend=backend)
    meta, params = student.plan.features, student.plan.params
    zeros = Samples(np.zeros((SAMPLES, FEATURES)), np.arange(SAMPLES) % 2, 2)
    first, again, empty = (
        wire.read_upload(student.encrypt_features(samples)[0], meta)[0]
        for samples in (samples_of(spec), samples_of(spec), zeros)
    )
    assert (first == again).mean() < 0.01
    for limb, prime in enumerate(params.primes):
        for upload in (first, empty):  # what is encrypted does not show
            assert uniform(upload[:, limb], prime)
        assert uniform((first[:, limb].astype(np.int64) - again[:, limb]) % prime, prime)


@every_backend
def test_every_student_has_a_secret_key_of_its_own(backend):
    students = [Student(spec_of(), backend=backend) for _ in range(3)]
    keys = [secret_residues(student) for student in students]
    for one, other in combinations(keys, 2):
        assert (one != other).mean() > 0.5
    assert len({student.public_keys.encryption for student in students}) == 3


# -- what is sent --------------------------------------------------------------------------------


def secret_residues(student):
    """The secret key as ternary coefficients; only a test that stands at home may do this."""
    context = seal_context(student.plan.params)
    secret = student._keys.decryptor._secret
    body = unwrap(own_pipe().serialized(secret))
    ntt = read_plaintext(body, student.plan.params.ring_degree)
    return context.from_ntt(ntt[None, : student.plan.params.limbs])[0]


def test_the_secret_key_is_where_the_next_test_looks_for_it():
    student = Student(spec_of(), backend="rns")
    residues = secret_residues(student)
    primes = np.array(student.plan.params.primes)[:, None]
    signed = np.where(residues > primes // 2, residues.astype(np.int64) - primes, residues)
    assert set(np.unique(signed)) == {-1, 0, 1}
    assert (signed == signed[0]).all()


@every_backend
@pytest.mark.parametrize("release", ["projection", "loss"])
def test_a_request_holds_neither_the_secret_key_nor_the_samples(backend, release):
    spec = spec_of(release=release)
    student, samples = Student(spec, backend=backend), samples_of(spec)
    predictions = np.random.default_rng(1).dirichlet(np.ones(2), SAMPLES)
    given = {"predictions": predictions} if release == "loss" else {}
    request = student.request(samples, **given)

    residues = secret_residues(student)
    context = seal_context(student.plan.params)
    ntt = context.to_ntt(residues[None])[0]
    signs = np.where(residues[0] > 1, -1, residues[0].astype(np.int64))
    for form in (residues, ntt):
        for width in ("<u4", "<u8"):
            for row in form:
                data = row.astype(width).tobytes()
                for start in (0, len(data) // 2):
                    assert data[start : start + 64] not in request
    assert np.packbits(signs > 0)[:32].tobytes() not in request
    assert signs.astype(np.int8)[:32].tobytes() not in request
    for row in (*samples.features[:5], *predictions[:5]):
        for number in row.tolist():
            assert struct.pack("<d", number) not in request
            assert struct.pack(">d", number) not in request


@every_backend
@pytest.mark.parametrize("release", ["projection", "loss"])
def test_a_request_is_as_long_as_the_plan_says_whatever_the_samples_are(backend, release):
    """Compression would tell something of what is inside."""
    spec = spec_of(release=release)
    student = Student(spec, backend=backend)
    predictions = np.full((SAMPLES, 2), 0.5)
    given = {"predictions": predictions} if release == "loss" else {}
    lengths = set()
    for features in (np.zeros((SAMPLES, FEATURES)), samples_of(spec).features):
        request = student.request(Samples(features, np.arange(SAMPLES) % 2, 2), **given)
        lengths.add(len(request))
        asked = msgspec.msgpack.decode(request, type=Request)
        assert len(asked.features) == student.plan.feature_bytes
        assert len(asked.predictions) == student.plan.query_bytes
    assert len(lengths) == 1


@every_backend
def test_key_rings_cannot_be_pickled_by_accident(backend):
    student = Student(spec_of(), backend=backend)
    for thing in (student, student._keys, student._keys.decryptor, student._keys.encryptor):
        with pytest.raises((TypeError, AttributeError, RuntimeError, StorageError)):
            pickle.dumps(thing)


def test_a_teacher_holds_nothing_of_a_student_but_what_was_sent():
    spec = spec_of()
    student = Student(spec, backend="rns")
    public = student.public_keys
    assert set(vars(public)) == {"encryption", "relinearization", "galois"}
    features, _ = student.encrypt_features(samples_of(spec))
    upload = Teacher(model_of(spec), spec).receive(spec, b"", public, features, b"")
    for holder in (upload, upload.evaluator):
        for name, value in vars(holder).items():
            assert "Secret" not in type(value).__name__, name
            assert "Decryptor" not in type(value).__name__, name
