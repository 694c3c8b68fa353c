"""What every release of the register keeps, whatever it tells."""

import numpy as np
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.data import Samples
from securefair.errors import PlanError
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.releases import REGISTERED, exchanged_releases, release_of, training_releases
from securefair.words import words_of

SAMPLES, CLASSES, Q = 24, 3, 4


@pytest.fixture(params=REGISTERED)
def release(request):
    return release_of(request.param)


@pytest.fixture(params=exchanged_releases())
def spec(request):
    return ExchangeSpec(
        features=4, classes=CLASSES, samples=SAMPLES, hidden=0, release=request.param, q=Q
    )


def test_it_says_what_it_tells(release):
    assert release.told(Q, "public", words_of().about("hospitals"))
    assert 1 <= release.numbers(SAMPLES, CLASSES, Q) <= SAMPLES * CLASSES
    assert release.fewest <= release.least(Q)
    assert not (release.rows and release.whole)


def test_what_trains_tells_logits():
    telling = {name for name in exchanged_releases() if release_of(name).trains}
    assert set(training_releases()) == telling
    assert set(exchanged_releases()) < set(REGISTERED)


def test_a_plan_says_what_the_student_sends_and_what_leaves(spec):
    plan, release = plan_exchange(spec), spec.leaves
    assert (plan.factors is not None) == (release.factors(spec) > 0)
    assert (plan.query_bytes > 0) == release.predictions
    assert plan.numbers >= release.numbers(SAMPLES, CLASSES, Q)
    assert (plan.tensors == plan.blocks) or not release.whole


@pytest.mark.parametrize("backend", ["clear", "rns"])
def test_it_opens_to_its_numbers(spec, backend):
    rng = np.random.default_rng(0)
    samples = Samples(rng.uniform(-1, 1, (SAMPLES, 4)), rng.integers(0, CLASSES, SAMPLES), CLASSES)
    model = build_head("linear", 4, 0, CLASSES, seed=1)
    for weights in model.parameters():
        weights.data.mul_(8)  # what is opened is far above its noise
    student = Student(spec, backend=backend)
    shares = np.full((SAMPLES, CLASSES), 1 / CLASSES)
    asked = student.request(samples, predictions=shares if spec.sends_predictions else None)
    opened = student.open(Teacher(model, spec, backend=backend).answer(asked))
    assert opened.released.size == spec.leaves.numbers(SAMPLES, CLASSES, Q)
    assert (opened.logits is not None) == spec.leaves.trains
    if spec.sends_predictions:
        expected = model.logits(samples.features).sum() / CLASSES
        bound = opened.released.size * student.plan.error_bound
        assert bound < abs(expected) / 5
        assert opened.released.sum() == pytest.approx(expected, abs=bound)


def test_too_few_samples_are_refused(spec):
    few = ExchangeSpec(
        features=4, classes=2, samples=spec.leaves.fewest - 1, release=spec.release, q=1
    )
    with pytest.raises(PlanError):
        plan_exchange(few)


def test_an_unknown_release_is_refused():
    with pytest.raises(PlanError, match="unknown choice"):
        plan_exchange(ExchangeSpec(features=4, classes=2, samples=9, release="none such"))
    with pytest.raises(PlanError, match="unknown choice"):
        release_of("none such")
