"""Encryptions of zero that are made ahead hide one answer each.

Adversary: a curious student that asks twice. Two answers under the same encryption of zero would
tell it the difference of the unsanitised ones, masks and all. Protected: the teacher's weights.
"""

import copy
import multiprocessing
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend, kernels
from securefair.ckks.backends.public_zeros import MOST_BYTES, PublicZeros
from securefair.ckks.keys import PublicKeys
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.data.dataset import Samples
from securefair.errors import EncryptionError
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30), special_bits=31))
LIMBS = 2


@pytest.fixture(scope="module")
def public():
    return get_backend("rns").generate_keys(PARAMS).public.encryption


@pytest.fixture
def zeros(public):
    return PublicZeros(PARAMS, public)


def digests(words):
    return {row.tobytes() for row in words}


def test_every_encryption_is_handed_out_once(zeros):
    assert zeros.prepare(LIMBS, 5) == 5
    assert zeros.prepare(LIMBS, 5) == 0
    first = zeros.take(LIMBS, 3)
    assert zeros.ready(LIMBS) == 2
    second = zeros.take(LIMBS, 4)  # two that are ready, two that are not
    assert zeros.ready(LIMBS) == 0
    seen = digests(first) | digests(second)
    assert len(seen) == 7
    assert first.shape == (3, 2, LIMBS, PARAMS.ring_degree)
    assert len(digests(zeros.take(LIMBS, 2)) | seen) == 9


def test_threads_share_without_meeting(zeros):
    zeros.prepare(LIMBS, 12)
    taken = []
    threads = [
        threading.Thread(target=lambda: taken.append(zeros.take(LIMBS, 2))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(digests(np.concatenate(taken))) == 16


def test_there_are_never_more_than_the_bound(zeros, monkeypatch):
    each = 2 * LIMBS * PARAMS.ring_degree * 4
    monkeypatch.setattr("securefair.ckks.backends.public_zeros.MOST_BYTES", 3 * each + 1)
    assert zeros.prepare(LIMBS, 100) == 3
    assert zeros.prepare(LIMBS - 1, 100) == 0
    assert MOST_BYTES < 1 << 27


def test_some_can_be_made_at_a_time(zeros):
    assert [zeros.prepare(LIMBS, 3, most=2) for _ in range(3)] == [2, 1, 0]


def test_a_fork_leaves_them_to_its_parent(zeros):
    zeros.prepare(LIMBS, 2)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send_bytes(zeros.take(LIMBS, 1)[0].tobytes()))
    child.start()
    theirs = receiver.recv_bytes()
    child.join()
    assert zeros.ready(LIMBS) == 2
    assert theirs not in digests(zeros.take(LIMBS, 2))


def test_they_cannot_be_copied(zeros):
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="must not be copied"):
            attempt(zeros)


def test_what_a_thread_makes_meanwhile_is_handed_out_once(zeros):
    with zeros.meanwhile(LIMBS, 6):
        taken = [zeros.take(LIMBS, 2) for _ in range(3)]
    assert len(digests(np.concatenate(taken))) == 6
    assert zeros.ready(LIMBS) == 0
    with zeros.meanwhile(LIMBS, 2):
        pass
    seen = digests(np.concatenate(taken))
    assert zeros.ready(LIMBS) <= 2  # those that it had time for
    assert not digests(zeros.take(LIMBS, 3)) & seen


def test_two_answers_at_a_time_share_no_encryption(zeros):
    def answer():
        with zeros.meanwhile(LIMBS, 4):
            return np.concatenate([zeros.take(LIMBS, 1) for _ in range(4)])

    with ThreadPoolExecutor(3) as pool:
        taken = [made.result() for made in [pool.submit(answer) for _ in range(3)]]
    assert len(digests(np.concatenate(taken))) == 12


def test_a_bound_ends_the_thread_and_not_the_answer(zeros, monkeypatch):
    each = 2 * LIMBS * PARAMS.ring_degree * 4
    monkeypatch.setattr("securefair.ckks.backends.public_zeros.MOST_BYTES", 2 * each)
    with zeros.meanwhile(LIMBS, 9):
        assert len(digests(zeros.take(LIMBS, 9))) == 9
    assert zeros.ready(LIMBS) <= 2


def test_an_answer_that_fails_ends_the_thread(zeros):
    before = threading.active_count()
    with pytest.raises(EncryptionError, match="the answer"), zeros.meanwhile(LIMBS, 500):
        raise EncryptionError("the answer")
    assert threading.active_count() == before
    assert zeros.ready(LIMBS) < 50


def test_a_thread_that_fails_ends_the_answer_with_its_reason(zeros, monkeypatch):
    def refused(*_):
        raise EncryptionError("no key")

    monkeypatch.setattr(zeros, "_make", refused)
    before = threading.active_count()
    with pytest.raises(EncryptionError, match="no key"), zeros.meanwhile(LIMBS, 2):
        pass
    with pytest.raises(EncryptionError, match="no key"), zeros.meanwhile(LIMBS, 2):
        zeros.take(LIMBS, 2)
    assert threading.active_count() == before


def test_kernels_on_one_thread_start_no_other(public):
    keys = PublicKeys(encryption=public, relinearization=b"")
    for threads, started in ((1, 0), (2, 1)):
        evaluator = get_backend("rns").evaluator(PARAMS, keys)
        allowed, before = kernels.describe().threads, threading.active_count()
        kernels.set_threads(threads)
        try:
            with evaluator.meanwhile(LIMBS, 3):
                assert threading.active_count() == before + started
        finally:
            kernels.set_threads(allowed)


@pytest.mark.parametrize("backend", ["rns", "seal"])
@pytest.mark.parametrize("release", ["logits", "projection"])
def test_answers_that_were_prepared_are_right_and_hide_alike(backend, release):
    spec = ExchangeSpec(features=4, hidden=2, classes=2, samples=40, release=release, q=4)
    plan = plan_exchange(spec)
    rng = np.random.default_rng(1)
    samples = Samples(rng.uniform(-1, 1, (40, 4)), np.arange(40) % 2, 2)
    student = Student(spec, backend=backend)
    features, basis = student.encrypt_features(samples)
    model = build_head("quadratic", 4, 2, 2, seed=1)
    teacher = Teacher(model, backend=backend, max_numbers=np.inf, total_numbers=np.inf)
    upload = teacher.receive(spec, b"", student.public_keys, features, basis)
    assert teacher.prepare(upload, most=1) == 1
    assert teacher.prepare(upload) == plan.zeros - 1
    assert teacher.prepare(upload) == 0
    answers = [teacher.evaluate(upload) for _ in range(2)]  # prepared, and not
    opened = [student.open_evaluated(answer).released for answer in answers]
    assert np.abs(opened[0] - opened[1]).max() <= 2 * plan.error_bound
    if release == "logits":
        assert np.abs(opened[0] - model.logits(samples.features)).max() < 0.5
    words = [np.frombuffer(answer, "<u4") for answer in answers]
    masks = slice(0, None) if release == "logits" else slice(0, -4 * 2 * 4)
    assert np.mean(words[0][masks] == words[1][masks]) < 1e-3
