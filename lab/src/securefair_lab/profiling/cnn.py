"""Measure a whole network on encrypted images: a batch from pixels to opened logits.

One run, since a batch takes minutes and its parts are long enough to be steady. A large upload lies
in a temporary file, as it would at a teacher that serves large batches, others in memory; student
and teacher share the process and its memory.
"""

from __future__ import annotations

import gc
import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit import BandedMap, Chunk, ExchangePlan, Inputs, planned_peak
from securefair.circuit.answer import answer
from securefair.ckks import CipherTensor, Evaluator, Released, StudentKeys, cores, set_threads
from securefair.ckks.backends import get_backend
from securefair.config import defaults
from securefair.exchange import CompiledNetwork, bound_logits, compile_network, steps
from securefair.profiling import (
    Machine,
    Stopwatch,
    describe_machine,
    peak_memory,
    reset_peak_memory,
)
from securefair_lab.profiling.cnn_task import CnnTask
from securefair_lab.scores import accuracy

KEYS, ENCRYPT, COMPILE, ANSWER, OPEN = "keys", "encrypt", "compile", "answer", "open"

IN_MEMORY = 1 << 29
"""Bytes of an upload that are kept in memory; more of them lie in a file."""

Read = Callable[[int, int], bytes | memoryview]
Logits = NDArray[np.float64]


class CnnProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of encrypted images.

    Attributes:
        network: its name.
        backend, threads, machine: what it was measured on.
        warm: the batch had been answered once before.
        batch: images that wait together; ciphertexts have `slots` places and cost the same
            whether they are filled or not.
        ms_per_image: the teacher's time for the batch, from uploaded bytes to the answer's
            bytes, over the batch.
        processor_ms_per_image: the same as processor time, of all threads together; other work
            on the machine hardly changes it.
        encrypt_ms_per_image, open_us_per_image: the student's times over the batch.
        latency_seconds: from the first pixel to the last logit, the transfer left out; what
            every single image waits.
        stages: seconds of each part; keys are made once.
        bytes_up_per_image, bytes_down_per_image: upload and answer over the batch.
        key_bytes: once per key epoch.
        peak_rss_mb: largest memory of the process and its children, both sides together.
        planned_peak_mb: ciphertexts that the evaluation keeps at a time, as planned; it works
            with some hundred MB more.
        test_images: of the batch, which the next three are taken over.
        accuracy_clear, accuracy_encrypted: of the network in float64 and as opened.
        agreement: share of equal predictions.
        max_abs_error: largest difference of an opened logit from the rounded network in the
            clear, over the whole batch; error_bound: what the plan promises for it where all
            values keep their promised bounds.
        beyond_bounds: share of images with a value beyond its promised bound.
        multiply_adds, squares: of one image.
    """

    network: str
    backend: str
    threads: int
    warm: bool
    machine: Machine
    batch: int
    slots: int
    ms_per_image: float
    processor_ms_per_image: float
    encrypt_ms_per_image: float
    open_us_per_image: float
    latency_seconds: float
    stages: dict[str, float]
    bytes_up_per_image: float
    bytes_down_per_image: float
    key_bytes: int
    peak_rss_mb: float
    planned_peak_mb: float
    test_images: int
    accuracy_clear: float
    accuracy_encrypted: float
    agreement: float
    max_abs_error: float
    error_bound: float
    beyond_bounds: float
    multiply_adds: int
    squares: int
    ring_degree: int
    limbs: int
    log_qp: float
    flooding_bits: int


def profile_cnn(
    task: CnnTask,
    *,
    backend: str = defaults.BACKEND,
    threads: int | None = None,
    warm: bool = False,
) -> CnnProfile:
    """Encrypt a batch, evaluate the network on it, open the logits.

    Args:
        task: network, images and plan (`cnn_task`).
        backend: "rns", "seal" or "clear".
        threads: for all pools together (`threads.set_threads`); None for one a core.
        warm: answer once before the answer that counts, whose memory is then touched. Otherwise
            what this process did before decides; the command line starts a fresh one.

    Raises:
        ConfigError: more threads than cores.
        BackendUnavailableError: there is no such backend here.
        OSError: the upload does not fit the folder of temporary files.
    """
    plan, engine = task.plan, get_backend(backend)
    threads = threads or cores()
    set_threads(threads)
    gc.collect()
    reset_peak_memory()
    watch, processor = Stopwatch(), Stopwatch(time.process_time)
    with watch.stage(KEYS):
        keys = engine.generate_keys(
            plan.params,
            relinearization=plan.relinearization_limbs,
            galois=plan.galois_limbs,
            element=plan.galois_element,
        )
    with _encrypted(task, keys, watch) as (size, read):
        with watch.stage(COMPILE), processor.stage(COMPILE):
            evaluator = engine.evaluator(plan.params, keys.public)
            compiled = compile_network(task.network, plan.spec.network)
        if warm:
            _answered(evaluator, plan, size, read, compiled.maps)
        with watch.stage(ANSWER), processor.stage(ANSWER):
            released = _answered(evaluator, plan, size, read, compiled.maps)
    with watch.stage(OPEN):
        found = _opened(plan, keys, released)
    peak = peak_memory()
    del evaluator
    planned = planned_peak(
        CipherTensor(plan.features, None),
        steps.LOADED_AT_ONCE,
        plan.specs,
        plan.schedule.stages,
        [each for each in compiled.maps if isinstance(each, BandedMap)],
    )
    seconds, count = watch.seconds, len(task.images)
    return CnnProfile(
        network=task.name,
        backend=backend,
        threads=threads,
        warm=warm,
        machine=describe_machine(),
        batch=count,
        slots=plan.params.slots,
        ms_per_image=(seconds[COMPILE] + seconds[ANSWER]) / count * 1e3,
        processor_ms_per_image=sum(processor.seconds.values()) / count * 1e3,
        encrypt_ms_per_image=seconds[ENCRYPT] / count * 1e3,
        open_us_per_image=seconds[OPEN] / count * 1e6,
        latency_seconds=sum(seconds[stage] for stage in (ENCRYPT, COMPILE, ANSWER, OPEN)),
        stages=seconds,
        bytes_up_per_image=size / count,
        bytes_down_per_image=len(released.data) / count,
        key_bytes=len(keys.public.encryption) + len(keys.public.evaluation),
        peak_rss_mb=peak / 1e6,
        planned_peak_mb=planned / 1e6,
        **_quality(task, compiled, found),
        multiply_adds=task.network.multiply_adds,
        squares=task.network.squares,
        ring_degree=plan.params.ring_degree,
        limbs=plan.params.limbs,
        log_qp=plan.params.log_qp,
        flooding_bits=plan.spec.flooding_bits,
    )


@contextmanager
def _encrypted(task: CnnTask, keys: StudentKeys, watch: Stopwatch) -> Iterator[tuple[int, Read]]:
    """The upload's size, and what reads it from memory, or from a file that is gone afterwards."""
    meta = task.plan.features
    small = task.plan.feature_bytes <= IN_MEMORY
    with io.BytesIO() if small else tempfile.TemporaryFile(prefix="securefair-upload-") as file:
        with watch.stage(ENCRYPT):
            step = steps.encrypted_at_once(meta)
            for start in range(0, meta.count, step):
                stop = min(start + step, meta.count)
                rows = task.features(start, stop)
                for part in steps.encrypted_parts(keys.encryptor, meta, rows):
                    file.write(part)
            file.flush()
        size = file.seek(0, os.SEEK_END)
        if isinstance(file, io.BytesIO):
            whole = memoryview(file.getvalue())
            yield size, lambda start, stop: whole[start:stop]
        else:
            number = file.fileno()
            yield size, lambda start, stop: os.pread(number, stop - start, start)


