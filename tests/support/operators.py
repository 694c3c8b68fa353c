"""What operators type, and the table of a hospital."""

import numpy as np
from typer.testing import CliRunner

from securefair.cli import app


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
