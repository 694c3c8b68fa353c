"""A transfer of very many small hospitals from their own tables, in the clear with all controls.

    python bench/many.py --hospitals 100

Divides census records (adult.csv.gz of SECUREFAIR_DATA) at random into one table a hospital, then
does what a user does: `securefair new`, `securefair run --backend clear`. Prints seconds of the
processor and the log-losses.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer
from typer.testing import CliRunner

from securefair.cli import app
from securefair.data.rows import read_rows
from securefair.report import write_text
from securefair.run.folder import read_run
from securefair_lab.data.folder import data_folder


def main(
    hospitals: Annotated[int, typer.Option(min=4, help="How many.")] = 100,
    rows: Annotated[int, typer.Option(min=6, help="Of each; a third is held out.")] = 45,
) -> None:
    """Make the tables, run, and print."""
    table = read_rows(data_folder() / "adult.csv.gz")
    order = np.random.default_rng(0).permutation(len(table))[: hospitals * rows]
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tables = []
        for number, part in enumerate(np.array_split(order, hospitals), start=1):
            lines = [",".join(name for name in table[0].fields if name != "split")]
            for at in part:
                fields = table[at].fields.items()
                lines.append(",".join(value for name, value in fields if name != "split"))
            tables += ["--data", str(folder / f"h{number}.csv")]
            write_text(folder / f"h{number}.csv", "\n".join(lines) + "\n")
        many, out = folder / "many", folder / "out"
        called("new", str(many), *tables, "--label", "income")
        started = time.process_time()
        called("run", str(many / "config.toml"), "--backend", "clear", "--out", str(out), "--quiet")
        seconds = time.process_time() - started
        result = read_run(out).result
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{hospitals} hospitals of {rows} rows: {seconds:.0f} s of the processor, {memory:.1f} GB"
    )
    if result.encryption is not None:
        print(f"answers: {result.encryption.answers}")
    for name, one in result.algorithms.items():
        score = one.metrics["log_loss"]
        print(f"{name}: log-loss {score.mean:.3f} +- {score.se:.3f}")


def called(*arguments: str) -> None:
    """One command of securefair.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    done = CliRunner().invoke(app, arguments)
    if done.exit_code != 0:
        raise RuntimeError(done.output)


if __name__ == "__main__":
    typer.run(main)
