"""Each release as the `fhe_cost` fixture reports it, and a small sweep over sharing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair import ExchangeSpec
from securefair.profiling.exchange_cost import PreparedExchange
from securefair.profiling.sharing import profile_sharing
from securefair.profiling.tasks import reshaped, task_config
from securefair.user.participants import load_participants

pytestmark = pytest.mark.usefixtures("one_thread")

RELEASES = ("loss", "class_sums", "projection", "logits")


@pytest.mark.parametrize("backend", ["clear", "rns", "seal"])
@pytest.mark.parametrize("release", RELEASES)
def test_release(benchmark: BenchmarkFixture, release: Any, backend: str) -> None:
    benchmark.group = f"release: {release}"
    spec = ExchangeSpec(features=16, hidden=8, classes=3, samples=1000, release=release, q=32)
    prepared = PreparedExchange(spec, backend=backend)
    cost = prepared.cost(repeats=1)
    benchmark.extra_info |= msgspec.structs.asdict(cost) | {"bytes": cost.bytes}

    benchmark.pedantic(prepared.serve, rounds=3)

    assert cost.error <= cost.error_bound


@pytest.mark.parametrize("backend", ["clear", "rns"])
def test_sharing(benchmark: BenchmarkFixture, backend: str) -> None:
    benchmark.group = "sharing sweep: 3 participants, 10 rounds, r = 0, 0.5, 1"
    config = task_config(participants=3, rounds=10, q=16, backend=backend)
    data = reshaped(load_participants(config, 0), samples=100, features=8, seed=0)

    run: Callable[[], Any] = lambda: profile_sharing(config, data, [0.0, 0.5, 1.0])  # noqa: E731
    profile = benchmark.pedantic(run, rounds=1)

    benchmark.extra_info |= {
        "backend": backend,
        "threads": profile.task.threads,
        "points": [msgspec.structs.asdict(point) for point in profile.points],
    }
    answers = [point.answers for point in profile.points]
    assert answers == sorted(answers)
    assert answers[-1] == profile.always.answers
