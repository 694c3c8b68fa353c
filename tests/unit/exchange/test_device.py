"""Answers are as exact by the kernels of devices, also where nothing else could be compiled."""

import math

import numpy as np
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.ckks.backends import kernel_choice, kernels
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from support.parties import head_of, predictions_of, run, samples_of, spec_of

IN_MONOMIALS = pytest.param("logits", 4, {}, id="monomials")
IN_SLOTS = pytest.param("logits", 4, {"samples": 1500}, id="slots")
SLOWLY_IN_SLOTS = pytest.param(*IN_SLOTS.values, id="slots", marks=pytest.mark.slow)
IN_PAIRS = pytest.param("logits", 3, {"features": 65, "samples": 2100}, id="pairs")
BESIDE = pytest.param("logits", 3, {"features": 65}, id="beside")
LOGITS = (IN_MONOMIALS, IN_SLOTS, IN_PAIRS, BESIDE)
OTHERS = (("public", 4, {}), ("public", 0, {}), ("student", 0, {"q": 3}), ("loss", 0, {}))


def test_logits_travel_in_every_way_and_switch_keys():
    monomials, slots, pairs, beside = (
        plan_exchange(spec_of(release, hidden, **changes))
        for release, hidden, changes in (case.values for case in LOGITS)
    )
    assert monomials.schedule.packing == "monomials"
    assert slots.schedule.packing == "alone"
    assert slots.relinearization_limbs
    assert not slots.galois_limbs
    assert pairs.relinearization_limbs
    assert pairs.galois_limbs
    assert pairs.schedule.packing == "pairs"
    assert beside.schedule.parts > 1


@pytest.mark.parametrize(("release", "hidden", "changes"), [*LOGITS, *OTHERS])
def test_answers_do_not_depend_on_where_residues_are(release, hidden, changes):
    done = run(spec_of(release, hidden, **changes), "rns")
    teacher = Teacher(head_of(done.plan.spec), device="cpu-kernels", max_numbers=math.inf)
    opened = done.student.open(teacher.answer(done.request))
    assert np.abs(opened.released - done.exact).max() <= done.plan.error_bound


@pytest.mark.parametrize(
    ("release", "hidden", "changes"), [IN_MONOMIALS, SLOWLY_IN_SLOTS, IN_PAIRS, BESIDE, *OTHERS[2:]]
)
def test_nothing_needs_what_was_compiled(release, hidden, changes, monkeypatch):
    """Student and teacher without native kernels, and answers that either of them gave."""
    done = run(spec_of(release, hidden, **changes), "rns")
    monkeypatch.setattr(kernel_choice, "_native", None)
    assert kernels.describe().instruction_set == "device"
    opened = done.student.open(done.answer)
    assert np.array_equal(opened.released, done.opened.released)
    spec = done.plan.spec
    student, teacher = Student(spec), Teacher(head_of(spec), max_numbers=math.inf)
    asked = predictions_of(spec) if spec.sends_predictions else None
    answer = teacher.answer(student.request(samples_of(spec), predictions=asked))
    assert np.abs(student.open(answer).released - done.exact).max() <= done.plan.error_bound
