"""Measure whole exchanges: medians of times, bytes, errors, and how far from the machine's limits.

A median over repeats with the same keys, after one exchange that is not counted (it fills caches
and starts child processes). Student and teacher share a process, so memory is that of both.
"""

from __future__ import annotations

import gc
import platform
import time
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend, kernels
from securefair.ckks.keys import Backend, StudentKeys
from securefair.ckks.threads import cores, set_threads
from securefair.profiling.cost import Cost, cost, total
from securefair.profiling.dry_exchange import (
    ANSWER,
    EPOCH,
    QUERY,
    RECEIVE,
    Material,
    dry_exchange,
    encode_only,
    rounding_error,
    synthetic,
)
from securefair.profiling.measure import (
    Clock,
    MachineLimits,
    Stopwatch,
    measure_limits,
    medians,
    peak_memory,
    reset_peak_memory,
)
from securefair.profiling.trace import LAYERS, WITHIN_LAYERS, trace

BEFORE = ("keys", "pack", "encode", "encrypt_zeros", "encrypt", "prepare", "encrypt_query")
"""Stages of the student up to its upload."""

AFTER = ("open", "reconstruct")
"""Stages of the student once the answer is there."""


class StageTime(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of an exchange.

    Attributes:
        stage: its name.
        side: who works.
        ms: median milliseconds of an exchange.
        arithmetic_limit_ms: what its multiply-adds need at the machine's fastest; None where no
            operations are counted.
        bandwidth_limit_ms: what its bytes need at the speed of a copy.
    """

    stage: str
    side: str
    ms: float
    arithmetic_limit_ms: float | None
    bandwidth_limit_ms: float | None


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer against what the machine could do, both measured in the same run.

    Attributes:
        multiply_adds_per_second, bytes_per_second: the limits (`measure.MachineLimits`).
        multiply_adds, bytes: of an answer, from upload to released bytes (`cost`).
        arithmetic_limit_ms_per_sample, bandwidth_limit_ms_per_sample: what they need at least.
        over_arithmetic_limit, over_bandwidth_limit: measured time over these.
    """

    multiply_adds_per_second: float
    bytes_per_second: float
    multiply_adds: int
    bytes: int
    arithmetic_limit_ms_per_sample: float
    bandwidth_limit_ms_per_sample: float
    over_arithmetic_limit: float
    over_bandwidth_limit: float


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What the figures were measured on."""

    processor: str
    cores: int
    instruction_set: str


class HeadProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one exchange; times are medians.

    Attributes:
        server_ms_per_sample: from uploaded bytes to the answer's bytes.
        answer_ms_per_sample: the same without receiving the features, which happens once per
            data epoch; what every further answer costs.
        encrypt_ms_per_sample: packing and encrypting the features.
        first_encrypt_ms_per_sample: of the very first, which starts child processes.
        query_ms_per_sample: encrypting predictions or a basis; 0 where there are none.
        decrypt_us_per_sample: opening the answer, without reconstruction.
        prepare_s: preparing the reconstruction, once per data epoch; 0 without one.
        reconstruct_ms: released numbers to logits; 0 without one.
        stages: all stages in order.
        upload_bytes_per_sample: encrypted features, and the basis where the student chooses it;
            once per data epoch.
        bytes_up_per_sample: everything the student sends but the keys.
        bytes_down: an answer.
        key_bytes: public and evaluation keys, once per key epoch.
        max_abs_error: largest difference of a released number from the clear backend's, over all
            repeats, in its own unit (`ExchangePlan.error_bound`).
        error_over_range: the same over the range that the spec declares, as in its precision.
        error_bound: what the plan promises for max_abs_error.
        rounding_error: how far rounding weights to integers moves a logit at most, which no
            other error contains.
        peak_rss_mb: largest memory of the process and its children, both sides together.
    """

    spec: ExchangeSpec = msgspec.field(name="wish")  # the key that scripts read
    backend: str
    threads: int
    repeats: int
    machine: Machine
    server_ms_per_sample: float
    answer_ms_per_sample: float
    encrypt_ms_per_sample: float
    first_encrypt_ms_per_sample: float
    query_ms_per_sample: float
    decrypt_us_per_sample: float
    prepare_s: float
    reconstruct_ms: float
    stages: list[StageTime]
    upload_bytes_per_sample: float
    bytes_up_per_sample: float
    bytes_down: int
    key_bytes: int
    max_abs_error: float
    error_over_range: float
    error_bound: float
    rounding_error: float
    ring_degree: int
    limbs: int
    blocks: int
    log_qp: float
    flooding_bits: int
    peak_rss_mb: float
    distance: Distance


def profile_head(
    spec: ExchangeSpec, *, backend: str = "rns", threads: int | None = None, repeats: int = 5
) -> HeadProfile:
    """Measure exchanges of invented samples and weights.

    Args:
        spec: sizes, release, flooding and precision.
        backend: "rns", "seal" or "clear".
        threads: for all pools together (`threads.set_threads`); None for one a core.
        repeats: exchanges that count, at least 1.

    Raises:
        PlanError: the spec cannot be granted.
        ConfigError: more threads than cores.
        BackendUnavailableError: there is no such backend here.
    """
    plan = plan_exchange(spec)
    get_backend(backend)  # refuse before anything is measured
    threads = threads or cores()
    set_threads(threads)
    return profile_plan(plan, measure_limits(), backend=backend, threads=threads, repeats=repeats)


def profile_plan(
    plan: ExchangePlan,
    limits: MachineLimits,
    *,
    backend: str,
    threads: int,
    repeats: int,
    clock: Clock = time.perf_counter,
) -> HeadProfile:
    """The same for a plan of one's own, at limits that were measured before.

    `clock` may be time.process_time on one thread: then no child process works, and what else
    runs on the machine hardly counts.

    Raises:
        ConfigError, BackendUnavailableError: see `profile_head`.
    """
    spec, engine = plan.spec, get_backend(backend)
    set_threads(threads)
    material = synthetic(plan)
    expected = _clear(material)
    gc.collect()
    reset_peak_memory()
    keys, key_seconds = _generate(engine, plan, repeats)
    stages, totals, error = [], [], 0.0
    for _ in range(repeats + 1):
        stage, whole = Stopwatch(clock), Stopwatch(clock)
        done = dry_exchange(material, engine, keys, stage, whole)
        error = max(error, float(np.abs(done.released - expected).max()))
        stages.append(stage.seconds)
        totals.append(whole.seconds)
    peak = peak_memory()
    seconds, sums = medians(stages[1:]), medians(totals[1:])
    encode = _encode_seconds(material, repeats) if backend == "rns" else 0.0
    samples, server = spec.samples, sums[RECEIVE] + sums[ANSWER]
    ordered = _ordered({"keys": key_seconds, **seconds}, encode, server)
    return HeadProfile(
        spec=spec,
        backend=backend,
        threads=threads,
        repeats=repeats,
        machine=describe_machine(),
        server_ms_per_sample=server / samples * 1e3,
        answer_ms_per_sample=sums[ANSWER] / samples * 1e3,
        encrypt_ms_per_sample=sums[EPOCH] / samples * 1e3,
        first_encrypt_ms_per_sample=totals[0][EPOCH] / samples * 1e3,
        query_ms_per_sample=sums.get(QUERY, 0.0) / samples * 1e3,
        decrypt_us_per_sample=seconds["open"] / samples * 1e6,
        prepare_s=seconds.get("prepare", 0.0),
        reconstruct_ms=seconds.get("reconstruct", 0.0) * 1e3,
        stages=_stage_times(plan, ordered, limits),
        upload_bytes_per_sample=done.upload / samples,
        bytes_up_per_sample=(done.upload + done.query) / samples,
        bytes_down=done.answer,
        key_bytes=len(keys.public.encryption) + len(keys.public.relinearization),
        max_abs_error=error,
        error_over_range=error * plan.relative_error / plan.error_bound,
        error_bound=plan.error_bound,
        rounding_error=rounding_error(plan, material.model, material.samples),
        ring_degree=plan.params.ring_degree,
        limbs=plan.params.limbs,
        blocks=plan.blocks,
        log_qp=plan.params.log_qp,
        flooding_bits=spec.flooding_bits,
        peak_rss_mb=peak / 1e6,
        distance=_distance(plan, server, limits),
    )


def describe_machine() -> Machine:
    """Processor, cores and the instruction set of the kernels in use."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return Machine(
        processor=names[0] if names else platform.processor() or platform.machine(),
        cores=cores(),
        instruction_set=kernels.describe().instruction_set,
    )


def _clear(material: Material) -> NDArray[np.float64]:
    engine, plan = get_backend("clear"), material.plan
    keys = engine.generate_keys(plan.params, relinearization=plan.needs_relinearization)
    return dry_exchange(material, engine, keys, Stopwatch(), Stopwatch()).released


def _generate(engine: Backend, plan: ExchangePlan, repeats: int) -> tuple[StudentKeys, float]:
    watches = [Stopwatch() for _ in range(repeats)]
    for watch in watches:
        with watch.stage("keys"):
            keys = engine.generate_keys(plan.params, relinearization=plan.needs_relinearization)
    return keys, medians([watch.seconds for watch in watches])["keys"]


def _encode_seconds(material: Material, repeats: int) -> float:
    watches = [Stopwatch() for _ in range(repeats)]
    for watch in watches:
        encode_only(material, watch)
    return medians([watch.seconds for watch in watches])["encode"]


def _ordered(seconds: dict[str, float], encode: float, server: float) -> dict[str, float]:
    """Stages in the order of the flow; what no stage of the teacher counts becomes `other`."""
    if encode:
        seconds = {**seconds, "encode": encode, "encrypt_zeros": seconds["encrypt"] - encode}
        del seconds["encrypt"]
    student = {*BEFORE, *AFTER}
    teacher = {stage: s for stage, s in seconds.items() if stage not in student}
    teacher["other"] = server - sum(s for stage, s in teacher.items() if stage != "load_keys")
    before = {stage: seconds[stage] for stage in BEFORE if stage in seconds}
    after = {stage: seconds[stage] for stage in AFTER if stage in seconds}
    return {**before, **teacher, **after}


def _stage_times(
    plan: ExchangePlan, seconds: dict[str, float], limits: MachineLimits
) -> list[StageTime]:
    costs: dict[str, Cost] = {}
    for step in trace(plan):
        stage = LAYERS if LAYERS in seconds and step.stage in WITHIN_LAYERS else step.stage
        costs[stage] = costs.get(stage, Cost()) + cost(step)
    times = []
    for stage, taken in seconds.items():
        work = costs.get(stage)
        times.append(
            StageTime(
                stage=stage,
                side="student" if stage in BEFORE + AFTER else "teacher",
                ms=taken * 1e3,
                arithmetic_limit_ms=(
                    work.multiply_adds / limits.multiply_adds * 1e3 if work else None
                ),
                bandwidth_limit_ms=work.bytes / limits.bytes * 1e3 if work else None,
            )
        )
    return times


def _distance(plan: ExchangePlan, server: float, limits: MachineLimits) -> Distance:
    work = total(cost(step) for step in trace(plan))
    arithmetic, bandwidth = work.multiply_adds / limits.multiply_adds, work.bytes / limits.bytes
    per_sample = 1e3 / plan.spec.samples
    return Distance(
        multiply_adds_per_second=limits.multiply_adds,
        bytes_per_second=limits.bytes,
        multiply_adds=work.multiply_adds,
        bytes=work.bytes,
        arithmetic_limit_ms_per_sample=arithmetic * per_sample,
        bandwidth_limit_ms_per_sample=bandwidth * per_sample,
        over_arithmetic_limit=server / arithmetic,
        over_bandwidth_limit=server / bandwidth,
    )
