"""A teacher whose residues are tensors, as on a GPU, answers as exactly as one on arrays."""

import math

import numpy as np
import pytest

from securefair.ckks.backends.rns import RnsBackend
from securefair.exchange.teacher import Teacher
from support.parties import head_of, run, spec_of

CASES = [("logits", 4), ("public", 4), ("public", 0), ("student", 0), ("loss", 0)]


@pytest.mark.parametrize(("release", "hidden"), CASES)
def test_answers_do_not_depend_on_where_residues_are(release, hidden):
    done = run(spec_of(release, hidden), "rns")
    teacher = Teacher(head_of(done.plan.spec), max_numbers=math.inf)
    teacher._backend = RnsBackend("cpu")
    opened = done.student.open(teacher.answer(done.request))
    assert np.abs(opened.released - done.exact).max() <= done.plan.error_bound
