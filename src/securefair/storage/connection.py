"""Connections to a store's database, on disk or in memory, and what their errors mean."""

from __future__ import annotations

import functools
import math
import os
import sqlite3
import time
from pathlib import Path

import msgspec

from securefair.errors import StorageError
from securefair.storage import schema
from securefair.storage.files import PRIVATE_FILE, DamagedError, full_disk

DATABASE = "store.sqlite"

PATIENCE_S = 10.0
"""How long a statement waits for another process, in seconds."""

LEAST_ROOM = 1 << 20
"""Free bytes below which a disk is called full when it fails."""

_DAMAGED = ("not a database", "malformed")


def connect_memory() -> sqlite3.Connection:
    """To a database of its own with all tables, which ends with the connection."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _empty().backup(connection)
    return connection


@functools.cache
def _empty() -> sqlite3.Connection:
    """All tables without a row: a copy of them is there five times as fast as new ones."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    schema.migrate(connection, 0)
    return connection


def connect(folder: Path, *, reads: bool, durable: bool) -> sqlite3.Connection:
    """To a store's file, which is made where it is missing and not only read.

    Args:
        folder: of the store.
        reads: open for reading only.
        durable: a commit waits for the disk.

    Raises:
        StorageError: it cannot be opened.
    """
    path = folder / DATABASE
    try:
        if not reads:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            os.close(os.open(path, flags, PRIVATE_FILE))
        mode = "ro" if reads else "rw"
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=PATIENCE_S,
            isolation_level=None,  # BEGIN and COMMIT are ours
            check_same_thread=False,
        )
    except (OSError, sqlite3.Error) as error:
        raise explained(error, folder) from error
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        if not reads:
            _write_ahead(connection)
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
    except sqlite3.Error as error:
        connection.close()
        raise explained(error, folder) from error
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Make the log one that is written ahead, however many open a new store at the same moment.

    Of two that want to change it SQLite refuses one at once, without waiting for its timeout.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return


def explained(error: Exception, folder: Path) -> StorageError:
    """What a failed database or disk, or a damaged record, means to whoever runs the store."""
    text = str(error)
    # Without room for the files beside the database SQLite speaks of the input and output only.
    if "disk is full" in text or ("disk I/O error" in text and _room(folder) < LEAST_ROOM):
        return full_disk(folder, text, "Free some space; nothing was changed")
    if isinstance(error, msgspec.DecodeError) or any(sign in text for sign in _DAMAGED):
        return DamagedError(folder, text)
    hints = {
        "readonly": "The folder, or its disk, does not permit writing",
        "unable to open": "The folder, or its disk, does not permit writing",
        "locked": "Another process holds it; try again",
    }
    hint = next((hint for sign, hint in hints.items() if sign in text), None)
    return StorageError("the store cannot be used", where=str(folder), found=text, hint=hint)


def _room(folder: Path) -> float:
    """Free bytes; infinitely many where nobody can say."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return math.inf
    return disk.f_bavail * disk.f_frsize
