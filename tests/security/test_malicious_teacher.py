"""What is NOT protected: a teacher that deviates chooses the masks of its answer.

Adversary: a malicious teacher. Nothing proves that an answer is one, so its decryption can be made
to hold the student's secret key. The student's later behaviour may tell what it held. These tests
pin down the weakness that docs/threat-model.md states, and what limits it: values that no honest
model has are refused, and the rest is rounded to the planned precision.
"""

import numpy as np
import pytest

from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import wire
from securefair.data.dataset import Samples
from securefair.errors import EncryptionError
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.model.plausibility import IMPLAUSIBLE

SAMPLES, Q = 128, 64


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return Samples(rng.uniform(-1, 1, (SAMPLES, 4)), rng.integers(0, 2, SAMPLES), 2)


@pytest.fixture(scope="module")
def student(samples):
    student = Student(ExchangeSpec(features=4, classes=2, samples=SAMPLES, hidden=0, q=Q))
    student.encrypt_features(samples)
    return student


def crafted(student, constant):
    """An answer (0, constant): its message is constant * s, coefficient by coefficient."""
    (meta,) = student.plan.released
    masks = np.full(
        (meta.count, meta.polys - 1, meta.limbs, meta.params.ring_degree), constant, np.uint32
    )
    return wire.write_answer(masks, np.zeros((meta.count, Q, meta.limbs), np.uint32))


def test_a_crafted_answer_opens_to_the_secret_key(student):
    (meta,) = student.plan.released
    opened = student.open_evaluated(crafted(student, round(2.0**meta.log2_scale))).released
    assert set(np.rint(opened).ravel().tolist()) <= {-1.0, 0.0, 1.0}
    assert len(np.unique(np.rint(opened))) == 3


def test_values_that_no_honest_model_has_are_refused(student):
    (meta,) = student.plan.released
    with pytest.raises(EncryptionError, match="out of range"):
        student.open_evaluated(crafted(student, round(2.0**meta.log2_scale * (meta.bound + 1))))


def test_what_is_opened_is_rounded_to_the_planned_precision(student, samples):
    request = student.request(samples)
    answer = Teacher(build_head("linear", 4, 0, 2, seed=0), student.plan.spec).answer(request)
    steps = student.open(answer).released / student.plan.grid
    assert np.abs(steps - np.rint(steps)).max() < 1e-6
    assert student.plan.grid < student.plan.error_bound


def test_key_coefficients_are_no_function_of_the_features_and_honest_answers_are(student, samples):
    (meta,) = student.plan.released
    request = student.request(samples)
    answer = Teacher(build_head("linear", 4, 0, 2, seed=0), student.plan.spec).answer(request)
    assert student.open(answer).plausibility > 0
    assert (
        student.open_evaluated(crafted(student, round(2.0**meta.log2_scale))).plausibility
        < IMPLAUSIBLE
    )
    # Nor where they are as small as an honest answer's numbers.
    assert (
        student.open_evaluated(crafted(student, round(2.0**meta.log2_scale / 50))).plausibility
        < IMPLAUSIBLE
    )
