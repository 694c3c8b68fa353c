"""Answers are as exact by the kernels of devices, also where nothing else could be compiled."""

import math

import numpy as np
import pytest
import torch

from securefair.circuit.planner import plan_exchange
from securefair.ckks.backends import device_products as products
from securefair.ckks.backends import kernel_choice, kernels, residues_device
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from support.parties import head_of, predictions_of, run, samples_of, spec_of
from unit.exchange.elsewhere import CARD, pretend

IN_MONOMIALS = pytest.param("logits", 4, {}, id="monomials")
# So many samples that no student tests what it opened, which takes it a second.
IN_SLOTS = pytest.param("logits", 2, {"samples": 2100}, id="slots")
SLOWLY_IN_SLOTS = pytest.param("logits", 2, {"samples": 1500}, id="slots", marks=pytest.mark.slow)
IN_PAIRS = pytest.param("logits", 3, {"features": 33, "samples": 2100}, id="pairs")
BESIDE = pytest.param("logits", 1, {"features": 49}, id="beside")
SLOWLY_BESIDE = pytest.param(*BESIDE.values, id="beside", marks=pytest.mark.slow)
LOGITS = (IN_MONOMIALS, IN_SLOTS, IN_PAIRS, BESIDE)
SUMS = ("class_sums", 1, {"features": 1})  # in a ring of 16384
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


# What is in slots or beside each other is below, on a card and without native kernels.
@pytest.mark.parametrize(("release", "hidden", "changes"), [IN_MONOMIALS, IN_PAIRS, *OTHERS])
def test_answers_do_not_depend_on_where_residues_are(release, hidden, changes):
    done = run(spec_of(release, hidden, **changes), "rns")
    teacher = Teacher(head_of(done.plan.spec), device="cpu-kernels", max_numbers=math.inf)
    opened = done.student.open(teacher.answer(done.request), request=done.request)
    assert np.abs(opened.released - done.exact).max() <= done.plan.error_bound


@pytest.mark.parametrize(
    ("release", "hidden", "changes"),
    [IN_MONOMIALS, SLOWLY_IN_SLOTS, IN_PAIRS, SLOWLY_BESIDE, *OTHERS[2:]],
)
def test_nothing_needs_what_was_compiled(release, hidden, changes, monkeypatch):
    """Student and teacher without native kernels, and answers that either of them gave."""
    done = run(spec_of(release, hidden, **changes), "rns")
    monkeypatch.setattr(kernel_choice, "_native", None)
    assert kernels.describe().instruction_set == "device"
    opened = done.student.open(done.answer, request=done.request)
    assert np.array_equal(opened.released, done.opened.released)
    spec = done.plan.spec
    student, teacher = Student(spec), Teacher(head_of(spec), max_numbers=math.inf)
    asked = predictions_of(spec) if spec.sends_predictions else None
    answer = teacher.answer(student.request(samples_of(spec), predictions=asked))
    assert np.abs(student.open(answer).released - done.exact).max() <= done.plan.error_bound


@pytest.mark.parametrize(("release", "hidden", "changes"), [*LOGITS, *OTHERS, SUMS])
def test_nothing_on_a_card_meets_what_stayed_behind(release, hidden, changes, monkeypatch):
    """Nine kinds of exchange, on a card that is pretended: mixing would raise."""
    done = run(spec_of(release, hidden, **changes), "rns")
    with pretend(monkeypatch) as card:
        teacher = Teacher(head_of(done.plan.spec), device="cuda:7", max_numbers=math.inf)
        answer = teacher.answer(done.request)
    assert card.moved
    opened = done.student.open(answer, request=done.request)
    assert np.abs(opened.released - done.exact).max() <= done.plan.error_bound


def test_a_pretended_card_refuses_what_is_not_on_it(monkeypatch):
    with pretend(monkeypatch):
        here = torch.ones(3, dtype=torch.int32)
        there = here.to(CARD)
        assert (there.device, here.device) == (CARD, torch.device("cpu"))
        for mixed in (lambda: there + here, lambda: there[(here.long(),)], there.numpy):
            with pytest.raises(RuntimeError, match=r"devices|array"):
                mixed()
        with pytest.raises(AssertionError, match="not on its device"):
            residues_device.launch(products.add_to_first, (1, 3), here, here[None], here, on=CARD)
        assert (there + there).cpu().numpy().tolist() == [2, 2, 2]
