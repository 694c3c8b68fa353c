"""One encrypted alignment, by the length of the gradient; bytes and its error in extra_info.

`securefair profile alignment` says how its time is divided.
"""

from __future__ import annotations

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair.collaboration.gossip import (
    AlignmentSpec,
    AlignmentStudent,
    AlignmentTeacher,
    plan_alignment,
)
from securefair.worth.alignment import cosine

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("backend", ["rns", "seal"])
@pytest.mark.parametrize("sketch", [8192, None], ids=["sketch", "exact"])
@pytest.mark.parametrize("dimension", [10**3, 10**4, 10**5, 10**6, 10**7])
def test_alignment(
    benchmark: BenchmarkFixture, dimension: int, sketch: int | None, backend: str
) -> None:
    if sketch is None and dimension > 10**5:
        pytest.skip("hundreds of ciphertexts: the sketch is for these")
    benchmark.group = f"alignment of {dimension} numbers"
    spec = AlignmentSpec(dimension=dimension, sketch=sketch)
    plan = plan_alignment(spec)
    student = AlignmentStudent(plan, backend=backend)
    teacher = AlignmentTeacher(plan, student.public_key, backend=backend)
    one, other = np.random.default_rng(0).normal(size=(2, dimension))
    sent: dict[str, bytes] = {}

    def align() -> float:
        sent["up"] = student.query(plan.direction(one, b""))
        sent["down"] = teacher.answer(sent["up"], plan.direction(other, b""))
        return student.open(sent["down"])

    found = benchmark.pedantic(align, rounds=3, warmup_rounds=1)

    error = abs(found - cosine(one, other))
    benchmark.extra_info |= {name: len(message) for name, message in sent.items()}
    benchmark.extra_info |= {"error": error, "error_bound": plan.error_bound}
    assert error <= plan.error_bound
