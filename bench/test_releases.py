"""Each release as the `fhe_cost` fixture reports it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair import ExchangeSpec
from securefair.profiling.exchange_cost import PreparedExchange

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
