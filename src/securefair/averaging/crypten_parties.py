"""The processes of CrypTen's parties: started once for each number of senders, ended with us.

CrypTen keeps its communicator in a global and blocks in it, so every party needs a process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, BinaryIO, cast

from securefair.averaging.crypten_party import HEADER, WORD_BYTES
from securefair.errors import BackendUnavailableError

_POLL_SECONDS = 0.2
_LAST_LINES = 300  # characters of a failed party's last words


class CryptenParties:
    """Sums of integers modulo 2^64 by CrypTen, one sum at a time."""

    def __init__(self) -> None:
        self._groups: dict[int, _Group] = {}
        self._lock = threading.Lock()

    def sum(self, messages: Sequence[bytes]) -> bytes:
        """The sum of equally long lists of little-endian 64-bit integers.

        Raises:
            BackendUnavailableError: a party's process ended; the next sum starts new ones.
        """
        with self._lock:
            count = len(messages) + 1
            if count not in self._groups:
                self._groups[count] = _Group(count)
            try:
                return self._groups[count].sum(messages)
            except (OSError, EOFError) as error:
                group = self._groups.pop(count)
                words = group.last_words()
                group.end()
                raise BackendUnavailableError(
                    "a party of CrypTen ended", found=words or str(error)
                ) from error


class _Group:
    """Running processes of one number of parties."""

    def __init__(self, count: int) -> None:
        folder = tempfile.mkdtemp(prefix="securefair-crypten-")
        self._log: IO[bytes] = (Path(folder) / "log").open("w+b")
        paths = os.pathsep.join(path for path in sys.path if path)
        self._children = [
            subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "securefair.averaging.crypten_party"),
                    *(str(rank), str(count), str(Path(folder) / "rendezvous")),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            )
            for rank in range(count)
        ]
        self.end = weakref.finalize(self, _end, self._children, self._log, folder)

    def sum(self, messages: Sequence[bytes]) -> bytes:
        """Hand every sender's process its integers and read the receiver's."""
        size = len(messages[0])
        header = HEADER.pack(size // WORD_BYTES)
        for child, message in zip(self._children, [*messages, b""], strict=True):
            requests = cast(BinaryIO, child.stdin)
            requests.write(header)
            requests.write(message)
            requests.flush()
        return self._read(size)

    def _read(self, size: int) -> bytes:
        """Read in a thread, so that a party that ends meanwhile does not leave us waiting."""
        replies = cast(BinaryIO, self._children[-1].stdout)
        read: list[bytes] = []
        reader = threading.Thread(target=lambda: read.append(replies.read(size)), daemon=True)
        reader.start()
        while reader.is_alive():
            reader.join(_POLL_SECONDS)
            if any(child.poll() is not None for child in self._children):
                raise EOFError
        if len(read[0]) != size:
            raise EOFError
        return read[0]

    def last_words(self) -> str:
        """The end of what failed processes wrote."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip()[-_LAST_LINES:]


def _end(children: list[subprocess.Popen[bytes]], log: IO[bytes], folder: str) -> None:
    for child in children:
        child.kill()
    for child in children:
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):  # what is left unwritten to a dead child
                cast(BinaryIO, pipe).close()
        child.wait()
    log.close()
    shutil.rmtree(folder, ignore_errors=True)
