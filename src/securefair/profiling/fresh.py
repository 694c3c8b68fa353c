"""Exchanges between fresh processes: one student, and a new teacher for every repeat.

Messages go through pipes, uploads to teachers through a file, whose time is not counted: both
sides start from bytes in their own memory. A teacher answers the same upload several times; its
first answer finds memory that nobody touched.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, TypeVar, cast

import msgspec
import numpy as np

from securefair.circuit.planner import ExchangePlan
from securefair.circuit.spec import ExchangeSpec
from securefair.config.defaults import PROCESSOR
from securefair.errors import BackendUnavailableError
from securefair.profiling.dry_exchange import ANSWER
from securefair.profiling.head_record import Exchanges
from securefair.profiling.measure import medians

FURTHER = 4
"""Answers of a teacher after its first."""

SIZE = 8

SIDE = "securefair.profiling.fresh_side"

T = TypeVar("T")


class Start(msgspec.Struct, frozen=True):
    """What a process is to do first."""

    side: str
    spec: ExchangeSpec
    backend: str
    device: str
    threads: int
    repeats: int


class AskedUpload(msgspec.Struct, frozen=True):
    """What comes before a student's features and factors, and how long they took.

    Attributes:
        stages, totals: seconds of every encryption, the first one included.
        encode: seconds of encoding alone.
    """

    encryption: bytes
    evaluation: bytes
    stages: list[dict[str, float]]
    totals: list[dict[str, float]]
    encode: float


class Question(msgspec.Struct, frozen=True):
    """What a teacher gets: keys, and where features and factors lie, one after the other.

    Attributes:
        encryption, evaluation: keys.
        descriptor: descriptor of an open file.
        features, factors: bytes.
    """

    encryption: bytes
    evaluation: bytes
    descriptor: int
    features: int
    factors: int


class AnsweredUpload(msgspec.Struct, frozen=True):
    """A teacher's answers.

    Attributes:
        answers: the first and the last.
        stages, totals: seconds up to the first answer.
        further: seconds of each further answer.
        peak: bytes.
    """

    answers: list[bytes]
    stages: dict[str, float]
    totals: dict[str, float]
    further: list[float]
    peak: int


class OpenedAnswers(msgspec.Struct, frozen=True):
    """What the student read: float64 bytes of the released numbers, and their shape."""

    released: bytes
    shape: list[int]
    stages: dict[str, float]
    peak: int


def fresh_exchanges(
    plan: ExchangePlan,
    *,
    backend: str,
    device: str = PROCESSOR,
    threads: int,
    repeats: int,
) -> Exchanges:
    """One student's upload, answered by so many teachers.

    Raises:
        BackendUnavailableError: a process ended early; its own message is on the standard error.
    """
    start = Start("student", plan.spec, backend, device, threads, repeats)
    teachers, opened = [], []
    with _process(start) as student:
        asked = receive(student[0], AskedUpload)
        features, factors = receive_bytes(student[0]), receive_bytes(student[0])
        for _ in range(repeats):
            teachers.append(_taught(start, asked, features, factors))
            for data in teachers[-1].answers:
                send_bytes(student[1], data)
                opened.append(receive(student[0], OpenedAnswers))
    later = asked.stages[1:], asked.totals[1:]
    stays = plan.spec.student_basis
    answers = [t.totals for t in teachers]
    return Exchanges(
        stages={
            **medians(later[0]),
            **medians([t.stages for t in teachers]),
            **medians([o.stages for o in opened]),
        },
        totals={**medians(later[1]), **medians(answers)},
        further=medians([{ANSWER: s} for t in teachers for s in t.further])[ANSWER],
        first_encryption=asked.totals[0]["epoch"],
        encode=asked.encode,
        upload=len(features) + (len(factors) if stays else 0),
        query=0 if stays else len(factors),
        answer=len(teachers[0].answers[0]),
        keys=len(asked.encryption) + len(asked.evaluation),
        released=[np.frombuffer(o.released).reshape(o.shape) for o in opened],
        peak=max(t.peak for t in teachers),
        student_peak=max(o.peak for o in opened),
    )


def _taught(start: Start, asked: AskedUpload, features: bytes, factors: bytes) -> AnsweredUpload:
    """What a fresh teacher answers."""
    with tempfile.TemporaryFile(prefix="securefair-upload-") as file:
        file.write(features)
        file.write(factors)
        file.flush()
        question = Question(
            asked.encryption, asked.evaluation, file.fileno(), len(features), len(factors)
        )
        with _process(msgspec.structs.replace(start, side="teacher"), file.fileno()) as teacher:
            send(teacher[1], question)
            return receive(teacher[0], AnsweredUpload)


def send(to: BinaryIO, message: object) -> None:
    """One message."""
    send_bytes(to, msgspec.msgpack.encode(message))


def send_bytes(to: BinaryIO, data: bytes) -> None:
    """Bytes as they are, with their length before them."""
    to.write(len(data).to_bytes(SIZE, "little"))
    to.write(data)
    to.flush()


def receive(source: BinaryIO, kind: type[T]) -> T:
    """The next message.

    Raises:
        EOFError: there is none.
    """
    return msgspec.msgpack.decode(receive_bytes(source), type=kind)


def receive_bytes(source: BinaryIO) -> bytes:
    """The bytes that `send_bytes` sent.

    Raises:
        EOFError: there are none.
    """
    size = int.from_bytes(_exactly(source, SIZE), "little")
    return _exactly(source, size)


def _exactly(source: BinaryIO, size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError("the other side ended")
    return data


@contextmanager
def _process(start: Start, *descriptors: int) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """What a fresh process writes, and what it reads; it ends with the block."""
    paths = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", SIDE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=descriptors,
        env={**os.environ, "PYTHONPATH": paths},
    )
    pipes = cast(BinaryIO, child.stdout), cast(BinaryIO, child.stdin)
    try:
        with pipes[0], pipes[1]:
            send(pipes[1], start)
            yield pipes
    except (EOFError, BrokenPipeError) as error:
        raise BackendUnavailableError(
            "a process of the profile ended early", where=start.side, found=child.wait()
        ) from error
    finally:
        child.kill()
        child.wait()
