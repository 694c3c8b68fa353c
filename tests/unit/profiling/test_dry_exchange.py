"""One exchange in one process: the same stages as on paper, the same bytes as planned."""

import numpy as np
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import HeadBounds
from securefair.ckks.backends import get_backend
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.profiling.dry_exchange import ANSWER, EPOCH, QUERY, RECEIVE, dry_exchange, synthetic
from securefair.profiling.measure import Stopwatch
from securefair.profiling.tables import STAGES
from securefair.profiling.trace import LAYERS, WITHIN_LAYERS, trace

EXCHANGES = [
    {"release": "logits"},
    {"release": "projection"},
    {"release": "projection", "basis": "student", "q": 4},
    {"release": "loss"},
    {"release": "class_sums", "hidden": 0},
    {"release": "logits", "features": 65},  # two in a ciphertext
]


def run(spec, backend="clear"):
    plan = plan_exchange(spec)
    material, engine = synthetic(plan), get_backend(backend)
    keys = engine.generate_keys(
        plan.params,
        relinearization=plan.relinearization_limbs,
        galois=plan.galois_limbs,
        element=plan.galois_element,
    )
    stages, totals = Stopwatch(), Stopwatch()
    return material, dry_exchange(material, engine, keys, stages, totals), stages, totals


@pytest.mark.parametrize("changes", EXCHANGES, ids=str)
def test_every_step_on_paper_is_timed_and_has_a_name(spec, changes):
    material, _, stages, totals = run(spec(**changes))
    planned = {step.stage for step in trace(material.plan)}
    if LAYERS in stages.seconds:
        single = {"conjugate"} if material.plan.schedule.packing == "alone" else set()
        assert planned >= set(WITHIN_LAYERS) - single
        planned = planned - set(WITHIN_LAYERS) | {LAYERS}
    assert planned <= set(stages.seconds) <= set(STAGES)
    assert {EPOCH, RECEIVE, ANSWER} <= set(totals.seconds)
    assert (QUERY in totals.seconds) == material.plan.spec.multiplies


@pytest.mark.parametrize("changes", EXCHANGES, ids=str)
def test_it_releases_what_student_and_teacher_would(spec, changes):
    material, done, _, _ = run(spec(**changes))
    plan = material.plan
    student = Student(plan.spec, backend="clear")
    request = student.request(material.samples, predictions=material.predictions)
    answer = Teacher(material.model, material.plan.spec, backend="clear").answer(request)
    opened = student.open(answer).released
    if plan.spec.student_basis:  # the student undoes its own scaling of the rows
        opened = opened * np.frombuffer(student._reconstruction.row_scale)[:, None]
    # A student may round what it opened to the planned precision.
    assert np.allclose(done.released, opened, rtol=0, atol=plan.error_bound / 2)


@pytest.mark.slow
def test_bytes_are_those_of_the_plan(spec):
    material, done, _, _ = run(spec(release="loss"), backend="rns")
    plan = material.plan
    assert (done.upload, done.query, done.answer) == (
        plan.feature_bytes,
        plan.query_bytes,
        plan.answer_bytes,
    )
    material, done, _, _ = run(spec(release="projection", basis="student", q=4), backend="rns")
    plan = material.plan
    assert (done.upload, done.query) == (plan.feature_bytes + plan.basis_bytes, 0)


def test_invented_samples_keep_the_bounds(spec):
    bounds = HeadBounds(feature=3.0, feature_norm=2.0)
    material = synthetic(plan_exchange(spec(bounds=bounds)))
    norms = np.linalg.norm(material.samples.features, axis=1)
    assert norms.max() <= 2.0 + 1e-9
    assert norms.max() > 1.9
