"""Answers are as exact on tensors, as on a GPU, and where no native kernels could be compiled."""

import math

import numpy as np
import pytest

from securefair.ckks.backends import kernel_choice, kernels
from securefair.ckks.backends.rns import RnsBackend
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from support.parties import head_of, predictions_of, run, samples_of, spec_of

CASES = [("logits", 4), ("public", 4), ("public", 0), ("student", 0), ("loss", 0)]


@pytest.mark.parametrize(("release", "hidden"), CASES)
def test_answers_do_not_depend_on_where_residues_are(release, hidden):
    done = run(spec_of(release, hidden), "rns")
    teacher = Teacher(head_of(done.plan.spec), max_numbers=math.inf)
    teacher._backend = RnsBackend("cpu")
    opened = done.student.open(teacher.answer(done.request))
    assert np.abs(opened.released - done.exact).max() <= done.plan.error_bound


@pytest.mark.parametrize(("release", "hidden"), [("logits", 4), ("student", 0), ("loss", 0)])
def test_nothing_needs_what_was_compiled(release, hidden, monkeypatch):
    """Student and teacher without native kernels, and answers that either of them gave."""
    done = run(spec_of(release, hidden), "rns")
    monkeypatch.setattr(kernel_choice, "_native", None)
    assert kernels.describe().instruction_set == "torch"
    opened = done.student.open(done.answer)
    assert np.array_equal(opened.released, done.opened.released)
    spec = done.plan.spec
    student, teacher = Student(spec), Teacher(head_of(spec), max_numbers=math.inf)
    asked = predictions_of(spec) if spec.sends_predictions else None
    answer = teacher.answer(student.request(samples_of(spec), predictions=asked))
    assert np.abs(student.open(answer).released - done.exact).max() <= done.plan.error_bound
