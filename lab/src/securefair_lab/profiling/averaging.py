"""What a private weighted sum costs here for each sender, next to sending models in the clear."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.averaging import (
    Gathering,
    Shares,
    SumKeys,
    SumPlan,
    SumSpec,
    WeightedSums,
    get_averaging,
    make_share,
    open_sum,
    plan_sum,
    release,
)
from securefair.averaging.gathering import SESSION_BYTES
from securefair.averaging.shares import KEY_BYTES
from securefair.ckks.backends import kernels
from securefair.profiling import Stopwatch, medians, peak_memory, reset_peak_memory

RECEIVER = "receiver"
SPREAD = 0.1
"""Deviation of synthetic parameters: of the order of a network's."""


class AveragingProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Sums as measured: medians of the times, the largest of the errors.

    An edge is one sender's share of one sum: its request, its share and its key, and its
    share of what the receiver does.

    Attributes:
        averaging: the implementation.
        spec: what was asked for.
        seconds_per_edge: asking, making the share and opening, over the senders; all of them take
            turns in this process.
        stages: the same by stage: ask, contribute, open.
        bytes_per_edge: request, share and key.
        clear_bytes_per_edge: the parameters as float32.
        public_key_bytes: once per participant and collaboration.
        max_abs_error: largest difference of a coordinate from the exact sum, over all repeats.
        error_bound: what the plan promises for it.
        peak_rss_mb: largest memory of this process and its children, all senders' messages and
            the receiver together.
        first_seconds: the whole of the first sum, which is not counted: it fills caches and may
            start processes.
    """

    averaging: str
    spec: SumSpec = msgspec.field(name="wish")  # the key that scripts read
    seconds_per_edge: float
    stages: dict[str, float]
    bytes_per_edge: int
    clear_bytes_per_edge: int
    public_key_bytes: int
    max_abs_error: float
    error_bound: float
    peak_rss_mb: float
    first_seconds: float
    hides_weights: bool
    hides_parameters: bool
    threads: int
    repeats: int


@dataclass(frozen=True, eq=False)
class DrySum:
    """A receiver with its senders, with synthetic parameters, and sum them.

    Attributes:
        sums, plan: the implementation and what it plans.
        keys: everyone's, by name.
        weights: a row of a mixing matrix without the receiver's own entry.
    """

    sums: WeightedSums[Any, Any]
    plan: SumPlan
    keys: dict[str, SumKeys]
    weights: dict[str, float]

    @classmethod
    def of(cls, name: str, spec: SumSpec) -> DrySum:
        """Keys and weights for a spec.

        Raises:
            PlanError: the spec cannot be granted.
            BackendUnavailableError: there is no such implementation here.
        """
        plan, sums = plan_sum(name, spec), get_averaging(name)
        senders = [f"sender{i:04}" for i in range(spec.senders)]
        row = np.random.default_rng(0).dirichlet(np.ones(spec.senders + 1)).tolist()
        keys = {name: sums.generate_keys(plan) for name in (*senders, RECEIVER)}
        return cls(sums, plan, keys, dict(zip(senders, row, strict=False)))

    def vector(self, sender: int) -> NDArray[np.float32]:
        """Synthetic parameters, the same every time, float32 (parameters,)."""
        rng, bound = np.random.default_rng(sender), self.plan.spec.bound
        drawn = rng.standard_normal(self.plan.spec.parameters, dtype=np.float32)
        drawn *= SPREAD * min(1.0, bound)
        return np.clip(drawn, -bound, bound, out=drawn)

    def run(self, round: int, watch: Stopwatch) -> float:
        """One sum; its largest error. One sender's parameters are in memory at a time."""
        gathering = Gathering.of(bytes(SESSION_BYTES), round, RECEIVER, self.weights)
        publics = {name: keys.public for name, keys in self.keys.items()}
        receiver = self.keys[RECEIVER]
        expected = np.zeros(self.plan.spec.parameters)
        closed, released = {}, {}
        with watch.stage("ask"):
            requests = self.sums.ask(self.plan, receiver, gathering, self.weights)
        for index, (name, weight) in enumerate(self.weights.items()):
            vector = self.vector(index)
            expected += weight * vector.astype(np.float64)
            with watch.stage("contribute"):
                memory, closed[name] = make_share(
                    Shares(),
                    self.sums,
                    self.plan,
                    self.keys[name],
                    publics,
                    gathering,
                    name,
                    requests[name],
                    vector,
                )
                _, released[name] = release(memory, gathering)
            del vector, memory
        with watch.stage("open"):
            total = open_sum(self.sums, self.plan, receiver, gathering, closed, released)
        np.subtract(total, expected, out=total)
        return float(np.abs(total, out=total).max())


def profile_averaging(name: str, spec: SumSpec, *, repeats: int = 5) -> AveragingProfile:
    """Sum synthetic parameters, several times.

    Raises:
        PlanError: the spec cannot be granted.
        BackendUnavailableError: there is no such implementation here.
    """
    dry_exchange = DrySum.of(name, spec)
    gc.collect()
    reset_peak_memory()
    runs, errors = [], []
    for round in range(repeats + 1):
        watch = Stopwatch()
        errors.append(dry_exchange.run(round, watch))
        runs.append(watch.seconds | {"whole": sum(watch.seconds.values())})
    seconds = {stage: value / spec.senders for stage, value in medians(runs[1:]).items()}
    plan = dry_exchange.plan
    return AveragingProfile(
        averaging=name,
        spec=spec,
        seconds_per_edge=seconds.pop("whole"),
        stages=seconds,
        bytes_per_edge=plan.request_bytes + plan.share_bytes + KEY_BYTES,
        clear_bytes_per_edge=plan.clear_bytes,
        public_key_bytes=plan.public_key_bytes,
        max_abs_error=max(errors),
        error_bound=plan.error_bound,
        peak_rss_mb=peak_memory() / 1e6,
        first_seconds=runs[0]["whole"],
        hides_weights=dry_exchange.sums.hides_weights,
        hides_parameters=dry_exchange.sums.hides_parameters,
        threads=kernels.describe().threads,
        repeats=repeats,
    )
