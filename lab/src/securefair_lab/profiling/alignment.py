"""What one encrypted alignment costs here, both sides together, next to the exact cosine."""

from __future__ import annotations

import msgspec
import numpy as np

from securefair.collaboration.gossip import (
    AlignmentSpec,
    AlignmentStudent,
    AlignmentTeacher,
    plan_alignment,
)
from securefair.config import defaults
from securefair.profiling import Stopwatch, medians
from securefair.worth import cosine

ROTATION = 0.5
"""How much of the first synthetic gradient is in the second."""


class AlignmentProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One alignment as measured: medians of the times, the largest of the errors.

    Attributes:
        milliseconds: one whole alignment: both sketches, encryption, answer, opening. A sketch
            and its encryption serve all peers of a round, so further peers cost less.
        stages: the same by stage: sketch (both), encrypt, answer, open; they run one by one.
        bytes_up, bytes_down: per peer and alignment.
        public_key_bytes: once per peer and collaboration.
        abs_error: largest |opened - exact cosine| over the repeats, each under another seed.
        stated_error_bound: what the plan promises: the projection's bound, exceeded with
            probability `failure`, and the worst case of the encryption.
        encryption_error_bound: the latter alone.
        dimension, numbers: of a gradient, and of what stands for it.
    """

    milliseconds: float
    stages: dict[str, float]
    bytes_up: int
    bytes_down: int
    public_key_bytes: int
    abs_error: float
    stated_error_bound: float
    encryption_error_bound: float
    failure: float
    dimension: int
    numbers: int
    ciphertexts: int
    ring_degree: int
    backend: str
    repeats: int


def profile_alignment(
    spec: AlignmentSpec, *, backend: str = defaults.BACKEND, repeats: int = 9
) -> AlignmentProfile:
    """Align two synthetic gradients, several times.

    Raises:
        PlanError: the spec cannot be granted.
        BackendUnavailableError: there is no such backend here.
    """
    plan = plan_alignment(spec)
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, spec.dimension))
    other += ROTATION * one
    exact = cosine(one, other)
    student = AlignmentStudent(plan, backend=backend)
    teacher = AlignmentTeacher(plan, student.public_key, backend=backend)
    runs, errors, up, down = [], [], 0, 0
    for repeat in range(repeats + 1):  # the first run warms caches up
        watch, seed = Stopwatch(), repeat.to_bytes(8, "big")
        with watch.stage("sketch"):
            own, theirs = plan.direction(one, seed), plan.direction(other, seed)
        with watch.stage("encrypt"):
            query = student.query(own)
        with watch.stage("answer"):
            answer = teacher.answer(query, theirs)
        with watch.stage("open"):
            found = student.open(answer)
        up, down = len(query), len(answer)
        errors.append(abs(found - exact))
        runs.append(watch.seconds | {"whole": sum(watch.seconds.values())})
    seconds = medians(runs[1:])
    whole = seconds.pop("whole")
    inner = plan.inner
    return AlignmentProfile(
        milliseconds=1e3 * whole,
        stages={name: 1e3 * value for name, value in seconds.items()},
        bytes_up=up,
        bytes_down=down,
        public_key_bytes=inner.public_key_bytes,
        abs_error=max(errors),
        stated_error_bound=plan.error_bound,
        encryption_error_bound=inner.error_bound + inner.grid / 2,
        failure=spec.failure,
        dimension=spec.dimension,
        numbers=inner.spec.length,
        ciphertexts=inner.query.count,
        ring_degree=inner.params.ring_degree,
        backend=backend,
        repeats=repeats,
    )
