"""Answer frames from standard input until it closes."""

from __future__ import annotations

import os
import resource
import signal
import struct
import sys

import openfhe

from .frames import Status, pack, read_frame
from .operations import Child, ChildRefusedError


def read(size: int) -> bytes:
    """Exactly as many bytes as asked for, or EOFError."""
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        raise EOFError
    return data


def main() -> None:
    """Serve one parent."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # an abort must not write keys to a disk
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what OpenFHE prints must not get between the frames
    child = Child(openfhe)
    while True:
        try:
            code, parts = read_frame(read)
        except EOFError:
            return
        try:
            status, reply = Status.DONE, child.handle(code, parts)
        # pybind11 turns C++ exceptions into these; anything else is a bug and ends the process.
        except (
            ChildRefusedError,
            RuntimeError,
            ValueError,
            TypeError,
            IndexError,
            struct.error,
        ) as error:
            message = str(error).rsplit("(): ", 1)[-1]  # without the place in OpenFHE's sources
            status, reply = Status.REFUSED, [message.encode()]
        replies.write(pack(status, reply))
        replies.flush()


if __name__ == "__main__":
    main()
