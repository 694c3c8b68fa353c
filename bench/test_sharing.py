"""Ciphertext cost against the probability with which teachers share: encrypted rounds, by bytes.

Four hospitals with eight rounds of CYCle's protocol, at fixed probabilities. In every fifth round
everyone answers whatever the coin says; in the others a declined question costs a refusal and no
ciphertext. `securefair profile sharing` fits a line
to more probabilities and compares with always sharing.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair.ckks.backends import kernels
from securefair.ckks.threads import set_threads
from securefair.data import load_heart
from securefair_lab.profiling.sharing import SharingRun, start_sharing
from securefair_lab.profiling.tasks import reshaped, task_config

ROUNDS, SAMPLES, SEED = 8, 60, 0
PROBABILITIES = (0.0, 0.25, 0.5, 0.75, 1.0)
TASK = task_config(rounds=ROUNDS, q=16)
PEERS = 4 * 3
FORCED = len([t for t in range(ROUNDS) if t % TASK.fairness.forced_every == 0])


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = kernels.describe().threads
    set_threads(1)
    yield
    set_threads(before)


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_sharing(benchmark: BenchmarkFixture, probability: float) -> None:
    benchmark.group = f"{ROUNDS} encrypted rounds of four hospitals by sharing probability"
    everyone = reshaped(load_heart(seed=SEED), samples=SAMPLES, features=None, seed=SEED)

    def start() -> tuple[tuple[SharingRun], dict[str, object]]:
        return (start_sharing(TASK, everyone, f"r = {probability}", probability, SEED),), {}

    ran = []

    def all_rounds(run: SharingRun) -> None:
        for _ in run.rounds(ROUNDS):
            pass
        ran.append(run)

    benchmark.pedantic(all_rounds, setup=start, rounds=3)
    cost = ran[-1].finished().cost
    benchmark.extra_info |= {
        "probability": probability,
        "answers": cost.answers,
        "declines": cost.declines,
        "bytes_up": cost.bytes_up,
        "bytes_down": cost.bytes_down,
        "bytes": cost.bytes,
        "teacher_seconds": cost.server_seconds,
        "threads": kernels.describe().threads,
    }
    assert cost.problems == 0
    # Whoever would decline for certain does not ask either.
    assert cost.answers + cost.declines == PEERS * (ROUNDS if probability else FORCED)
    by_coin = cost.answers - PEERS * FORCED
    assert by_coin == {0.0: 0, 1.0: PEERS * (ROUNDS - FORCED)}.get(probability, by_coin)
