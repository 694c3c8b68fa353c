"""Inputs that maximise the error of an exchange over its planned bound, by differential evolution.

What is searched: some patients that all others repeat, and every parameter of the model. What is
maximised: the largest error of a released number over the bound of the plan. Above 1 is a failure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import differential_evolution

from securefair.circuit.spec import ExchangeSpec
from securefair.data.dataset import Samples
from securefair.errors import SecureFairError
from securefair.exchange import steps
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.model.projection import public_rows

PATIENTS = 4  # that all samples repeat
LARGEST = 2.0  # parameter; those beyond the agreed bounds are refused, and count as no error


@dataclass(eq=False)
class Search:
    """The exchange of one spec on one backend, as a function of its inputs.

    Args:
        spec: a public projection.
        backend: encryption engine.
    """

    spec: ExchangeSpec
    backend: str

    def __post_init__(self) -> None:
        spec = self.spec
        kind = "quadratic" if spec.hidden else "linear"
        self.student = Student(spec, backend=self.backend, seed=b"worst", max_openings=None)
        self.head = build_head(kind, spec.features, spec.hidden, spec.classes, 0)
        self.answered = 0
        basis = steps.public_basis(self.student.plan, b"worst")
        signs = basis.signs.astype(float)
        n = self.student.plan.ring_degree
        self.rows = public_rows(n, basis.coefficients, spec.samples, signs)

    @property
    def size(self) -> int:
        """Numbers in a point."""
        return PATIENTS * self.spec.features + self.head.parameter_count

    def share(self, point: np.ndarray) -> float:
        """Largest error over its bound; 0 for inputs that are refused."""
        spec, cut = self.spec, PATIENTS * self.spec.features
        few = point[:cut].reshape(PATIENTS, spec.features) * spec.bounds.feature
        features = few[np.arange(spec.samples) % PATIENTS]
        samples = Samples(features, np.arange(spec.samples) % spec.classes, spec.classes)
        left = torch.from_numpy(point[cut:] * LARGEST)
        with torch.no_grad():
            for parameter in self.head.parameters():
                parameter.copy_(left[: parameter.numel()].reshape(parameter.shape))
                left = left[parameter.numel() :]
        try:
            teacher = Teacher(self.head, backend=self.backend, max_numbers=np.inf)
            released = self.student.open(teacher.answer(self.student.request(samples))).released
            model = steps.compile_model(self.student.plan, self.head)
        except SecureFairError:
            return 0.0
        self.answered += 1
        error = np.abs(released - self.rows @ model.logits(samples.features)).max()
        return float(error / self.student.plan.error_bound)

    def worst(self, evaluations: int, seed: int) -> float:
        """The largest share of about so many exchanges."""
        people = 3 * 5
        found = differential_evolution(
            lambda point: -self.share(point),
            [(-1.0, 1.0)] * self.size,
            maxiter=max(1, evaluations // people - 1),
            popsize=people,
            init=np.random.default_rng(seed).choice(
                [-1.0, -0.3, 0.0, 0.3, 1.0], (people, self.size)
            ),
            rng=seed,
            polish=False,
            tol=0,
        )
        return -float(found.fun)
