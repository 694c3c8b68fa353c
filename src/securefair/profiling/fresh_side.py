"""One side of an exchange in a process of its own: see `fresh`."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

import numpy as np

from securefair.circuit.planner import plan_exchange
from securefair.ckks.backends import get_backend
from securefair.ckks.keys import PublicKeys
from securefair.ckks.threads import set_threads
from securefair.profiling.dry_exchange import (
    ANSWER,
    DryTeacher,
    Sent,
    ask,
    open_dry,
    synthetic,
    synthetic_model,
)
from securefair.profiling.fresh import (
    FURTHER,
    AnsweredUpload,
    AskedUpload,
    OpenedAnswers,
    Question,
    Start,
    receive,
    receive_bytes,
    send,
    send_bytes,
)
from securefair.profiling.head import encode_seconds, generate
from securefair.profiling.measure import Stopwatch, peak_memory


def serve(source: BinaryIO, to: BinaryIO) -> None:
    """Play one side until the other ends."""
    start = receive(source, Start)
    set_threads(start.threads)
    if start.side == "student":
        _student(start, source, to)
    else:
        _teacher(start, source, to)


def _student(start: Start, source: BinaryIO, to: BinaryIO) -> None:
    plan = plan_exchange(start.spec)
    material = synthetic(plan)
    keys, seconds = generate(get_backend(start.backend), plan, start.repeats)
    stages, totals = [], []
    for _ in range(start.repeats + 1):
        stage, total = Stopwatch(), Stopwatch()
        sent, reconstructor = ask(material, keys, stage, total)
        stages.append({"keys": seconds, **stage.seconds})
        totals.append(total.seconds)
    own = get_backend(start.backend).own_encoding
    encode = encode_seconds(material, start.repeats) if own else 0.0
    public = keys.public
    send(to, AskedUpload(public.encryption, public.evaluation, stages, totals, encode))
    send_bytes(to, sent.features)
    send_bytes(to, sent.factors)
    del sent
    while True:
        try:
            answer = receive_bytes(source)
        except EOFError:
            return
        stage = Stopwatch()
        released = open_dry(material, keys, answer, reconstructor, stage)
        data = np.ascontiguousarray(released, dtype=np.float64).tobytes()
        send(to, OpenedAnswers(data, list(np.shape(released)), stage.seconds, peak_memory()))


def _teacher(start: Start, source: BinaryIO, to: BinaryIO) -> None:
    plan = plan_exchange(start.spec)
    model = synthetic_model(plan)
    question = receive(source, Question)
    sent = Sent(
        os.pread(question.descriptor, question.features, 0),
        os.pread(question.descriptor, question.factors, question.features),
    )
    public = PublicKeys.read(question.encryption, question.evaluation)
    stages, totals = Stopwatch(), Stopwatch()
    engine = get_backend(start.backend, start.device)
    teacher = DryTeacher(plan, model, engine, public, stages, totals)
    teacher.prepare()
    teacher.receive(sent)
    answers = [teacher.answer(sent)]
    first = dict(stages.seconds), dict(totals.seconds)
    further = []
    for _ in range(FURTHER):
        teacher.prepare()
        before = totals.seconds[ANSWER]
        answers[1:] = [teacher.answer(sent)]
        further.append(totals.seconds[ANSWER] - before)
    send(to, AnsweredUpload(answers, *first, further, peak_memory()))


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
