"""What a student refuses: samples, predictions and answers that are not what was planned."""

import contextlib
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.circuit.spec import HeadBounds
from securefair.data.dataset import Samples
from securefair.errors import (
    DataError,
    EncryptionError,
    LedgerError,
    PlanError,
    StorageError,
)
from securefair.exchange import steps
from securefair.exchange.binding import BOUND_BYTES, bind
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from support.examples import examples
from support.parties import (
    CLASSES,
    FEATURES,
    SAMPLES,
    SEED,
    head_of,
    predictions_of,
    run,
    samples_of,
    spec_of,
)


def with_features(samples, features):
    return Samples(features, samples.labels, samples.classes)


def test_samples_that_do_not_fit_are_refused_before_anything_is_encrypted(linear):
    student, samples = linear.student, linear.samples
    features = samples.features
    for wrong in (features[:-1], features[:, :-1], np.hstack([features, features])):
        labels = samples.labels[: len(wrong)]
        with pytest.raises(DataError, match="do not fit the plan"):
            student.request(Samples(wrong, labels, CLASSES))
    with pytest.raises(DataError, match="NaN or infinite"):
        with_features(samples, np.full_like(features, np.nan))
    with pytest.raises(DataError, match="NaN or infinite"):
        steps.pack(linear.plan, np.full_like(features, np.inf))


@pytest.mark.parametrize("row", [0, SAMPLES - 1])
@pytest.mark.parametrize("value", [1.001, -1.001, 1e9])
def test_features_beyond_the_bounds_are_refused_by_name(linear, row, value):
    features = linear.samples.features.copy()
    features[row, 1] = value
    with pytest.raises(DataError) as error:
        linear.student.request(with_features(linear.samples, features))
    assert error.value.where == "feature"
    assert error.value.hint


def test_samples_longer_than_the_bounds_are_refused():
    spec = spec_of("public", bounds=HeadBounds(feature=1.0, feature_norm=1.2))
    student = Student(spec, backend="clear")
    features = np.full((SAMPLES, FEATURES), 0.7)
    with pytest.raises(DataError) as error:
        student.request(Samples(features, np.arange(SAMPLES) % CLASSES, CLASSES))
    assert error.value.where == "feature_norm"


