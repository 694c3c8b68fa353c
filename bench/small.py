"""From command to result, as hospitals meet it: small tables, cold processes.

    python bench/small.py                                         # print
    python bench/small.py --write docs/notebook/performance.md    # replace the table

Three hospitals of 40, 60 and 80 patients of the packaged heart data, three ways: `securefair run`
of their configuration, `collaborate` on their tables, and one patient's second opinion by a
`Student` and a `Teacher`. Every figure is a median of fresh processes on one thread. Seconds of the
clock say something on a quiet machine only; those of the processor nearly everywhere.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from page import PageOption, replace_tables, run_script

from securefair.data.heart import HEART_SPEC, heart_rows
from securefair.errors import DataError
from securefair.profiling.head import describe_machine

REPEATS = 5
SIZES = (40, 60, 80)

COLLABORATE = """
import json, time
began = time.perf_counter()
from securefair.library import collaborate
stages = {"start-up": time.perf_counter() - began}
began = time.perf_counter()
collaborate({f"h{n}": f"h{n}.csv" for n in range(3)}, label="disease", progress=False)
stages["collaboration"] = time.perf_counter() - began
print(json.dumps({"stages": stages, "bytes": 0}))
"""

OPINION = """
import json, time
stages, last = {}, time.perf_counter()
def over(name):
    global last
    now = time.perf_counter()
    stages[name], last = now - last, now
import numpy as np
import securefair as sf
from securefair.circuit.planner import plan_exchange
from securefair.model.transfer.polynomial import Polynomial
Student, Teacher, Samples = sf.Student, sf.Teacher, sf.Samples
over("start-up")
spec = sf.ExchangeSpec(features=545, classes=1, samples=2, hidden=0, release="logits")
plan_exchange(spec)
over("planning")
student = Student(spec)
over("keys")
rng = np.random.default_rng(0)
vendor = Teacher(Polynomial(np.zeros(1), rng.normal(size=(1, 545)) / 30), spec)
row = rng.uniform(-1, 1, (1, 545)).repeat(2, axis=0)
question = student.request(Samples(row, np.zeros(2, dtype=np.int64), 1))
over("question")
answer = vendor.answer(question)
over("answer")
student.open(answer)
over("opening")
print(json.dumps({"stages": stages, "bytes": len(question) + len(answer)}))
"""


@dataclass(frozen=True)
class Timed:
    """One fresh process.

    Attributes:
        wall, cpu: seconds, of the whole process and its children.
        stages: seconds of the clock that it told itself.
        sent: bytes of messages that it told; 0 where it told none.
    """

    wall: float
    cpu: float
    stages: dict[str, float]
    sent: int


def write_tables(folder: Path) -> None:
    """A table a hospital, the same patients always; class 1 is disease."""
    rows = [row.fields for row in heart_rows()]
    names = [column.name for column in HEART_SPEC.columns]
    start = 0
    for number, size in enumerate(SIZES):
        lines = [",".join([*names, "disease"])]
        for row in rows[start : start + size]:
            disease = "no" if row["num"] == "0" else "yes"
            lines.append(",".join([*(row[name] for name in names), disease]))
        (folder / f"h{number}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        start += size


def fresh(command: Sequence[str], folder: Path) -> Timed:
    """Run it once there."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise DataError("a process ended early", found=done.stderr.strip()[-500:])
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    last = done.stdout.strip().splitlines()[-1:] or ["{}"]
    told = json.loads(last[0]) if last[0].startswith('{"stages"') else {}
    return Timed(wall, cpu, told.get("stages", {}), told.get("bytes", 0))


def row(name: str, runs: Sequence[Timed]) -> str:
    """Medians."""
    parts = ", ".join(
        f"{stage} {median(run.stages[stage] for run in runs):.2f}" for stage in runs[0].stages
    )
    sent = f"{runs[0].sent / 1000:.0f} kB" if runs[0].sent else ""
    return (f"| {name} | {median(run.wall for run in runs):.2f} "
            f"| {median(run.cpu for run in runs):.2f} | {parts} | {sent} |")  # fmt: skip


def measured(repeats: int) -> str:
    """The table."""
    with tempfile.TemporaryDirectory(prefix="securefair-small-") as name:
        folder = Path(name)
        write_tables(folder)
        command = [sys.executable, "-m", "securefair"]
        tables = [part for n in range(len(SIZES)) for part in ("--data", f"h{n}.csv")]
        fresh([*command, "new", "small", *tables, "--label", "disease"], folder)
        run = [*command, "run", "small/config.toml", "--restart", "--quiet"]
        python = [sys.executable, "-c"]
        rows = [
            row(text, [fresh(what, folder) for _ in range(repeats)])
            for text, what in (
                ("`securefair --version`", [*command, "--version"]),
                ("`securefair run`, three hospitals of 40 to 80 patients", run),
                ("`collaborate` on the same three tables", [*python, COLLABORATE]),
                ("one patient's second opinion, both sides in one process", [*python, OPINION]),
            )
        ]
    machine = describe_machine()
    head = "| from command to result | s | processor, s | of it, s of the clock | messages |"
    return "\n".join([f"{machine.processor}, one thread, {repeats} fresh processes each.", "",
                      head, "|---|---|---|---|---|", *rows])  # fmt: skip


def main(write: PageOption = None, repeats: Annotated[int, typer.Option(min=1)] = REPEATS) -> None:
    """Measure, print, write."""
    table = measured(repeats)
    print(table)
    if write is not None:
        replace_tables(write, {"small": table})


if __name__ == "__main__":
    run_script(main)
