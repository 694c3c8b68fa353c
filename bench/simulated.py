"""Processor time of simulated runs, of this version and of others on the same machine.

    python bench/simulated.py [PYTHON ...]

Each PYTHON is the interpreter of an environment with some version of securefair; none is this one.
Every run is a process of its own: the demonstration's four hospitals, encrypted, as `securefair
run` carries it out, with everything that it keeps on disk. Versions take turns, so that what else
the machine does meets all alike; the least time of each counts.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 3
ALGORITHMS = ("transfer", "cycle", "cycle-gossip")
CHANGES = {
    "encryption.backend": "seal",
    "run.seeds": [0],
    "run.smaller": None,
    "report.html": False,
}


class Stopwatch:
    """Hears of a run, and notes the processor seconds of every algorithm."""

    def __init__(self):
        self.seconds, self._now = {}, ("", 0.0)

    def start(self, algorithm, *_, **__):
        self._now = (algorithm, time.process_time())
        return self

    def advance(self, record):
        pass

    def finish(self):
        name, began = self._now
        self.seconds[name] = time.process_time() - began


def run_here(algorithm, folder):
    """One run in this process; seconds by algorithm, controls included."""
    from securefair.collaboration.resolved import ResolvedRun
    from securefair.config import demo_config, override
    from securefair.run.execute import run_resolved

    changes = CHANGES | {"run.algorithms": ["standalone", algorithm]}
    config, stopwatch = override(demo_config(), changes, source="bench"), Stopwatch()
    run_resolved(ResolvedRun.of(config), stopwatch, out=Path(folder))
    return stopwatch.seconds


def measured(python, algorithm):
    """The same in a process of another interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, __file__, "--here", algorithm, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])[algorithm]


def main(pythons):
    """Print a row for every algorithm, a column for every interpreter."""
    for algorithm in ALGORITHMS:
        runs = [[measured(python, algorithm) for python in pythons] for _ in range(REPEATS)]
        least = [min(column) for column in zip(*runs, strict=True)]
        print(algorithm, *(f"{seconds:.2f} s" for seconds in least), sep="\t", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(run_here(*sys.argv[2:])))
    else:
        main(sys.argv[1:] or [sys.executable])
