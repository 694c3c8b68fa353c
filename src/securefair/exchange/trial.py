"""A small exchange with oneself: whether a backend works on this machine."""

from __future__ import annotations

import numpy as np

from securefair.circuit.spec import ExchangeSpec
from securefair.data import Samples
from securefair.errors import EncryptionError
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.plain_heads import PlainHead


def exchange_error(backend: str) -> float:
    """Largest error of a small exchange from samples to opened logits.

    Raises:
        SecureFairError: the backend is not there, does not work, or is less precise than planned.
    """
    rng = np.random.default_rng(0)
    samples = Samples(rng.uniform(-1, 1, (16, 4)), rng.integers(0, 2, 16), 2)
    spec = ExchangeSpec(features=4, classes=2, samples=16, hidden=0, release="logits")
    model = PlainHead.drawn("linear", 4, 0, 2, seed=0)
    student = Student(spec, backend=backend)
    answer = Teacher(model, spec, backend=backend).answer(student.request(samples))
    opened = student.open(answer).released
    error = float(np.abs(opened - model.logits(samples.features)).max())
    planned = student.plan.error_bound + 2.0**-spec.weight_bits * 16 * 4  # and rounded weights
    if not error <= planned:
        raise EncryptionError(
            "an exchange opened to wrong numbers", found=f"{error:.1e}", expected=f"{planned:.1e}"
        )
    return error
