"""One private weighted sum, by size and implementation; bytes and errors an edge in extra_info.

Next to sending models in the clear (`clear`), which does the same work but for privacy.
`securefair profile averaging` says how the time is divided.
"""

from __future__ import annotations

from itertools import count

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair.averaging import AVERAGING, SumSpec
from securefair.averaging.shares import KEY_BYTES
from securefair.ckks.backends import kernels
from securefair.errors import BackendUnavailableError
from securefair.profiling.measure import Stopwatch
from securefair_lab.profiling.averaging import DrySum

SENDERS = 3
RESNET18 = 11_173_962
LARGE = 10**6


@pytest.mark.parametrize("averaging", sorted(AVERAGING))
@pytest.mark.parametrize("parameters", [10**4, 10**5, 10**6, RESNET18])
def test_averaging(benchmark: BenchmarkFixture, parameters: int, averaging: str) -> None:
    benchmark.group = f"averaging {parameters} parameters of {SENDERS} senders"
    spec = SumSpec(parameters=parameters, senders=SENDERS)
    try:
        dry_sum = DrySum.of(averaging, spec)
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    rounds = count()

    def sum_once() -> float:
        return dry_sum.run(next(rounds), Stopwatch())

    # With inventing parameters. Large sums take seconds: one of them, after none.
    often = parameters <= LARGE
    error = benchmark.pedantic(sum_once, rounds=3 if often else 1, warmup_rounds=int(often))

    plan = dry_sum.plan
    size = plan.request_bytes + plan.share_bytes + KEY_BYTES
    benchmark.extra_info |= {
        "spec": msgspec.structs.asdict(spec),
        "bytes": size,
        "over_clear_bytes": size / plan.clear_bytes,
        "error": error,
        "error_bound": plan.error_bound,
        "threads": kernels.describe().threads,
    }
    assert error <= plan.error_bound
