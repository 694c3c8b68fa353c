"""What the attacks share: an exchange whose every public byte the attacker may use."""

import numpy as np
import pytest
from scipy.stats import chi2

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend, wire
from securefair.ckks.evaluator import Released
from securefair.data.dataset import Samples
from securefair.exchange import steps
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head

FALSE_ALARM = 1e-9
"""Chance that a single statistical test of these suites fails although all is well."""


class Exchange:
    """A student with its keys and upload, and a teacher's evaluator that holds them.

    The student is the attacker: it may call anything here, but not look at `layers`.
    """

    def __init__(self, spec, features, *, backend, seed=1, model=None, monomials=False, plan=None):
        self.plan = plan or plan_exchange(spec, coefficients=monomials)
        self.params = self.plan.params
        self.backend = get_backend(backend)
        self.keys = self.backend.generate_keys(
            self.params,
            relinearization=self.plan.relinearization_limbs,
            galois=self.plan.galois_limbs,
            element=self.plan.galois_element,
        )
        self.upload = steps.encrypt(
            self.keys.encryptor, self.plan.features, steps.pack(self.plan, features)
        )
        self.evaluator = self.backend.evaluator(self.params, self.keys.public)
        self.features = steps.receive(
            self.evaluator, self.plan.features, self.upload, self.plan.blocks
        )
        kind = "quadratic" if spec.hidden else "linear"
        self.model = model or build_head(kind, spec.features, spec.hidden, spec.classes, seed)
        self.basis = steps.public_basis(self.plan, b"security")

    @property
    def layers(self):
        """The teacher's secret."""
        return list(steps.compile_model(self.plan, self.model).maps)

    def answer(self, layers=None, factors=(), *, evaluator=None, features=None):
        """The planned answer; another evaluator may leave steps out."""
        inputs = steps.Inputs(
            features or self.features, list(factors), self.basis.signs, self.basis.coefficients
        )
        released = steps.answer(
            evaluator or self.evaluator,
            self.plan.spec,
            self.plan.schedule,
            self.plan.specs,
            layers or self.layers,
            inputs,
        )
        return released[0]

    def silent_features(self):
        """A malicious upload: the same masks, and zeros for what they mask."""
        meta = self.plan.features
        first, seeds = wire.read_upload(self.upload, meta)
        silent = wire.write_upload(np.zeros_like(first), seeds, meta.params.primes[: meta.limbs])
        return [self.evaluator.load(silent, meta)]

    def parts(self, released):
        """An answer as the student parses it: masks and released coefficients of c0."""
        return wire.read_answer(released.data, released.meta, len(released.coefficients))

    def zero_filled(self, released):
        """All message coefficients, with zeros where coefficients of c0 were not sent."""
        masks, values = self.parts(released)
        n, meta = self.params.ring_degree, released.meta
        everything = np.zeros((meta.count, n, meta.limbs), dtype=np.uint32)
        everything[:, released.coefficients] = values
        data = wire.write_answer(masks, everything)
        return self.keys.decryptor.open(Released(meta, np.arange(n), data))


@pytest.fixture(scope="session")
def exchange():
    """Make an exchange."""
    return Exchange


@pytest.fixture(scope="session")
def unsanitised():
    """A copy of an evaluator that skips sanitising: what the attacks work on."""

    def without(exchange):
        evaluator = exchange.backend.evaluator(exchange.params, exchange.keys.public)
        evaluator.sanitize = lambda x, _: x
        return evaluator

    return without


@pytest.fixture(scope="session")
def uniform():
    """Whether values look uniform in [low, low + width): chi-square over 64 bins."""

    def check(values, width, low=0):
        scaled = (np.ravel(values).astype(np.float64) - low) / width
        counts, _ = np.histogram(scaled, bins=64, range=(0.0, 1.0))
        assert counts.sum() == scaled.size, "values beyond the range"
        expected = scaled.size / 64
        assert expected >= 20, "too few values for a statement"
        statistic = ((counts - expected) ** 2 / expected).sum()
        return bool(chi2.ppf(FALSE_ALARM, 63) < statistic < chi2.isf(FALSE_ALARM, 63))

    return check


@pytest.fixture
def student_of():
    """A student, its teacher, samples and predictions, for one release on one backend."""

    def make(release, backend, features=3):
        spec = ExchangeSpec(
            features=features, hidden=2, classes=2, samples=12, release=release, q=4
        )
        rng = np.random.default_rng(0)
        labels = np.arange(12) % 2
        samples = Samples(rng.uniform(-1, 1, (12, features)), labels, 2)
        predictions = np.full((12, 2), 0.5) if spec.sends_predictions else None
        student = Student(spec, backend=backend)
        teacher = Teacher(build_head("quadratic", features, 2, 2, 1), spec, backend=backend)
        return student, teacher, samples, predictions

    return make