def _answered(
    evaluator: Evaluator[Any], plan: ExchangePlan, size: int, read: Read, maps: Any
) -> Released:
    chunks: list[Chunk[Any]] = steps.feature_chunks(evaluator, plan.features, size, read)
    nothing = np.zeros(0, dtype=np.int64)
    inputs = Inputs([chunks], [], np.ones(1, dtype=np.int64), nothing)
    (released,) = answer(evaluator, plan.spec, plan.schedule, plan.specs, maps, inputs)
    return released


def _opened(plan: ExchangePlan, keys: StudentKeys, released: Released) -> Logits:
    basis = steps.PublicBasis(np.zeros(0, dtype=np.int64), np.ones(1, dtype=np.int64))
    return steps.open_answer(keys.decryptor, plan, basis, released.data)


def _quality(task: CnnTask, compiled: CompiledNetwork, found: Logits) -> dict[str, Any]:
    """How good the opened logits are, against labels and against both clear networks."""
    plan, tested = task.plan, task.tested
    rounded, beyond = bound_logits(compiled.quantized.network, plan.spec.network, task.images)
    clear = task.network.logits(task.images[:tested].astype(np.float64)).argmax(axis=1)
    opened = found[:tested].argmax(axis=1)
    return {
        "test_images": tested,
        "accuracy_clear": accuracy(clear, task.labels),
        "accuracy_encrypted": accuracy(opened, task.labels),
        "agreement": float(np.mean(clear == opened)),
        "max_abs_error": float(np.abs(found - rounded).max()),
        "error_bound": plan.error_bound,
        "beyond_bounds": float(beyond.mean()),
    }
