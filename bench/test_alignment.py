"""One encrypted alignment, by the length of the gradient; bytes and errors in extra_info."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair.collaboration.gossip import (
    AlignmentSpec,
    AlignmentStudent,
    AlignmentTeacher,
    plan_alignment,
)
from securefair.profiling.alignment import profile_alignment

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
    profile = profile_alignment(spec, backend=backend, repeats=3)
    benchmark.extra_info |= msgspec.structs.asdict(profile)
    plan = plan_alignment(spec)
    student = AlignmentStudent(plan, backend=backend)
    teacher = AlignmentTeacher(plan, student.public_key, backend=backend)
    one, other = np.random.default_rng(0).normal(size=(2, dimension))

    def align() -> float:
        query = student.query(plan.direction(one, b""))
        return student.open(teacher.answer(query, plan.direction(other, b"")))

    benchmark.pedantic(align, rounds=5, warmup_rounds=1)

    assert profile.abs_error <= profile.stated_error_bound
