"""One private weighted sum, by size and implementation; bytes and errors an edge in extra_info.

Next to sending models in the clear (`clear`), which does the same work but for privacy.
"""

from __future__ import annotations

from itertools import count

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair.averaging import AVERAGING, SumSpec
from securefair.ckks.backends import kernels
from securefair.errors import BackendUnavailableError
from securefair.profiling.averaging import DrySum, profile_averaging
from securefair.profiling.measure import Stopwatch

SENDERS = 3
RESNET18 = 11_173_962
LARGE = 10**6


@pytest.mark.parametrize("averaging", sorted(AVERAGING))
@pytest.mark.parametrize("parameters", [10**4, 10**5, 10**6, 10**7, RESNET18])
def test_averaging(benchmark: BenchmarkFixture, parameters: int, averaging: str) -> None:
    benchmark.group = f"averaging {parameters} parameters of {SENDERS} senders"
    spec = SumSpec(parameters=parameters, senders=SENDERS)
    repeats = 3 if parameters <= LARGE else 1
    try:
        profile = profile_averaging(averaging, spec, repeats=repeats)
        dry_exchange = DrySum.of(averaging, spec)
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    rounds = count()

    def sum_once() -> float:
        return dry_exchange.run(next(rounds), Stopwatch())

    benchmark.pedantic(sum_once, rounds=repeats, warmup_rounds=1)  # with inventing parameters

    benchmark.extra_info |= msgspec.structs.asdict(profile) | {
        "spec": msgspec.structs.asdict(spec),
        "bytes": profile.bytes_per_edge,
        "over_clear_bytes": profile.bytes_per_edge / profile.clear_bytes_per_edge,
        "threads": kernels.describe().threads,
    }
    assert profile.max_abs_error <= profile.error_bound
