"""Answers to whole exchanges, by release and backend: `make bench`.

Timed is what every further answer costs, the upload being there already: the same calls as in
`exchange`, checked against the clear twin within the planned error. What surrounds it (keys,
encryption, expansion, bytes, memory, distance to the machine's limits) `securefair profile head`
measures: `make bench-quick`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair import ExchangeSpec, Student, Teacher, plan_exchange
from securefair.ckks.backends import kernels
from securefair.ckks.threads import cores, set_threads
from securefair.profiling.dry_exchange import Material, synthetic
from securefair.profiling.head import describe_machine

RELEASES = ("logits", "projection", "loss", "class_sums")
LARGE = {"features": 512, "hidden": 64, "classes": 10, "samples": 4096}
SMALL = {"features": 64, "hidden": 16, "classes": 3, "samples": 500}


@pytest.fixture(scope="module", autouse=True)
def all_threads() -> Iterator[None]:
    before = kernels.describe().threads
    set_threads(cores())
    yield
    set_threads(before)


def answered(benchmark: BenchmarkFixture, material: Material, backend: str) -> None:
    spec = material.plan.spec
    student, teacher = (
        Student(spec, backend=backend, max_openings=None),
        Teacher(material.model, spec, backend=backend, max_numbers=math.inf),
    )
    features, basis = student.encrypt_features(material.samples)
    question = b""
    if material.predictions is not None:
        question = student.encrypt_predictions(material.predictions)
    upload = teacher.receive(spec, b"", student.public_keys, features, basis)
    answer = benchmark.pedantic(
        teacher.evaluate, args=(upload, question), rounds=5, warmup_rounds=1
    )

    twin = Student(spec, backend="clear")
    request = twin.request(material.samples, predictions=material.predictions)
    exact = twin.open(Teacher(material.model, spec, backend="clear").answer(request)).released
    released = student.open_evaluated(answer).released
    # Opened numbers are rounded to the planned precision, which moves them once more.
    assert np.abs(released - exact).max() <= 1.5 * material.plan.error_bound
    benchmark.extra_info["ms a sample"] = benchmark.stats["median"] / spec.samples * 1e3
    benchmark.extra_info["machine"] = msgspec.to_builtins(describe_machine())


@pytest.mark.parametrize("release", RELEASES)
def test_head_512_64_10(benchmark: BenchmarkFixture, release: str) -> None:
    benchmark.group = "a further answer, 512-64-10"
    answered(benchmark, synthetic(plan_exchange(ExchangeSpec(release=release, **LARGE))), "rns")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("backend", ["rns", "seal"])
def test_backends_on_500_samples(benchmark: BenchmarkFixture, backend: str, release: str) -> None:
    benchmark.group = f"a further answer, 64-16-3, {release}"
    answered(benchmark, synthetic(plan_exchange(ExchangeSpec(release=release, **SMALL))), backend)
