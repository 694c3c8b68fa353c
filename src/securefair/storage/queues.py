"""What arrived and was not handled yet, and what was said and not acknowledged yet.

A stream is whatever the caller numbers from 0 without gaps: one peer in one epoch, say. An
envelope is kept under its number and never changes: what is sent again is the same bytes.
"""

from __future__ import annotations

import enum
import hashlib
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from securefair.errors import StorageError
from securefair.storage.blobs import Blobs

REMEMBERED = 256
"""Newest envelopes of a stream whose content is remembered. Of older ones the number suffices: who
sends in order repeats the newest alone, and the rest a courier repeats. A sender so far behind its
own past has lost its store, and finds that out from what it is answered (`sites.post.proof`)."""


class Arrival(enum.Enum):
    """What an envelope's number says of it."""

    NEW = "new"
    """The next one of its stream: it was kept."""
    REPEATED = "repeated"
    """It was kept before: acknowledge it again. Also whatever is further back than `REMEMBERED`."""
    CHANGED = "changed"
    """Its number was kept lately with other bytes: the sender lost its store, or lies."""
    GAP = "gap"
    """Others must come first: it was not kept, and the sender will repeat it."""


class Item(NamedTuple):
    """One envelope."""

    stream: str
    sequence: int
    payload: bytes


class Waiting(NamedTuple):
    """What of a stream was not handled yet."""

    items: int
    bytes: int


class Outbox:
    """Envelopes that must still reach somebody, inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs) -> None:
        self._connection = connection
        self._blobs = blobs

    def next_sequence(self, stream: str) -> int:
        """The number that the next envelope of a stream gets."""
        return _next(self._connection, "out", stream)

    def add(
        self,
        stream: str,
        sequence: int,
        payload: bytes,
        *,
        kind: str = "",
        mark: bytes | None = None,
    ) -> None:
        """Keep an envelope until it is acknowledged.

        Args:
            stream: to whom.
            sequence: its number, which is `next_sequence`: the envelope states it, signed.
            payload: its bytes, as they travel.
            kind: what `count` counts it under.
            mark: what `holds` knows its content by.

        Raises:
            StorageError: the number is not the next one.
        """
        expected = self.next_sequence(stream)
        if sequence != expected:
            raise StorageError(
                "an envelope is out of order", where=stream, found=sequence, expected=expected
            )
        inline, blob = self._blobs.keep(payload)
        self._connection.execute(
            "INSERT INTO outbox (stream, sequence, payload, blob, kind, mark)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (stream, sequence, inline, blob, kind, mark),
        )
        _advance(self._connection, "out", stream, sequence + 1)

    def holds(self, stream: str, mark: bytes) -> bool:
        """Whether an envelope of this mark was not acknowledged yet."""
        row = self._connection.execute(
            "SELECT 1 FROM outbox WHERE stream = ? AND mark = ? LIMIT 1", (stream, mark)
        ).fetchone()
        return row is not None

    def count(self, stream: str, kind: str) -> int:
        """How many envelopes of this kind were not acknowledged yet."""
        (found,) = self._connection.execute(
            "SELECT count(*) FROM outbox WHERE stream = ? AND kind = ?", (stream, kind)
        ).fetchone()
        return int(found)

    def acknowledge(self, stream: str, through: int) -> int:
        """Forget the envelopes of a stream up to and with this number; how many those were.

        Raises:
            StorageError: an envelope is acknowledged that was never sent; nothing was forgotten.
        """
        following = self.next_sequence(stream)
        if through >= following:
            raise StorageError(
                "an envelope was acknowledged that was never sent",
                where=stream,
                found=through,
                expected=f"below {following}",
            )
        return _delete(
            self._connection, self._blobs, "outbox", "stream = ? AND sequence <= ?", stream, through
        )

    def drop(self, stream: str) -> int:
        """Forget a whole stream, which nobody waits for any more; its numbers stay used."""
        return _delete(self._connection, self._blobs, "outbox", "stream = ?", stream)

    def forget(self, stream: str) -> int:
        """The same, of a stream that is never used again: its numbers go too."""
        _forget(self._connection, "out", stream)
        return self.drop(stream)

    def first(self, stream: str) -> Item | None:
        """The envelope of a stream that must be acknowledged first."""
        return next(_items(self._connection, self._blobs, "outbox", stream, limit=1), None)

    def get(self, stream: str, sequence: int) -> bytes | None:
        """The envelope of this number; None once it was acknowledged."""
        row = self._connection.execute(
            "SELECT payload, blob FROM outbox WHERE stream = ? AND sequence = ?", (stream, sequence)
        ).fetchone()
        return None if row is None else self._blobs.load(*row)

    def pending(self, stream: str | None = None) -> Iterator[Item]:
        """Envelopes of one stream or all, in the order in which they were added."""
        return _items(self._connection, self._blobs, "outbox", stream)

    def streams(self) -> dict[str, int]:
        """The next number of every stream that was ever used."""
        return _streams(self._connection, "out")


class Inbox:
    """Envelopes that must still be handled, inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs) -> None:
        self._connection = connection
        self._blobs = blobs

    def next_sequence(self, stream: str) -> int:
        """The number of the envelope that a stream waits for."""
        return _next(self._connection, "in", stream)

    def add(
        self, stream: str, sequence: int, payload: bytes, *, digest: bytes | None = None
    ) -> Arrival:
        """Keep an envelope if it is the next of its stream.

        Args:
            stream: from whom.
            sequence: its number.
            payload: what will be handled.
            digest: hash of what travelled; None takes the payload's.
        """
        digest = hashlib.sha256(payload).digest() if digest is None else digest
        expected = self.next_sequence(stream)
        if sequence > expected:
            return Arrival.GAP
        if sequence < expected - REMEMBERED:
            return Arrival.REPEATED
        if sequence < expected:
            row = self._connection.execute(
                "SELECT hash FROM received WHERE stream = ? AND sequence = ?", (stream, sequence)
            ).fetchone()
            same = row is not None and row[0] == digest
            return Arrival.REPEATED if same else Arrival.CHANGED
        inline, blob = self._blobs.keep(payload)
        self._connection.execute(
            "INSERT INTO inbox (stream, sequence, payload, blob) VALUES (?, ?, ?, ?)",
            (stream, sequence, inline, blob),
        )
        self._connection.execute(
            "INSERT INTO received VALUES (?, ?, ?)", (stream, sequence, digest)
        )
        self._connection.execute(
            "DELETE FROM received WHERE stream = ? AND sequence <= ?",
            (stream, sequence - REMEMBERED),
        )
        _advance(self._connection, "in", stream, sequence + 1)
        return Arrival.NEW

    def waiting(self, stream: str) -> Waiting:
        """How many envelopes of a stream were not handled yet, and their bytes."""
        rows = self._connection.execute(
            "SELECT LENGTH(payload), blob FROM inbox WHERE stream = ?", (stream,)
        ).fetchall()
        sizes = [length if blob is None else self._blobs.size(blob) for length, blob in rows]
        return Waiting(len(rows), sum(sizes))

    def next(self) -> Item | None:
        """The envelope that arrived first and was not handled yet."""
        return next(_items(self._connection, self._blobs, "inbox", None, limit=1), None)

    def done(self, item: Item) -> None:
        """Forget an envelope: it was handled, in this very transaction.

        Raises:
            StorageError: it is not there.
        """
        gone = _delete(
            self._connection,
            self._blobs,
            "inbox",
            "stream = ? AND sequence = ?",
            item.stream,
            item.sequence,
        )
        if not gone:
            raise StorageError(
                "an envelope was handled that is not there", where=item.stream, found=item.sequence
            )

    def forget(self, stream: str) -> int:
        """Forget a whole stream that is never used again, handled or not; how many were not."""
        _forget(self._connection, "in", stream)
        self._connection.execute("DELETE FROM received WHERE stream = ?", (stream,))
        return _delete(self._connection, self._blobs, "inbox", "stream = ?", stream)

    def pending(self, stream: str | None = None) -> Iterator[Item]:
        """Envelopes of one stream or all, in the order in which they arrived."""
        return _items(self._connection, self._blobs, "inbox", stream)

    def streams(self) -> dict[str, int]:
        """The next number of every stream that was ever used."""
        return _streams(self._connection, "in")