@pytest.mark.parametrize(
    "predictions",
    [
        np.full((SAMPLES, CLASSES), 0.6),
        np.full((SAMPLES - 1, CLASSES), 0.5),
        np.full((SAMPLES, CLASSES + 1), 1 / 3),
        np.full((SAMPLES, CLASSES), np.nan),
        np.tile([1.5, -0.5], (SAMPLES, 1)),
        np.tile([np.inf, -np.inf], (SAMPLES, 1)),
        np.full((SAMPLES, CLASSES), "0.5"),
        [[0.5] * CLASSES] * (SAMPLES - 1),
        None,
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_predictions_that_are_no_probabilities_are_refused(predictions):
    student = run(spec_of("loss"), "clear").student
    with pytest.raises(DataError, match="probabilities"):
        student.encrypt_predictions(predictions)


def test_predictions_may_be_lists_or_tensors():
    student = run(spec_of("loss"), "clear").student
    array = np.full((SAMPLES, CLASSES), 1 / CLASSES)
    for same in (array.tolist(), torch.tensor(array, requires_grad=True)):
        assert student.encrypt_predictions(same) == student.encrypt_predictions(array)


def test_predictions_are_sent_where_they_are_needed_and_nowhere_else(linear):
    with pytest.raises(DataError, match="sends no predictions"):
        linear.student.encrypt_predictions(predictions_of(linear.plan.spec))
    loss = run(spec_of("loss"), "clear")
    with pytest.raises(DataError, match="needs the student's predictions"):
        loss.student.request(loss.samples)


def test_an_answer_cannot_be_opened_before_the_features_exist():
    done = run(spec_of("public"), "clear")
    with pytest.raises(EncryptionError, match="before the features"):
        Student(done.plan.spec, backend="clear", seed=SEED).open_evaluated(b"")
    with pytest.raises(EncryptionError, match="before a request"):
        Student(done.plan.spec, backend="clear", seed=SEED).open(done.answer)


def test_values_that_no_honest_model_has_are_refused():
    done = run(spec_of("public"), "clear")
    values = np.frombuffer(done.answer[BOUND_BYTES:]).copy()
    values[3] = done.plan.spec.bounds.logit * 1.1
    with pytest.raises(EncryptionError, match="out of range"):
        done.student.open(bind(done.asked.check, values.tobytes()), request=done.request)


@given(cut=st.integers(1, 10**6), grow=st.booleans())
@settings(max_examples=examples(25))
def test_answers_of_another_length_are_encryption_errors(linear, cut, grow):
    answer = linear.answer
    other = answer + bytes(cut) if grow else answer[: max(0, len(answer) - cut)]
    with pytest.raises(EncryptionError, match="wrong length"):
        linear.student.open(other, request=linear.request)


@pytest.mark.parametrize("release", ["public", "logits", "loss", "student"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(10))
def test_damaged_answers_are_refused_before_they_are_opened(release, seed):
    """Without the check most flips opened, as other logits that looked plausible."""
    done = run(spec_of(release))
    rng = np.random.default_rng(seed)
    answer = bytearray(done.answer)
    for place in rng.choice(len(answer), 3, replace=False):
        answer[place] ^= int(rng.integers(1, 256))
    opened = done.student._openings._opened
    with pytest.raises(EncryptionError, match="changed on its way"):
        done.student.open(bytes(answer), request=done.request)
    assert done.student._openings._opened == opened
    with contextlib.suppress(EncryptionError):  # a host that checks bytes itself
        found = done.student.open_evaluated(bytes(answer[BOUND_BYTES:]))
        assert found.released.shape == done.opened.released.shape


@pytest.mark.parametrize("release", ["public", "logits"])
def test_an_answer_of_zeros_is_no_answer(release):
    done = run(spec_of(release))
    with pytest.raises(EncryptionError, match="changed on its way"):
        done.student.open(bytes(len(done.answer)), request=done.request)


def test_an_answer_to_an_earlier_request_is_refused():
    """It opened as logits of the later samples, mostly with a plausible score."""
    spec = spec_of("public")
    student = Student(spec, backend="clear")
    teacher = Teacher(head_of(spec), backend="clear", max_numbers=math.inf)
    late = teacher.answer(student.request(samples_of(spec)))
    asked = student.request(samples_of(spec, seed=1))
    with pytest.raises(EncryptionError, match="answers another request"):
        student.open(late)
    again = teacher.answer(asked)
    assert student.open(again).logits is not None
    student.encrypt_features(samples_of(spec))
    with pytest.raises(EncryptionError, match="before a request"):
        student.open(again)


def test_several_answers_in_a_row_are_told_apart_by_their_length():
    done = run(spec_of("logits", samples=4796, features=2))
    for size in (0, 1, len(done.answer) // 2, len(done.answer) - 4, len(done.answer) + 4):
        with pytest.raises(EncryptionError, match="wrong length"):
            done.student.open((done.answer + bytes(8))[:size], request=done.request)


@pytest.mark.parametrize("hidden", [0, 3])
@pytest.mark.parametrize("samples", [1, 5])
def test_one_sample_and_samples_without_labels_are_legal(samples, hidden):
    spec = spec_of("logits", hidden, samples=samples)
    student, head = Student(spec, backend="clear"), head_of(spec)
    features = np.random.default_rng(2).uniform(-1, 1, (samples, FEATURES))
    opened = student.open(Teacher(head, spec, backend="clear").answer(student.request(features)))
    expected = steps.compile_model(student.plan, head).logits(features)
    assert np.abs(opened.logits - expected).max() <= student.plan.error_bound
    assert opened.plausibility is None


def test_a_projection_without_labels_is_refused_by_name(linear):
    with pytest.raises(DataError, match="with the labels of its samples"):
        linear.student.request(linear.samples.features)


def test_a_pair_of_features_and_labels_is_told_what_makes_samples(linear):
    samples = linear.samples
    with pytest.raises(DataError, match=r"a tuple of 2.*make_samples\(\(features, labels\)\)"):
        linear.student.request((samples.features, samples.labels))
    with pytest.raises(DataError, match=r"an array of floats \(found 'NoneType'\)"):
        linear.student.request(None)


def test_masked_features_are_refused():
    student = Student(spec_of("logits", samples=1), backend="clear")
    with pytest.raises(DataError, match="samples: a value is masked"):
        student.request(np.ma.masked_equal(np.zeros((1, FEATURES)), 0))


def test_an_answer_is_bytes(linear):
    left = linear.student._openings.left
    for wrong in (None, "answer", [1]):
        with pytest.raises(DataError, match="an answer comes as bytes"):
            linear.student.open(wrong)
    assert linear.student._openings.left == left


@pytest.mark.parametrize("wrong", [[[0.0] * FEATURES], np.zeros((1, FEATURES), int), "features"])
def test_features_that_are_no_array_of_floats_are_refused(wrong):
    student = Student(spec_of("logits", samples=1), backend="clear")
    with pytest.raises(DataError, match="an array of floats"):
        student.request(wrong)


@pytest.mark.parametrize("seed", ["2026", 7])
def test_a_public_seed_is_bytes(seed):
    with pytest.raises(DataError, match="seed: a public seed is bytes"):
        Student(spec_of("public"), seed=seed)


@pytest.mark.parametrize("most", ["3", 1.5, True, 0, -1])
def test_openings_are_counted_by_whole_numbers(most):
    with pytest.raises(LedgerError, match="max_openings: not a limit"):
        Student(spec_of("logits"), backend="clear", max_openings=most)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"precision": "x"}, "precision"),
        ({"weight_bits": "12"}, "weight_bits"),
        ({"flooding_bits": 3.5}, "flooding_bits"),
        ({"bounds": {"logit": 3}}, "bounds"),
        ({"bounds": HeadBounds(logit="3")}, "bounds.logit"),
        ({"network": ("conv",)}, "network"),
    ],
)
def test_fields_of_a_spec_of_other_types_are_refused_by_name(changes, where):
    with pytest.raises(PlanError) as refused:
        Student(spec_of("logits", **changes), backend="clear")
    assert refused.value.where == where


