"""One exchange between a student and a teacher, in bytes, with all that it produced."""

import math
from dataclasses import dataclass
from functools import cache

import msgspec
import numpy as np
import pytest

from securefair.circuit.planner import ExchangePlan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.data.dataset import Samples
from securefair.errors import BackendUnavailableError
from securefair.exchange import steps
from securefair.exchange.opened import Opened
from securefair.exchange.request import Request, encode_request
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.model.projection import public_rows, student_basis

RELEASES = {
    "loss": {"release": "loss"},
    "class_sums": {"release": "class_sums"},
    "public": {"release": "projection", "q": 8},
    "student": {"release": "projection", "basis": "student", "q": 4},
    "logits": {"release": "logits"},
}
SEED = b"a public seed"
FEATURES, CLASSES, SAMPLES = 4, 2, 60


def spec_of(release, hidden=0, **changes):
    facts = {"features": FEATURES, "classes": CLASSES, "samples": SAMPLES, "hidden": hidden}
    return ExchangeSpec(**{**facts, **RELEASES[release], **changes})


def samples_of(spec, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (spec.samples, spec.features)) * spec.bounds.feature
    return Samples(features, np.arange(spec.samples) % spec.classes, spec.classes)


def predictions_of(spec, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(spec.classes), spec.samples)


def head_of(spec, seed=3):
    kind = "quadratic" if spec.hidden else "linear"
    return build_head(kind, spec.features, spec.hidden, spec.classes, seed)


@dataclass(frozen=True, repr=False)
class Run:
    """Everything that one exchange produced."""

    plan: ExchangePlan
    student: Student
    teacher: Teacher
    samples: Samples
    request: bytes
    answer: bytes
    opened: Opened

    @property
    def asked(self):
        return msgspec.msgpack.decode(self.request, type=Request)

    @property
    def logits(self):
        """What the teacher's model says on the samples, with its weights as rounded."""
        return steps.compile_model(self.plan, self.teacher.model).logits(self.samples.features)

    @property
    def exact(self):
        """The released numbers without any encryption."""
        spec, z = self.plan.spec, self.logits
        if spec.sends_predictions:
            sums = (predictions_of(spec) * z).sum(axis=0)
            return sums.sum() if spec.release == "loss" else sums
        if spec.release == "logits":
            return z
        if spec.student_basis:
            return student_basis(self.samples, spec.q) @ z
        basis = steps.public_basis(self.plan, SEED)
        n = self.plan.ring_degree
        rows = public_rows(n, basis.coefficients, spec.samples, basis.signs.astype(float))
        return rows @ z


def run(spec, backend="seal"):
    """Made once: `cache` would tell `run(spec)` from `run(spec, "seal")`. Plans differ by what the
    backend packs (`samples_in_slots`)."""
    try:
        packs = get_backend(backend).packs_coefficients
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    return _run(spec, backend, packs)


@cache
def _run(spec, backend, _packs_coefficients):
    samples = samples_of(spec)
    predictions = predictions_of(spec) if spec.sends_predictions else None
    student = Student(spec, backend=backend, seed=SEED, max_openings=None)
    teacher = Teacher(head_of(spec), backend=backend, max_numbers=math.inf)
    request = student.request(samples, predictions=predictions)
    answer = teacher.answer(request)
    opened = student.open(answer)
    return Run(student.plan, student, teacher, samples, request, answer, opened)


def altered(asked, **changes):
    return encode_request(msgspec.structs.replace(asked, **changes))
