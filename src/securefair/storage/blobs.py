"""Large values as files beside the database, each named by its hash.

A database page cache is the wrong place for megabytes that rarely change: a turn of a participant
rewrites kilobytes, while keys and uploads stay as they are. A file is on the disk before the
transaction that names it is committed, and goes after the transaction that forgets it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

from securefair.errors import MAY_PASS, StorageError
from securefair.storage.files import (
    PRIVATE_FOLDER,
    DamagedError,
    sync_folder,
    unwritten,
    write_private,
)

INLINE_BYTES = 1 << 17
"""Longer values become files."""

_TABLES = ("inbox", "outbox", "memory")


class Blobs:
    """The files of one store. Every method runs inside a write transaction of `connection`.

    Without a folder everything stays in the database, which is in memory then. Files that need not
    be `durable` survive the end of the process, and a power cut only with luck.

    The transaction is what makes removing safe: no other process can be between writing a file and
    committing the row that names it.
    """

    def __init__(
        self, folder: Path | None, connection: sqlite3.Connection, *, durable: bool = True
    ) -> None:
        self._folder = folder
        self._connection = connection
        self._durable = durable
        self._dropped: set[str] = set()

    def keep(self, data: bytes) -> tuple[bytes | None, str | None]:
        """Columns (payload, blob) that hold these bytes.

        Raises:
            StorageError: the file cannot be written.
        """
        if len(data) <= INLINE_BYTES or self._folder is None:
            return data, None
        digest = hashlib.sha256(data).hexdigest()
        path = self._folder / digest
        if not path.exists():
            try:
                self._folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
                write_private(path, data, durable=self._durable)
                if self._durable:
                    sync_folder(self._folder.parent)
            except OSError as error:
                raise unwritten(path, error) from error
        return None, digest

    def load(self, payload: bytes | None, blob: str | None) -> bytes:
        """The bytes of two columns.

        Raises:
            DamagedError: the file is missing or is not what was written.
            StorageError: it cannot be read.
        """
        if blob is None or self._folder is None:
            return b"" if payload is None else payload
        path = self._folder / blob
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise DamagedError(path, error.strerror) from error
        except OSError as error:
            raise StorageError(
                "a file of the store cannot be read",
                where=str(path),
                found=error.strerror,
                passing=error.errno in MAY_PASS,
            ) from error
        if hashlib.sha256(data).hexdigest() != blob:
            raise DamagedError(path, "other bytes than were written")
        return data

    def size(self, blob: str) -> int:
        """Bytes of a file; 0 where it is missing."""
        if self._folder is None:
            return 0
        try:
            return (self._folder / blob).stat().st_size
        except OSError:
            return 0

    def drop(self, blob: str | None) -> None:
        """A row that named this file is gone."""
        if blob is not None:
            self._dropped.add(blob)

    def forget_dropped(self) -> None:
        """The transaction was rolled back: nothing was dropped."""
        self._dropped.clear()

    @property
    def has_dropped(self) -> bool:
        """Whether files wait to be removed."""
        return bool(self._dropped)

    def remove_dropped(self) -> None:
        """Remove the files that no row names any more; in a transaction after the commit."""
        for digest in sorted(self._dropped):
            if self._folder is not None and not self._named(digest):
                (self._folder / digest).unlink(missing_ok=True)
        self._dropped.clear()

    @property
    def empty(self) -> bool:
        """Whether there is no file."""
        return self._folder is None or not self._folder.is_dir() or not any(self._folder.iterdir())

    def sweep(self) -> None:
        """Remove what a crash has left: files that no row names, and half-written ones.

        Raises:
            DamagedError: there are such files, and the database is damaged, so that a row that
                names them may be what is lost.
        """
        if self._folder is None or self.empty:
            return
        unnamed = [path for path in self._folder.iterdir() if not self._named(path.name)]
        if unnamed:
            [found] = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                raise DamagedError(self._folder.parent, found)
        for path in unnamed:
            path.unlink(missing_ok=True)

    def _named(self, digest: str) -> bool:
        return any(
            self._connection.execute(
                f"SELECT 1 FROM {table} WHERE blob = ? LIMIT 1", (digest,)
            ).fetchone()
            for table in _TABLES
        )
