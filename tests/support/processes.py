"""Programs in processes of their own, forked from one that has loaded what all of them import.

Such a process has arguments, folder, variables, streams, signals and an exit code of its own, as
from a shell, and remembers nothing of this one. It only begins where an interpreter would have
spent seconds on imports. So a variable that an import reads (OMP_NUM_THREADS, say) has the value
that it had here, whatever `env` says: what tests one needs an interpreter of its own.

None of them outlives the test run, nor the last reference to it.
"""

import os
import runpy
import signal
import subprocess
import sys
import threading
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path

from securefair.sites.rehearsal.processes import (
    LOADED_ONCE,
)  # sets what forks load: ours after
from support.fits import share_fits

SCORING = ("sklearn.metrics", "sklearn.model_selection")

PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [*LOADED_ONCE, "securefair.library", "securefair.cli", "securefair.run.execute", *SCORING]
)


LONGEST = 120
"""Seconds that the end of a block waits for its process."""


class Process:
    """What `subprocess.Popen` would give of a Python module or script; streams are texts.

    Args:
        program: a module's name, run as `python -m` does, or the path of a script.
        arguments: that follow it.
        cwd: folder to start in.
        env: all variables; PYTHONPATH counts as for an interpreter, but others were read by what
            is imported already.
    """

    def __init__(self, program, arguments=(), *, cwd, env=None):
        self.program = program
        (self.stdout, out), (self.stderr, err) = (_pipe() for _ in range(2))
        words = [str(argument) for argument in arguments]
        variables = dict(os.environ if env is None else env)
        self._process = PROCESSES.Process(
            target=_run, args=(program, words, str(cwd), variables, out, err)
        )
        self._process.start()
        # An interpreter joins its children before it ends, and calls these before it joins.
        Finalize(self, _end, args=(self._process,), exitpriority=1)
        for end in (out, err):
            end.close()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        """Wait for it, but not where the block has failed."""
        if failure is None:
            self._process.join(LONGEST)
        late = self.returncode is None
        _end(self._process)
        if late and failure is None:
            raise subprocess.TimeoutExpired(self.program, LONGEST)

    @property
    def pid(self):
        return self._process.pid

    @property
    def returncode(self):
        """None as long as it runs; minus the signal that ended it."""
        return self._process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self._process.kill()

    def communicate(self, timeout=None):
        """What is left in both streams, once it has ended."""
        found = ["", ""]

        def drain(at, stream):
            with stream:
                found[at] = stream.read()

        readers = [
            threading.Thread(target=drain, args=(at, stream), daemon=True)
            for at, stream in enumerate((self.stdout, self.stderr))
        ]
        for reader in readers:
            reader.start()
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.program, timeout)
        for reader in readers:
            reader.join()
        return tuple(found)


def run(program, arguments=(), *, cwd, env=None, timeout=600):
    """As `subprocess.run` with both streams kept."""
    process = Process(program, arguments, cwd=cwd, env=env)
    try:
        out, err = process.communicate(timeout)
    finally:
        process.kill()
    return subprocess.CompletedProcess(program, process.returncode, out, err)


def _end(process):
    if process.is_alive():
        process.kill()
        process.join(LONGEST)


def _pipe():
    ours, theirs = PROCESSES.Pipe(duplex=False)
    with ours:
        return open(os.dup(ours.fileno()), encoding="utf-8"), theirs


def _run(program, arguments, folder, variables, out, err):
    """In the new process."""
    # A shell may have started this suite with interrupts ignored, which children inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    sys.path[:0] = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
    for number, end in ((1, out), (2, err)):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdout, sys.stderr = (
        os.fdopen(number, "w", buffering=1, encoding="utf-8", closefd=False) for number in (1, 2)
    )
    share_fits()
    sys.argv = [program, *arguments]
    if program.endswith(".py"):
        sys.path.insert(0, str(Path(program).parent))
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