def _next(connection: sqlite3.Connection, direction: str, stream: str) -> int:
    row = connection.execute(
        "SELECT next FROM streams WHERE direction = ? AND stream = ?", (direction, stream)
    ).fetchone()
    return 0 if row is None else int(row[0])


def _advance(connection: sqlite3.Connection, direction: str, stream: str, following: int) -> None:
    connection.execute(
        "INSERT INTO streams VALUES (?, ?, ?)"
        " ON CONFLICT (direction, stream) DO UPDATE SET next = excluded.next",
        (direction, stream, following),
    )


def _forget(connection: sqlite3.Connection, direction: str, stream: str) -> None:
    connection.execute(
        "DELETE FROM streams WHERE direction = ? AND stream = ?", (direction, stream)
    )


def _streams(connection: sqlite3.Connection, direction: str) -> dict[str, int]:
    rows = connection.execute(
        "SELECT stream, next FROM streams WHERE direction = ? ORDER BY stream", (direction,)
    )
    return dict(rows.fetchall())


def _delete(
    connection: sqlite3.Connection, blobs: Blobs, table: str, condition: str, *values: str | int
) -> int:
    rows = connection.execute(f"SELECT blob FROM {table} WHERE {condition}", values).fetchall()
    connection.execute(f"DELETE FROM {table} WHERE {condition}", values)
    for (blob,) in rows:
        blobs.drop(blob)
    return len(rows)


def _items(
    connection: sqlite3.Connection,
    blobs: Blobs,
    table: str,
    stream: str | None,
    *,
    limit: int = -1,
) -> Iterator[Item]:
    """Rows as items; their positions are read first, so that handling one may delete it."""
    condition, values = ("", ()) if stream is None else ("WHERE stream = ?", (stream,))
    rows = connection.execute(
        f"SELECT stream, sequence, payload, blob FROM {table} {condition}"
        f" ORDER BY position LIMIT {limit}",
        values,
    ).fetchall()
    return (
        Item(name, sequence, blobs.load(payload, blob)) for name, sequence, payload, blob in rows
    )
