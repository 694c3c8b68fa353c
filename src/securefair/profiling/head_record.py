"""What a profile of an exchange states."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit.spec import ExchangeSpec


@dataclass(frozen=True, eq=False)
class Exchanges:
    """What exchanges took and gave, before anything is derived from it.

    Attributes:
        stages, totals: median seconds of stages, and of parts of an exchange.
        further: seconds of a further answer to the same upload.
        first_encryption: seconds of the first in its process.
        encode: seconds of encoding alone; 0 where it cannot be told apart.
        upload, query, answer, keys: bytes.
        released: what was opened, of every answer.
        peak, student_peak: largest memory, bytes.
    """

    stages: dict[str, float]
    totals: dict[str, float]
    further: float
    first_encryption: float
    encode: float
    upload: int
    query: int
    answer: int
    keys: int
    released: list[NDArray[np.float64]]
    peak: int
    student_peak: int


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
        multiply_adds, bytes: work of an answer, from upload to released bytes (`cost`).
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
        device: where the teacher computed.
        fresh: every teacher is a fresh process: no memory of it was touched before.
        server_ms_per_sample: from uploaded bytes to the answer's bytes; of a fresh process the
            first answer.
        answer_ms_per_sample: every further answer to the same upload, which is received once per
            data epoch.
        ahead_ms_per_sample: encryptions of zero for an answer, made while the teacher waits and
            in neither of these; what a teacher that never waits adds to both.
        encrypt_ms_per_sample: packing and encrypting the features.
        first_encrypt_ms_per_sample: the first in its process, which starts child processes.
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
        peak_rss_mb: largest memory of the teacher's process; with `--warm` of the one process of
            both sides and its children.
        student_peak_rss_mb: largest memory of the student's process and its children; with
            `--warm` the same as peak_rss_mb.
    """

    spec: ExchangeSpec = msgspec.field(name="wish")  # the key that scripts read
    backend: str
    device: str
    threads: int
    repeats: int
    fresh: bool
    machine: Machine
    server_ms_per_sample: float
    answer_ms_per_sample: float
    ahead_ms_per_sample: float
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
    student_peak_rss_mb: float
    distance: Distance
