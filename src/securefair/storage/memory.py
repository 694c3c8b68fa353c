"""Named values: everything that a participant knows between two inputs and that is no queue."""

from __future__ import annotations

import sqlite3

from securefair.storage.blobs import Blobs


class StoredMemory:
    """Named bytes inside a transaction; a large value that stays the same is not written again."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs) -> None:
        self._connection = connection
        self._blobs = blobs

    def put(self, name: str, data: bytes) -> None:
        """Remember bytes under a name, in place of what was there."""
        before = self._row(name)
        payload, blob = self._blobs.keep(data)
        if before == (payload, blob):
            return
        self._connection.execute(
            "INSERT INTO memory VALUES (?, ?, ?) ON CONFLICT (name)"
            " DO UPDATE SET payload = excluded.payload, blob = excluded.blob",
            (name, payload, blob),
        )
        if before is not None:
            self._blobs.drop(before[1])

    def get(self, name: str) -> bytes | None:
        """The bytes under a name; None if there are none.

        Raises:
            StorageError: their file is missing or damaged.
        """
        row = self._row(name)
        return None if row is None else self._blobs.load(*row)

    def delete(self, name: str) -> None:
        """Forget a name; no error if it is not there."""
        row = self._row(name)
        if row is not None:
            self._connection.execute("DELETE FROM memory WHERE name = ?", (name,))
            self._blobs.drop(row[1])

    def names(self, prefix: str = "") -> list[str]:
        """The names that begin with `prefix`, sorted."""
        rows = self._connection.execute("SELECT name FROM memory ORDER BY name")
        return [name for (name,) in rows if name.startswith(prefix)]

    def _row(self, name: str) -> tuple[bytes | None, str | None] | None:
        row: tuple[bytes | None, str | None] | None = self._connection.execute(
            "SELECT payload, blob FROM memory WHERE name = ?", (name,)
        ).fetchone()
        return row
