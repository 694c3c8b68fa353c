"""How many weights one released number can tell.

Adversary: a malicious student, who encrypts numbers of its choice instead of patients.
Protected: nothing by the count alone; the bits of a number bound what it tells.
"""

import numpy as np
import pytest

from securefair.circuit.spec import ExchangeSpec
from securefair.data.dataset import Samples
from securefair.exchange import steps
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head

FEATURES, CLASSES, SAMPLES = 4, 2, 40
SMALL = 2.0**-5  # what the second weight of a number is multiplied by
FINE, DEFAULT = 2.0**-18, 2.0**-10
USED = 3  # numbers a class


def spec_of(precision):
    return ExchangeSpec(
        features=FEATURES,
        classes=CLASSES,
        samples=SAMPLES,
        hidden=0,
        release="logits",
        precision=precision,
        weight_bits=8,
    )


def stolen(precision):
    """Weights (M, d) in units of the plan, read from three numbers a class, and the true ones."""
    spec = spec_of(precision)
    chosen = np.zeros((SAMPLES, FEATURES))  # the last sample: all zero, tells the bias
    chosen[0, :2] = chosen[1, 2:] = 1.0, SMALL
    student = Student(spec)
    model = build_head("linear", FEATURES, 0, CLASSES, seed=3)
    request = student.request(Samples(chosen, np.arange(SAMPLES) % CLASSES, CLASSES))
    opened = student.open(Teacher(model, spec).answer(request)).released
    found = np.zeros((CLASSES, FEATURES), dtype=np.int64)
    step = 2.0 ** -student.plan.specs[0].log2_scale
    for number in range(USED - 1):
        units = (opened[number] - opened[-1]) / step
        upper = np.rint(units)
        lower = np.rint((units - upper) / SMALL)
        found[:, 2 * number], found[:, 2 * number + 1] = upper, lower
    return found, steps.compile_model(student.plan, model).maps[0].weights, student.plan


def test_three_numbers_tell_four_weights_and_the_bias():
    """The count of numbers understates it: 5 parameters of every class in 3 numbers."""
    found, true, plan = stolen(FINE)
    assert np.abs(true).max() * SMALL < 0.5  # honest sizes, far below the bound
    assert (found == true).all()
    assert FEATURES + 1 > USED
    # What bounds it: the bits of a number hold both weights.
    assert 2 * np.log2(2 * np.abs(true).max() + 1) < plan.number_bits


def test_coarser_numbers_tell_fewer():
    """At the default precision the second weight drowns: the noise fills what nobody asked for."""
    found, true, plan = stolen(DEFAULT)
    assert (found[:, 1::2] != true[:, 1::2]).any()
    assert plan.number_bits < stolen(FINE)[2].number_bits - 6


@pytest.mark.parametrize("precision", [FINE, DEFAULT])
def test_weights_that_one_number_holds_follow_from_its_bits(precision):
    """The error bound over the step, which is what the attack has to tell two values apart."""
    _, _, plan = stolen(precision)
    step = 2.0 ** -plan.specs[0].log2_scale
    exact = 2 * plan.error_bound / (step * SMALL) < 0.5
    assert exact == (precision == FINE)
