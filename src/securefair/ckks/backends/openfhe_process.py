"""The parent's end of the openfhe child process: find an interpreter, start, ask, stop.

Whatever goes wrong with the process (it aborts, hangs, or answers with something that is no
frame) becomes an `EncryptionError`; it is stopped, and the next new keys start another one. What
the lost process held is gone: keys and ciphertexts carry the generation of their process.
"""

from __future__ import annotations

import atexit
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from securefair.ckks.backends.openfhe_child.frames import Op, Parts, Status, pack, read_frame
from securefair.errors import BackendUnavailableError, EncryptionError

VARIABLE = "SECUREFAIR_OPENFHE_PYTHON"
VENV = ".venv-openfhe"
PATH_NAMES = ("python3.10", "python3.12")

CALL_SECONDS = 300.0
"""Far beyond any single request; only a process that hangs takes so long."""
PROBE_SECONDS = 60.0
STOP_SECONDS = 5.0
CHUNK = 1 << 20

RUN = (
    "import runpy, sys; sys.path.append(sys.argv[1]); "
    "runpy.run_module('openfhe_child', run_name='__main__')"
)
"""Appended, not prepended: next to the child lies a module named openfhe, which is not OpenFHE."""


class _BrokenError(Exception):
    """The process no longer follows the protocol."""


