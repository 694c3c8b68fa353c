"""One run at a time in a folder of results."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from securefair.errors import StorageError
from securefair.report.files import no_empty_folder
from securefair.storage.files import acquire


@contextlib.contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder, which is made where there is none.

    The lock ends with the process, however it ends. A folder that stays empty goes again, and so do
    those above it that were made for it.

    Raises:
        StorageError: another run is writing to it.
        OSError: it cannot be made.
    """
    with no_empty_folder(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            if not acquire(descriptor, fcntl.LOCK_EX, wait_s=0):
                raise StorageError(
                    "the folder is in use by another run",
                    where=str(folder),
                    hint="Wait for it, or write to another folder with --out",
                )
            yield
        finally:
            os.close(descriptor)