def test_a_passphrase_and_a_path_are_text(tmp_path):
    for arguments, where in (((tmp_path / "x", 12345678), "passphrase"), ((3, "x"), "path")):
        with pytest.raises(StorageError) as refused:
            Student.load(*arguments)
        assert refused.value.where == where


@pytest.mark.parametrize("classes", [CLASSES + 1, 9])
def test_samples_of_other_classes_than_were_agreed_are_refused(linear, classes):
    own = linear.samples
    with pytest.raises(DataError, match=r"classes: .*make_samples"):
        linear.student.request(Samples(own.features, own.labels, classes))


def test_whatever_a_channel_hands_over_is_read():
    spec = spec_of("logits")
    student = Student(spec, backend="clear")
    teacher = Teacher(head_of(spec), backend="clear", max_numbers=math.inf)
    request = student.request(samples_of(spec).features.astype(np.float32))
    answer = teacher.answer(bytearray(request))
    for kind in (bytearray, memoryview):
        assert student.open(kind(answer)).logits is not None


def test_whole_numbers_of_numpy_count_and_a_text_is_no_request(linear):
    assert Student(linear.plan.spec, max_openings=np.int64(3)) is not None
    with pytest.raises(DataError, match="comes as bytes"):
        linear.student.open(linear.answer, request="x")
    with pytest.raises(EncryptionError, match="found '0 bytes'"):
        linear.student.open(b"", request=linear.request)


def test_an_answer_to_the_request_before_does_not_open_by_the_samples_of_the_last():
    spec = spec_of("public")
    student = Student(spec, backend="clear")
    teacher = Teacher(head_of(spec), spec, backend="clear")
    first = student.request(samples_of(spec))
    answer = teacher.answer(first)
    student.request(samples_of(spec, seed=1))
    with pytest.raises(EncryptionError, match="other samples since"):
        student.open(answer, request=first)
