"""A site's process under another installation of securefair: what an upgrade meets.

Such an installation is an interpreter that imports it. Of every version two functions are called
by name, with these arguments in this order: `securefair.sites.rehearsal.process.play_site` and
`securefair.storage.Store.open`.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from securefair.errors import ConfigError

_PROGRAM = (
    "import sys, pathlib; from securefair.sites.rehearsal.process import play_site; "
    "folder, file, seed, faults = sys.argv[1:]; "
    "play_site(pathlib.Path(folder), pathlib.Path(file), int(seed), float(faults))"
)
_VERSION = "from securefair.protocol.messages import PROTOCOL_VERSION; print(PROTOCOL_VERSION)"
_STORE = (
    "import sys, pathlib; from securefair.storage import Store; "
    "Store.open(pathlib.Path(sys.argv[1])).close()"
)


class ElsewhereProcess:
    """As far as a `Troupe` needs it, a process of `multiprocessing`."""

    def __init__(self, python: Path, folder: Path, secret: Path, seed: int, faults: float) -> None:
        """See `play_site` for the arguments after the interpreter."""
        python = python.absolute()
        self._command = [str(one) for one in (python, "-c", _PROGRAM, folder, secret, seed, faults)]
        self._started: subprocess.Popen[bytes] | None = None

    @property
    def exitcode(self) -> int | None:
        """None while it runs."""
        return None if self._started is None else self._started.poll()

    def start(self) -> None:
        """Begin; not in this folder, whose modules an interpreter would find first."""
        self._started = subprocess.Popen(self._command, cwd="/")

    def kill(self) -> None:
        """SIGKILL."""
        if self._started is not None:
            self._started.kill()

    def join(self) -> None:
        """Wait for its end."""
        if self._started is not None:
            self._started.wait()


def make_store(python: Path, store: Path) -> None:
    """Make a site's empty store anew as an interpreter's securefair has it, which is to begin."""
    shutil.rmtree(store)
    subprocess.run([str(python.absolute()), "-c", _STORE, str(store)], check=True, cwd="/")


def protocol_of(python: Path) -> int:
    """The newest version of the protocol that an interpreter's securefair speaks.

    Raises:
        ConfigError: it cannot be started, or has none.
    """
    try:
        command = [str(python.absolute()), "-c", _VERSION]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=True)
        return int(done.stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise ConfigError(
            "this interpreter has no securefair",
            where="beside",
            found=str(python),
            expected="the python of an environment with another version",
        ) from error
