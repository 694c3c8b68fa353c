"""What operators type, and the table of a hospital."""

import os
import subprocess
import sys

import numpy as np
from typer.testing import CliRunner

from securefair.cli import app

SETTINGS = """
[transfer]
q = 16
[table]
label = "num"
classes = [["0"], ["1"]]
[[table.columns]]
kind = "numeric"
name = "age"
low = 30.0
high = 80.0
[[table.columns]]
kind = "binary"
name = "sex"
[[table.columns]]
kind = "numeric"
name = "pressure"
low = 90.0
high = 200.0
"""


def securefair(*arguments, fails=False, types=None):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=types)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert (done.exit_code != 0) == fails, done.output
    return done.output


def write_table(path, seed):
    """A hospital's table; pressures are its canaries, no two of them are alike."""
    draw = np.random.default_rng(seed)
    rows = ["age,sex,pressure,num"]
    for at in range(60):
        sick = at % 2
        age, pressure = draw.normal(50 + 8 * sick, 6), draw.normal(120 + 20 * sick, 15)
        rows.append(f"{age:.0f},{draw.integers(2)},{pressure:.5f},{sick}")
    path.write_text("\n".join(rows), encoding="utf-8")


def init_arguments(place, name, folder, identity=None):
    """Of `site init`, over a folder that all sites share."""
    return [
        *("site", "init", folder),
        *("--project", place / "heart.toml"),
        *("--identity", place / f"{identity or name}.keys"),
        *("--data", place / f"{name}.csv"),
        *("--shared-folder", place / "shared"),
        *("--passphrase-file", place / "passphrase"),
    ]


def start(place, name):
    """A site in a process of its own."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "securefair.cli", "site", "start", str(place / name)),
            *("--passphrase-file", str(place / "passphrase")),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
