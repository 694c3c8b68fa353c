"""Measure whole exchanges: medians of times, bytes, errors, and how far from the machine's limits.

By default as users meet it: student and teacher are processes of their own, every teacher that
counts is a fresh one (`fresh`). `profile_plan` measures in one process, after an exchange that does
not count: what is left when memory was touched and caches are full.
"""

from __future__ import annotations

import gc
import platform
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend, kernels
from securefair.ckks.keys import Backend, StudentKeys
from securefair.ckks.threads import cores, set_threads
from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.profiling.cost import Cost, cost, total
from securefair.profiling.dry_exchange import (
    AHEAD,
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
from securefair.profiling.fresh import fresh_exchanges
from securefair.profiling.head_record import Distance, Exchanges, HeadProfile, Machine, StageTime
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

UNCOUNTED = ("load_keys", AHEAD)
"""Stages of the teacher that are no part of `server_ms_per_sample`."""

AFTER = ("open", "reconstruct")
"""Stages of the student once the answer is there."""


def profile_head(
    spec: ExchangeSpec,
    *,
    backend: str = defaults.BACKEND,
    device: str = defaults.PROCESSOR,
    threads: int | None = None,
    repeats: int = 5,
    warm: bool = False,
) -> HeadProfile:
    """Measure exchanges of synthetic samples and weights.

    Args:
        spec: sizes, release, flooding and precision.
        backend: "rns", "seal" or "clear".
        device: where the teacher computes (`ckks.backends.get_backend`).
        threads: for all pools together (`threads.set_threads`); None for one a core.
        repeats: teachers, or exchanges, that count, at least 1.
        warm: both sides in one process, after an exchange that does not count. Otherwise each side
            has a process of its own and every teacher a fresh one, whose memory nobody touched.

    Raises:
        PlanError: the spec cannot be granted.
        ConfigError: more threads than cores, or an engine that cannot leave its process.
        BackendUnavailableError: there is no such backend here.
    """
    plan = plan_exchange(spec)
    engine = get_backend(backend, device)  # refuse before anything is measured
    if not warm and not engine.portable:
        raise ConfigError(
            "this engine's ciphertexts cannot leave its process",
            where="backend",
            found=backend,
            hint="Measure in one process: --warm",
        )
    threads = threads or cores()
    set_threads(threads)
    limits = measure_limits()
    if warm:
        return profile_plan(
            plan, limits, backend=backend, device=device, threads=threads, repeats=repeats
        )
    done = fresh_exchanges(plan, backend=backend, device=device, threads=threads, repeats=repeats)
    material = synthetic(plan)
    return _profile(material, limits, done, backend, device, threads, repeats, fresh=True)


def profile_plan(
    plan: ExchangePlan,
    limits: MachineLimits,
    *,
    backend: str,
    device: str = defaults.PROCESSOR,
    threads: int,
    repeats: int,
    clock: Clock = time.perf_counter,
) -> HeadProfile:
    """The same in this process for a plan of one's own, at limits that were measured before.

    `clock` may be time.process_time on one thread: then no child process works, and what else
    runs on the machine hardly counts.

    Raises:
        ConfigError, BackendUnavailableError: see `profile_head`.
    """
    engine = get_backend(backend, device)
    set_threads(threads)
    material = synthetic(plan)
    gc.collect()
    reset_peak_memory()
    keys, key_seconds = generate(engine, plan, repeats)
    stages, totals, released = [], [], []
    for _ in range(repeats + 1):
        stage, whole = Stopwatch(clock), Stopwatch(clock)
        done = dry_exchange(material, engine, keys, stage, whole, ahead=True)
        released.append(done.released)
        stages.append(stage.seconds)
        totals.append(whole.seconds)
    peak = peak_memory()
    sums = medians(totals[1:])
    exchanges = Exchanges(
        stages={"keys": key_seconds, **medians(stages[1:])},
        totals=sums,
        further=sums[ANSWER],
        first_encryption=totals[0][EPOCH],
        encode=encode_seconds(material, repeats) if engine.own_encoding else 0.0,
        upload=done.upload,
        query=done.query,
        answer=done.answer,
        keys=len(keys.public.encryption) + len(keys.public.evaluation),
        released=released,
        peak=peak,
        student_peak=peak,
    )
    return _profile(material, limits, exchanges, backend, device, threads, repeats, fresh=False)


def _profile(
    material: Material,
    limits: MachineLimits,
    done: Exchanges,
    backend: str,
    device: str,
    threads: int,
    repeats: int,
    *,
    fresh: bool,
) -> HeadProfile:
    plan, sums, seconds = material.plan, done.totals, done.stages
    spec, expected = plan.spec, _clear(material)
    error = max(float(np.abs(opened - expected).max()) for opened in done.released)
    samples, server = spec.samples, sums[RECEIVE] + sums[ANSWER]
    return HeadProfile(
        spec=spec,
        backend=backend,
        device=device,
        threads=threads,
        repeats=repeats,
        fresh=fresh,
        machine=describe_machine(),
        server_ms_per_sample=server / samples * 1e3,
        answer_ms_per_sample=done.further / samples * 1e3,
        ahead_ms_per_sample=seconds[AHEAD] / samples * 1e3,
        encrypt_ms_per_sample=sums[EPOCH] / samples * 1e3,
        first_encrypt_ms_per_sample=done.first_encryption / samples * 1e3,
        query_ms_per_sample=sums.get(QUERY, 0.0) / samples * 1e3,
        decrypt_us_per_sample=seconds["open"] / samples * 1e6,
        prepare_s=seconds.get("prepare", 0.0),
        reconstruct_ms=seconds.get("reconstruct", 0.0) * 1e3,
        stages=_stage_times(plan, _ordered(seconds, done.encode, server), limits),
        upload_bytes_per_sample=done.upload / samples,
        bytes_up_per_sample=(done.upload + done.query) / samples,
        bytes_down=done.answer,
        key_bytes=done.keys,
        max_abs_error=error,
        error_over_range=error * plan.relative_error / plan.error_bound,
        error_bound=plan.error_bound,
        rounding_error=rounding_error(plan, material.model, material.samples),
        ring_degree=plan.params.ring_degree,
        limbs=plan.params.limbs,
        blocks=plan.blocks,
        log_qp=plan.params.log_qp,
        flooding_bits=spec.flooding_bits,
        peak_rss_mb=done.peak / 1e6,
        student_peak_rss_mb=done.student_peak / 1e6,
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
    keys = engine.generate_keys(
        plan.params,
        relinearization=plan.relinearization_limbs,
        galois=plan.galois_limbs,
        element=plan.galois_element,
    )
    return dry_exchange(material, engine, keys, Stopwatch(), Stopwatch()).released


def generate(engine: Backend, plan: ExchangePlan, repeats: int) -> tuple[StudentKeys, float]:
    """Keys, and the median seconds of making some."""
    watches = [Stopwatch() for _ in range(repeats)]
    for watch in watches:
        with watch.stage("keys"):
            keys = engine.generate_keys(
                plan.params,
                relinearization=plan.relinearization_limbs,
                galois=plan.galois_limbs,
                element=plan.galois_element,
            )
    return keys, medians([watch.seconds for watch in watches])["keys"]


def encode_seconds(material: Material, repeats: int) -> float:
    """Median seconds of encoding the features."""
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
    teacher["other"] = server - sum(s for stage, s in teacher.items() if stage not in UNCOUNTED)
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