class _Running:
    """One process and its pipes."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        input_, self._input = os.pipe()
        self._output, output = os.pipe()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=input_,
                stdout=output,
                stderr=self._errors,
                env={"OMP_NUM_THREADS": "1", **os.environ},
            )
        except OSError as error:
            self._release()
            raise EncryptionError("the openfhe process cannot start", found=str(error)) from error
        finally:
            os.close(input_)
            os.close(output)
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)
        self._owner = os.getpid()
        self.id = self._process.pid

    @property
    def alive(self) -> bool:
        """A fork inherits the pipes, but talking over them would disturb the original."""
        return self._owner == os.getpid() and self._process.poll() is None

    def exchange(self, op: Op, parts: Sequence[bytes], deadline: float) -> tuple[int, Parts]:
        """One request and its reply, by a time of the monotonic clock."""
        try:
            self._write(pack(op, parts), deadline)
            return read_frame(lambda size: self._read(size, deadline))
        except ValueError as error:
            raise _BrokenError(f"it answered no frame ({error})") from error
        except OSError as error:
            raise _BrokenError(f"it ended ({error.strerror})") from error

    def stop(self) -> str:
        """End it, gently at first; its last words."""
        if self._owner != os.getpid():
            self._release()
            return ""
        os.close(self._input)  # at which an idle process ends by itself
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        os.close(self._output)
        self._errors.close()
        said = f", last words {lines[-1][-200:]!r}" if lines else ""
        return f"exit code {self._process.returncode}{said}"

    def _release(self) -> None:
        os.close(self._input)
        os.close(self._output)
        self._errors.close()

    def _write(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            _wait(self._input, select.POLLOUT, deadline)
            left = left[os.write(self._input, left[:CHUNK]) :]

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            _wait(self._output, select.POLLIN, deadline)
            more = os.read(self._output, min(CHUNK, size - len(data)))
            if not more:
                raise _BrokenError("it ended")
            data += more
        return bytes(data)


def _wait(pipe: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise _BrokenError("no answer in time")


class ChildProcess:
    """A process that answers frames, started when first needed and once more after each loss.

    Args:
        command: how to start it; it reads frames from standard input, answers on standard output.
        seconds: how long one request may take before the process counts as hanging.
    """

    def __init__(self, command: Sequence[str], *, seconds: float = CALL_SECONDS) -> None:
        self._command = list(command)
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._generation = 0
        self._forgotten: deque[tuple[int, Op, bytes]] = deque()

    @property
    def process_id(self) -> int | None:
        """Of the process that was started last, until it is stopped."""
        return self._running.id if self._running else None

    def start(self, op: Op, *parts: bytes) -> tuple[int, Parts]:
        """Ask a running process, or else a new one: its generation and the parts of its reply."""
        with self._lock:
            running = self._running
            if running is None or not running.alive:
                self._stop()
                running = self._running = _Running(self._command)
                self._generation += 1
            return self._generation, self._ask(running, op, parts)

    def call(self, generation: int, op: Op, *parts: bytes) -> Parts:
        """Ask the process of that generation.

        Raises:
            EncryptionError: it refuses, breaks down meanwhile, or is no more.
        """
        with self._lock:
            running = self._running
            if running is None or not running.alive or generation != self._generation:
                raise EncryptionError(
                    "keys and ciphertexts were lost with the openfhe process that held them",
                    hint="Generate new keys",
                )
            return self._ask(running, op, parts)

    def forget_later(self, generation: int, op: Op, part: bytes) -> None:
        """Let the process drop something before its next task; safe in finalisers."""
        self._forgotten.append((generation, op, part))

    def close(self) -> None:
        """Stop the process, if one runs."""
        with self._lock:
            self._stop()

    def _ask(self, running: _Running, op: Op, parts: Sequence[bytes]) -> Parts:
        deadline = time.monotonic() + self._seconds
        try:
            while self._forgotten:
                generation, what, part = self._forgotten.popleft()
                if generation == self._generation:
                    running.exchange(what, [part], deadline)
            status, reply = running.exchange(op, parts, deadline)
        except _BrokenError as error:
            raise EncryptionError(
                f"the openfhe process failed at {op.name.lower()}",
                found=f"{error}; {self._stop()}",
                hint="New keys start a new process",
            ) from error
        except BaseException:  # an interrupt in between would leave half a frame in a pipe
            self._stop()
            raise
        if status == Status.REFUSED:
            said = b" ".join(reply).decode(errors="replace")
            raise EncryptionError(f"openfhe refuses to {op.name.lower()}", found=said)
        return reply

    def _stop(self) -> str:
        running, self._running = self._running, None
        return running.stop() if running else ""


@cache
def child_under(interpreter: str) -> ChildProcess:
    """The one child process of this interpreter; it stops when the parent ends."""
    backends = str(Path(__file__).resolve().parent)
    # Isolated: no variable of the caller's may change what it imports.
    child = ChildProcess([interpreter, "-I", "-c", RUN, backends])
    atexit.register(child.close)
    return child


def find_interpreter() -> str:
    """An interpreter that imports openfhe and numpy.

    The one that SECUREFAIR_OPENFHE_PYTHON names and no other, or else the first that can of: this
    one, `.venv-openfhe` next to this environment or checkout, python3.10 and python3.12.

    Raises:
        BackendUnavailableError: there is none; tells why each was refused.
    """
    named = os.environ.get(VARIABLE)
    refusals = []
    for candidate in [named] if named else _candidates():
        refusal = _refusal(candidate)
        if refusal is None:
            return candidate
        refusals.append(f"{candidate}: {refusal}")
    raise BackendUnavailableError(
        "no interpreter here can import openfhe",
        where="backend openfhe",
        found="; ".join(refusals),
        hint=f"Run: make openfhe, or name an interpreter in {VARIABLE} (docs/backends.md)",
    )


def _candidates() -> list[str]:
    homes = (Path(sys.prefix).parent, Path(__file__).resolve().parents[4])
    venvs = [home / VENV / "bin" / "python" for home in homes]
    found = [sys.executable, *(str(venv) for venv in venvs if venv.exists())]
    return list(dict.fromkeys([*found, *filter(None, map(shutil.which, PATH_NAMES))]))


_able: set[str] = set()


def _refusal(interpreter: str) -> str | None:
    """Why it cannot, or None; what could once is not asked again."""
    if interpreter in _able:
        return None
    try:
        done = subprocess.run(
            [interpreter, "-I", "-c", "import numpy, openfhe"],
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return lines[-1 if lines[0].startswith("Traceback") else 0]
    _able.add(interpreter)
    return None
