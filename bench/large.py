"""Many samples in little memory: a teacher answers block after block, and its memory stays.

    python bench/large.py                                   # 100,000 samples of 1,000 features
    python bench/large.py --write docs/performance.md       # and replace the table

Student and teacher are processes of their own. The student asks for one block of 4,096 samples at a
time under one key, so neither holds more than a block. Every logit is compared with cleartext, of
the head with its weights as the plan rounds them.
"""

from __future__ import annotations

import math
import resource
import struct
import subprocess
import sys
import time
from typing import Annotated, BinaryIO, cast

import numpy as np
import typer
from page import PageOption, replace_tables, run_script

import securefair as sf
from securefair.ckks.threads import cores, set_threads
from securefair.errors import DataError
from securefair.exchange.steps import compile_model

SLOTS, CLASSES, HIDDEN = 4096, 10, 64
LENGTH = struct.Struct("<Q")
SHOWN = (1, 2, 4, 8, 16)
"""Blocks after which the table has a row, and after the last."""

MODEL_SEED = 0


def main(
    samples: Annotated[int, typer.Option(help="Of the student.")] = 100_000,
    features: Annotated[int, typer.Option(help="Of a sample.")] = 1000,
    write: PageOption = None,
    student: Annotated[bool, typer.Option("--student", hidden=True)] = False,
) -> None:
    """Measure, print, write."""
    set_threads(cores())
    spec = sf.ExchangeSpec(
        features=features, hidden=HIDDEN, classes=CLASSES, samples=SLOTS, release="logits"
    )
    blocks = math.ceil(samples / spec.samples)
    if student:
        ask(spec, blocks, sys.stdin.buffer, sys.stdout.buffer)
        return
    command = [sys.executable, __file__, "--student", f"--samples={samples}",
               f"--features={features}"]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        table = answer(spec, blocks, cast(BinaryIO, child.stdout), cast(BinaryIO, child.stdin))
    if child.returncode:
        raise typer.Exit(child.returncode)
    print(table)
    if write is not None:
        replace_tables(write, {"large": table})


def ask(spec: sf.ExchangeSpec, blocks: int, received: BinaryIO, sent: BinaryIO) -> None:
    """Block after block: ask, open, compare with cleartext."""
    student = sf.Student(spec, max_openings=blocks)
    model = sf.build_head("quadratic", spec.features, HIDDEN, CLASSES, seed=MODEL_SEED)
    rounded = compile_model(student.plan, model)
    for block in range(blocks):
        rng = np.random.default_rng(block)
        values = rng.uniform(-1, 1, (spec.samples, spec.features))
        values *= spec.feature_norm / np.linalg.norm(values, axis=1, keepdims=True)
        values = values.clip(-1, 1)
        question = sf.Samples(values, rng.integers(0, CLASSES, spec.samples), classes=CLASSES)
        send(sent, student.request(question))
        found = student.open(receive(received)).logits
        if found is None or np.abs(found - rounded.logits(values)).max() > student.plan.error_bound:
            raise DataError("an answer is beyond its error bound", where=f"block {block}")


def answer(spec: sf.ExchangeSpec, blocks: int, received: BinaryIO, sent: BinaryIO) -> str:
    """Answer all blocks; the table."""
    model = sf.build_head("quadratic", spec.features, HIDDEN, CLASSES, seed=MODEL_SEED)
    teacher = sf.Teacher(model, spec, max_numbers=math.inf, total_numbers=math.inf)
    rows = [
        "| samples | upload, GB | teacher, processor s | teacher, peak MB | elapsed, s |",
        "|---|---|---|---|---|",
    ]
    started, spent, size = time.perf_counter(), 0.0, 0
    for block in range(1, blocks + 1):
        request = receive(received)
        before = time.process_time()
        reply = teacher.answer(request)
        spent += time.process_time() - before
        send(sent, reply)
        size += len(request)
        if block in SHOWN or block == blocks:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            elapsed = time.perf_counter() - started
            rows.append(
                f"| {block * spec.samples:,} | {size / 1e9:.2f} | {spent:.2f} | {peak:.0f} "
                f"| {elapsed:.0f} |"
            )
    return "\n".join(rows)


def send(to: BinaryIO, data: bytes) -> None:
    to.write(LENGTH.pack(len(data)))
    to.write(data)
    to.flush()


def receive(source: BinaryIO) -> bytes:
    """One message.

    Raises:
        DataError: the other process ended.
    """
    head = source.read(LENGTH.size)
    data = source.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""
    if not data:
        raise DataError("the other process ended")
    return data


if __name__ == "__main__":
    run_script(main)
